"""GraphDef in: adds the nodes of a GraphDef message to a graph."""

from __future__ import annotations

import re
from typing import Any

from weft.framework import attributes, context, conversion, errors, graph_def, registry
from weft.framework.apply import output_dtypes
from weft.framework.export import export
from weft.framework.later_attributes import (
    CAST_INPUTS,
    HINT_OPS,
    LATER_NAMES,
    says_nothing_new,
)
from weft.framework.operation import Operation, creation_site
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, merge
from weft.framework.signature import REQUIRED
from weft.framework.tensor import Tensor

_VERSION = 134  # of GraphDefs that TensorFlow 1.15 writes
# Up to this version a placeholder's shape of rank 0 may stand for an unknown one.
_SHAPELESS_PLACEHOLDERS = 21
_NODE_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/>]*$")
# Older versions wrote other shapes for these than now follow; theirs are not heeded.
_SHAPES_MAY_BE_WRONG = frozenset(
    "Barrier BarrierIncompleteSize BarrierReadySize ConditionalAccumulator CuckooTable FIFOQueue "
    "FixedLengthRecordReader HashTable IdentityReader IndexTable LMDBReader MutableHashTable "
    "MutableHashTableOfTensors Mutex PaddingFIFOQueue PriorityQueue QueueSize RandomShuffleQueue RefEnter "
    "RefIdentity RefMerge RefNextIteration RefSwitch SparseConditionalAccumulator Stack TFRecordReader Table "
    "TextLineReader WholeFileReader".split()
)
_BACK_EDGES = ("NextIteration", "RefNextIteration")


@export("import_graph_def", "graph_util.import_graph_def")
def import_graph_def(
    graph_def: Any,
    input_map: dict[str, Any] | None = None,
    return_elements: Any = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Adds the nodes of a GraphDef to the default graph, under the name scope `name` ("import").

    `input_map` names inputs of the nodes that other tensors take the place of; what `return_elements` names
    is returned. With `producer_op_list`, attributes that this version does not know and that have the
    producer's default value are dropped.
    """
    graph_def = _checked_message(graph_def)
    input_map = _checked_input_map(input_map)
    if return_elements is not None:
        if not isinstance(return_elements, (list, tuple)) or not all(
            isinstance(e, (str, bytes)) for e in return_elements
        ):
            raise TypeError("return_elements must be a list of strings.")
        return_elements = [e if isinstance(e, str) else e.decode() for e in return_elements]
    with name_scope(name, "import", list(input_map.values())) as scope:
        prefix = scope[:-1] if scope else ""
        if any(not isinstance(v, (Tensor, Operation)) for v in input_map.values()):
            if not scope:
                raise ValueError(
                    "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values. "
                    "Try calling tf.convert_to_tensor() on `input_map` values before calling "
                    "tf.import_graph_def()."
                )
            with name_scope("_inputs"):
                input_map = {
                    k: v if isinstance(v, (Tensor, Operation)) else conversion.convert_to_tensor(v)
                    for k, v in input_map.items()
                }
        graph = context.get_default_graph()
        importer = _Importer(graph, graph_def, input_map, prefix, producer_op_list)
        with graph._lock:
            importer.run()
    if return_elements is None:
        return None
    return [importer.element(e) for e in return_elements]


def extend_graph(graph: Any, graph_def: Any) -> None:
    """Adds nodes to a graph under their own names; they may refer to nodes that the graph has already.

    This is how the graph of a client reaches a master. Names of the runtime's own nodes are allowed.
    """
    there = graph._ops
    added = {node.name for node in graph_def.node}
    known: dict[str, Any] = {}
    for node in graph_def.node:
        if node.name in there:
            raise ValueError(
                f"GraphDef argument to Extend includes node '{node.name}', which was created before."
            )
        for text in node.input:
            source, output = _split_input(text)
            if source not in added and source in there:
                op = there[source]
                if output >= len(op._outputs):
                    raise ValueError(
                        f"Node '{node.name}': Connecting to invalid output {output} of source node {source} which "
                        f"has {len(op._outputs)} outputs."
                    )
                known[text] = op if output < 0 else op._outputs[output]
    importer = _Importer(graph, graph_def, known, "", None, extends=True)
    with graph._lock, graph.as_default():
        importer.run()


def _checked_message(message: Any) -> Any:
    from weft import proto

    if isinstance(message, proto.GraphDef):
        return message
    try:
        copy = proto.GraphDef()
        copy.CopyFrom(message)
    except TypeError:
        try:
            # A message of another library's pool, with the same fields.
            copy = proto.GraphDef.FromString(message.SerializeToString())
        except Exception:
            raise TypeError("graph_def must be a GraphDef proto.") from None
    return copy


def _checked_input_map(input_map: Any) -> dict[str, Any]:
    if input_map is None:
        return {}
    if not isinstance(input_map, dict) or not all(isinstance(k, (str, bytes)) for k in input_map):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    return {(k if isinstance(k, str) else k.decode()): v for k, v in input_map.items()}


def _split_input(text: str) -> tuple[str, int]:
    """The node and output of an input's text; output -1 is a control input."""
    if text.startswith("^"):
        return text[1:], -1
    name, colon, index = text.rpartition(":")
    if colon and index.isdigit():
        return name, int(index)
    return text, 0


class _Importer:
    """The import of one GraphDef."""

    def __init__(
        self,
        graph: Any,
        message: Any,
        input_map: dict[str, Any],
        prefix: str,
        producer: Any,
        extends: bool = False,
    ):
        self.extends = extends  # whether the nodes are the graph's own, and may name others of it
        self.graph, self.message, self.prefix = graph, message, prefix
        self.mapped: dict[tuple[str, int], Any] = {}
        for key, value in input_map.items():
            self.mapped[_split_input(key)] = (key, value)
        self.used: set[str] = set()
        self.producer = {o.name: o for o in producer.op} if producer is not None else {}
        self.ops: dict[str, Operation] = {}
        self.nodes: dict[str, Any] = {}
        self.names: dict[str, str] = {}
        self.taken: set[str] | None = None
        self.open_edges: list[tuple[Operation, int, str, int]] = []

    def run(self) -> None:
        versions = self.message.versions
        if versions.min_consumer > _VERSION:
            raise ValueError(
                f"GraphDef min consumer version {versions.min_consumer} above current version {_VERSION} for "
                "TensorFlow 1.15.5.  Please upgrade TensorFlow."
            )
        if versions.producer < 0:
            raise ValueError(
                f"GraphDef producer version {versions.producer} below min producer 0 supported by "
                "TensorFlow 1.15.5.  Please regenerate your graph."
            )
        self.graph._producer = min(self.graph._producer, versions.producer)
        self.graph._min_consumer = max(self.graph._min_consumer, versions.min_consumer)
        for node in self.message.node:
            if not _NODE_NAME.match(node.name.removeprefix("_") if self.extends else node.name):
                raise ValueError(f"Node '{node.name}': Node name contains invalid characters")
            if node.name in self.nodes:
                raise ValueError(f"Node '{node.name}' is not unique")
            self.nodes[node.name] = node
        functions = self.message.library.function
        if functions:
            from weft.framework import function_def

            function_def.add_library(self.graph, self.message.library)
        # All names are claimed before the first node is made: nodes refer to each other by them.
        ordered = self._ordered()
        for node in ordered:
            self.names[node.name] = self._claim(node.name)
        made: list[Operation] = []
        for node in ordered:
            made.append(self._add(node))
        for op, index, source, output in self.open_edges:
            op._update_input(index, self._output(op._name, source, output))
        for op in made:
            self._finish(op)
        self._share_devices(made)
        unused = sorted(
            k for k, _ in self.mapped.values() if k not in self.used and not self._exists(k)
        )
        if unused:
            raise ValueError(
                "Attempted to map inputs that were not found in graph_def: [%s]" % ", ".join(unused)
            )

    def _exists(self, text: str) -> bool:
        """Whether the GraphDef has the output that an input map names."""
        source, output = _split_input(text)
        op = self.ops.get(source)
        return op is not None and output < len(op._outputs)

    def _share_devices(self, made: list[Operation]) -> None:
        """Gives operations the device of the first of those that they are colocated with that has one."""
        for op in made:
            if self.extends and op._device:
                continue
            for name in self._colocated(op._attrs.get("_class"), op._name):
                device = self.graph._ops[name]._device
                if device:
                    op._device = device
                    break

    def _colocated(self, classes: Any, own_name: str) -> list[str]:
        """The names of the other operations that one is colocated with."""
        if not isinstance(classes, list):
            return []
        names = [c[5:].decode() for c in classes if c.startswith(b"loc:@")]
        return [name for name in names if name != own_name]

    def _claim(self, name: str) -> str:
        """A name that no operation and no scope with operations has."""
        if self.taken is None:
            self.taken = set()
            for other in () if self.extends else self.graph._ops:
                while other not in self.taken:
                    self.taken.add(other)
                    other = other.rpartition("/")[0] or other
        full = unique = f"{self.prefix}/{name}" if self.prefix else name
        count = 0
        while unique in self.taken or (count and self._is_own(unique)):
            count += 1
            unique = f"{full}_{count}"
        self.taken.add(unique)
        self.graph._names_in_use.setdefault(unique.lower(), 1)
        return unique

    def _is_own(self, full: str) -> bool:
        """Whether a node of the GraphDef asks for this name."""
        return full[len(self.prefix) + 1 if self.prefix else 0 :] in self.nodes

    def _ordered(self) -> list[Any]:
        """The nodes, inputs first; edges that close loops are left for later."""
        out: list[Any] = []
        state: dict[str, int] = {}
        for root in self.message.node:
            stack = [(root.name, False)]
            while stack:
                name, done = stack.pop()
                if done:
                    state[name] = 2
                    out.append(self.nodes[name])
                    continue
                if name in state:
                    continue
                state[name] = 1
                stack.append((name, True))
                node = self.nodes[name]
                for text in reversed(node.input):
                    source, output = _split_input(text)
                    if (source, output) in self.mapped or (
                        output >= 0 and (source, -2) in self.mapped
                    ):
                        continue
                    if source not in self.nodes:
                        raise ValueError(f"Node '{name}': Unknown input node '{text}'")
                    if node.op.endswith("Merge") and self.nodes[source].op in _BACK_EDGES:
                        continue
                    if state.get(source) == 1:
                        raise ValueError(
                            f"Cycle in the graph: node '{name}' ({node.op}) and node '{source}' depend on each other."
                        )
                    if source not in state:
                        stack.append((source, False))
        return out

    def _output(self, consumer: str, source: str, output: int) -> Tensor:
        mapped = self.mapped.get((source, output))
        if mapped is not None:
            self.used.add(mapped[0])
            value = mapped[1]
            if isinstance(value, Operation):
                value = value.outputs[0]
            if value.graph is not self.graph:
                raise ValueError(
                    f"input_map: {value} is not an element of the graph that is imported into."
                )
            return value
        op = self.ops[source]
        if output >= len(op._outputs):
            raise ValueError(
                f"Node '{consumer}': Connecting to invalid output {output} of source node {source} which has "
                f"{len(op._outputs)} outputs."
            )
        return op._outputs[output]

    def _add(self, node: Any) -> Operation:
        if node.op in HINT_OPS:
            after = [name for name in node.input if name.startswith("^")]
            node = type(node)(name=node.name, op="NoOp", device=node.device, input=after)
        decl = registry.find(LATER_NAMES.get(node.op, node.op))
        if decl is None:
            function = self.graph._get_function(node.op)
            if function is None:
                raise ValueError(
                    f"Op type not registered '{node.op}' in weft: node '{node.name}' cannot be imported. Note that "
                    "if the op is one of a plugin or of contrib, the program must load what declares it first."
                )
            from weft.framework import function_def

            node = function_def.as_call(node, function)
            decl = registry.get(node.op)
        attrs = self._attrs(node, decl)
        inputs: list[Tensor] = []
        control: list[Operation] = []
        later: list[tuple[int, str, int]] = []
        for text in node.input:
            source, output = _split_input(text)
            if output < 0:
                control.append(self._control(source))
                continue
            if control and text:
                raise ValueError(
                    f"Node '{node.name}': Control dependencies must come after regular dependencies"
                )
            if (source, output) not in self.mapped and source not in self.ops:
                later.append((len(inputs), source, output))
                inputs.append(inputs[0])  # until the loop's other end is there
                continue
            inputs.append(self._output(node.name, source, output))
        for key, arg in CAST_INPUTS.items():
            if key in node.attr and key not in decl.signature.attrs:
                self._cast(node, decl, inputs, arg)
        graph_def.infer_attrs(decl, inputs, attrs)
        self._check_inputs(node, decl, inputs, attrs)
        types = output_dtypes(decl.signature.outputs, attrs)
        name = self.names[node.name]
        op = Operation(self.graph, decl, name, inputs, control, attrs, types, creation_site(1))
        if op._outputs and not later:
            from weft.framework import shape_inference

            try:
                shape_inference.infer(op)
            except ValueError as e:
                raise ValueError(str(e)) from None
        if node.op == "Placeholder" and self.message.versions.producer <= _SHAPELESS_PLACEHOLDERS:
            if not op._attrs["shape"]:
                op._outputs[0]._dims = None
        # Where an operation is colocated with others, theirs is its device.
        if self.extends or not self._colocated(attrs.get("_class"), node.name):
            if node.device:
                op._set_device(node.device)
            if self.graph._devices:
                self.graph._apply_devices(op)
        self.graph._register(op)
        self.ops[node.name] = op
        self.open_edges.extend((op, i, s, o) for i, s, o in later)
        return op

    def _cast(self, node: Any, decl: Any, inputs: list[Tensor], arg: str) -> None:
        """Casts an input that TensorFlow 2 lets have another type to the one that it has here."""
        i = next(i for i, a in enumerate(decl.signature.inputs) if a.name == arg)
        wanted = decl.signature.inputs[i].dtype
        if i >= len(inputs) or inputs[i].dtype.base_dtype is wanted:
            return
        attrs = {"SrcT": inputs[i].dtype.base_dtype, "DstT": wanted, "Truncate": False}
        name = self._claim(f"{node.name}/{arg}")
        cast = self.graph.add_op(registry.get("Cast"), [inputs[i]], attrs, [wanted], name + "/")
        inputs[i] = cast._outputs[0]

    def _control(self, source: str) -> Operation:
        mapped = self.mapped.get((source, -1))
        if mapped is not None:
            self.used.add(mapped[0])
            return mapped[1] if isinstance(mapped[1], Operation) else mapped[1].op
        return self.ops[source]

    def _attrs(self, node: Any, decl: Any) -> dict[str, Any]:
        known = decl.signature.attrs
        attrs: dict[str, Any] = {}
        for key, value in node.attr.items():
            try:
                attrs[key] = attributes.from_proto(value)
            except (ValueError, TypeError, errors.OpError) as e:
                raise ValueError(f"Node '{node.name}': attr '{key}' is malformed: {e}") from None
            if key in known or key.startswith("_"):
                continue
            if not self._is_producer_default(node.op, key, value):
                if not says_nothing_new(key, attrs[key]):
                    raise ValueError(
                        f"NodeDef mentions attr '{key}' not in Op<name={node.op}>; NodeDef: {node.name}. (Check "
                        "whether your GraphDef-interpreting binary is up to date with your GraphDef-generating "
                        "binary.)"
                    )
            del attrs[key]
        for attr in known.values():
            if attr.name in attrs:
                attrs[attr.name] = _of_kind(attrs[attr.name], attr, node)
            elif attr.default is not REQUIRED:
                attrs[attr.name] = list(attr.default) if attr.is_list else attr.default
            elif attr.name not in decl.signature.inferred:
                raise ValueError(
                    f"NodeDef missing attr '{attr.name}' from Op<name={node.op}>; NodeDef: {node.name}"
                )
        return attrs

    def _is_producer_default(self, op_type: str, key: str, value: Any) -> bool:
        op = self.producer.get(op_type)
        if op is None:
            return False
        return any(
            a.name == key and a.HasField("default_value") and a.default_value == value
            for a in op.attr
        )

    def _check_inputs(
        self, node: Any, decl: Any, inputs: list[Tensor], attrs: dict[str, Any]
    ) -> None:
        wanted: list[Any] = []
        for arg in decl.signature.inputs:
            if arg.type_list_attr is not None:
                types = attrs.get(arg.type_list_attr, [])
            else:
                if arg.number_attr is not None and not isinstance(attrs.get(arg.number_attr), int):
                    raise ValueError(f"Node '{node.name}': attr '{arg.number_attr}' is missing")
                n = attrs[arg.number_attr] if arg.number_attr is not None else 1
                if n < 0 or n > len(inputs):
                    raise ValueError(
                        f"NodeDef expected inputs of {node.op} do not match {len(inputs)} inputs specified; "
                        f"NodeDef: {node.name}"
                    )
                dtype = arg.dtype if arg.dtype is not None else attrs.get(arg.type_attr)
                types = [dtype] * n
            wanted.extend((t, arg) for t in types)
        if len(wanted) != len(inputs):
            expected = ", ".join(_tf_name(t) for t, _ in wanted if t)
            raise ValueError(
                f"NodeDef expected inputs '{expected}' do not match {len(inputs)} "
                f"inputs specified; Op<name={node.op}>; NodeDef: {node.name}"
            )
        for i, (t, (dtype, arg)) in enumerate(zip(inputs, wanted)):
            if (
                dtype is None
                or t.dtype.base_dtype is not dtype
                or (arg.is_ref and not t.dtype._is_ref_dtype)
            ):
                expected = "none" if dtype is None else dtype.name + ("_ref" if arg.is_ref else "")
                raise ValueError(
                    f"Input {i} of node {self.names[node.name]} was passed {_tf_name(t.dtype)} from {t.name} "
                    f"incompatible with expected {_tf_name_of(expected)}."
                )
        for attr in decl.signature.attrs.values():
            if attr.kind == "type" and attr.allowed is not None and attr.name in attrs:
                value = attrs[attr.name]
                if value not in attr.allowed:
                    raise ValueError(
                        f"Value for attr '{attr.name}' of {_tf_name(value)} is not in the list of allowed values: "
                        f"{', '.join(_tf_name(d) for d in attr.allowed)}; NodeDef: {node.name}; Op<name={node.op}>"
                    )

    def _finish(self, op: Operation) -> None:
        shapes = op._attrs.pop("_output_shapes", None)
        if isinstance(shapes, list) and len(shapes) == len(op._outputs):
            for t, dims in zip(op._outputs, shapes):
                try:
                    t._dims = merge(t._dims, dims)
                except ShapeError as e:
                    if op.type in _SHAPES_MAY_BE_WRONG:
                        continue
                    raise ValueError(
                        f"The shapes written for node '{op._name}' ({op.type}) are incompatible with those that follow "
                        f"from its inputs: {e}"
                    ) from None
        classes = op._attrs.get("_class")
        if isinstance(classes, list):
            renamed = []
            for c in classes:
                if c.startswith(b"loc:@"):
                    target = c[5:].decode()
                    if target not in self.nodes and not (
                        self.extends and target in self.graph._ops
                    ):
                        raise ValueError(
                            f"Node '{op._name[len(self.prefix) + 1 if self.prefix else 0 :]}' expects to be colocated "
                            f"with unknown node '{target}'"
                        )
                    c = b"loc:@" + self.names.get(target, target).encode()
                renamed.append(c)
            op._attrs["_class"] = renamed

    def element(self, name: str) -> Any:
        """What a return element names: an operation, or a tensor (mapped ones included)."""
        if ":" not in name:
            if name not in self.ops:
                raise ValueError(f"Requested return node '{name}' not found in graph def")
            return self.ops[name]
        source, output = _split_input(name)
        if ":" in source or source == name:
            raise ValueError(f"Cannot convert '{name}' to a tensor name.")
        if (source, output) in self.mapped:
            return self.mapped[(source, output)][1]
        op = self.ops.get(source)
        if op is None:
            raise ValueError(f"Requested return tensor '{name}' not found in graph def")
        if output >= len(op._outputs):
            raise ValueError(
                f"Invalid return output {output} of node '{source}', which has {len(op._outputs)} output(s)"
            )
        return op._outputs[output]


def _of_kind(value: Any, attr: Any, node: Any) -> Any:
    """The value if it is of the attribute's kind; what protobuf cannot tell apart is made so."""
    import numpy as np

    from weft.framework import dtypes

    checks = {
        "int": lambda v: type(v) is int,
        "float": lambda v: type(v) is float,
        "bool": lambda v: type(v) is bool,
        "string": lambda v: type(v) is bytes,
        "type": lambda v: isinstance(v, dtypes.DType),
        "shape": lambda v: v is None or type(v) is tuple,
        "tensor": lambda v: isinstance(v, (np.ndarray, attributes.TensorValue)),
        "func": lambda v: isinstance(v, attributes.Func),
    }
    check = checks[attr.element_kind]
    ok = isinstance(value, list) and all(map(check, value)) if attr.is_list else check(value)
    if not ok or (isinstance(value, list) and not attr.is_list):
        raise ValueError(
            f"AttrValue must not have another type than '{attr.kind}' for attr '{attr.name}' of node "
            f"'{node.name}' ({node.op}), but holds {value!r}"
        )
    if attr.element_kind == "type" and not attr.is_list and value._is_ref_dtype:
        raise ValueError(
            f"AttrValue must not have reference type value of {value.name} for attr '{attr.name}'"
        )
    return value


_TF_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def _tf_name(dtype: Any) -> str:
    return _tf_name_of(dtype.name)


def _tf_name_of(name: str) -> str:
    base, ref = (name[:-4], "_ref") if name.endswith("_ref") else (name, "")
    return _TF_NAMES.get(base, base) + ref
