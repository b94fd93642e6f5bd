"""SavedModels of objects, loaded as objects: with their variables, what they hold, and functions that can be called."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import weft as tf
from weft.eager import tracing
from weft.eager.concrete_function import ConcreteFunction
from weft.eager.function import Function
from weft.eager.function_spec import flatten_up_to
from weft.framework import context, conversion, nest
from weft.framework.function_def import add_library
from weft.framework.tensor import Tensor
from weft.framework.trackable import Trackable
from weft.framework.tracked_structures import AutoTrackable, DictWrapper, ListWrapper
from weft.framework.type_spec import TensorSpec, TypeSpec
from weft.ops.flow.building import add_call
from weft.saved_model import structures
from weft.train.checkpoint import ObjectSaver

_numbers = itertools.count()
_KINDS = ("user_object", "variable", "function", "bare_concrete_function", "constant")


def is_known(objects: Any) -> bool:
    """Whether all that a model consists of can be made here: tables and assets cannot."""
    return all(node.WhichOneof("kind") in _KINDS for node in objects.nodes)


class Signatures(Trackable):
    """What a model has for its signatures until they are known."""

    def __init__(self) -> None:
        self.functions: dict[str, ConcreteFunction] = {}


def restored_objects(meta: Any, path: str) -> tuple[Any, Any]:
    """The root of the objects, and a dict of the signatures' functions; `path` is that of the variables."""
    made = _Objects(meta)
    root = made.nodes[0]
    if any(node.HasField("variable") for node in meta.object_graph_def.nodes):
        status = ObjectSaver(root).restore(path)
        status.assert_existing_objects_matched()
        status.expect_partial()
    return root, made.signatures


class _Objects:
    """The objects of a model, by number."""

    def __init__(self, meta: Any):
        self._meta, self._graph = meta, meta.object_graph_def
        self._suffix = f"_loaded_{next(_numbers)}"
        self._library = context.get_default_graph()  # which has the functions of eager execution
        add_library(self._library, _renamed(meta.graph_def.library, self._suffix))
        self._constants = {n.name: n for n in meta.graph_def.node if n.op == "Const"}
        self.signatures: dict[str, Any] = {}
        self.nodes: list[Any] = [self._made(node) for node in self._graph.nodes]
        self._concrete = {
            name: self._concrete_function(name, described)
            for name, described in self._graph.concrete_functions.items()
        }
        for i, node in enumerate(self._graph.nodes):
            kind = node.WhichOneof("kind")
            if kind == "function":
                self.nodes[i] = self._function(node.function)
            elif kind == "bare_concrete_function":
                self.nodes[i] = self._bare(node.bare_concrete_function)
        for node, item in zip(self._graph.nodes, self.nodes):
            if node.HasField("user_object"):
                self._give_children(node, item)

    # -- things ----------------------------------------------------------------------------------------

    def _made(self, node: Any) -> Any:
        kind = node.WhichOneof("kind")
        if kind == "variable":
            return _variable(node.variable)
        if kind == "constant":
            value = self._constants.get(node.constant.operation)
            if value is None:
                raise ValueError(f"The model lacks its constant '{node.constant.operation}'.")
            return tf.constant(tf.make_ndarray(value.attr["value"].tensor))
        if kind == "user_object":
            makers: dict[str, Any] = {
                "trackable_list_wrapper": ListWrapper,
                "trackable_dict_wrapper": DictWrapper,
                "signature_map": Signatures,
            }
            return makers.get(node.user_object.identifier, AutoTrackable)()
        return None  # a function, made when there is all that it uses

    def _give_children(self, node: Any, item: Any) -> None:
        children = [(child.local_name, self.nodes[child.node_id]) for child in node.children]
        if isinstance(item, ListWrapper):
            numbered = sorted((int(name), child) for name, child in children if name.isdigit())
            item.extend(child for _, child in numbered)
        elif isinstance(item, DictWrapper):
            item.update(children)
        elif isinstance(item, Signatures):
            self.signatures.update(children)
        else:
            for name, child in children:
                if not isinstance(child, Signatures):
                    setattr(item, name, child)

    # -- functions -------------------------------------------------------------------------------------

    def _concrete_function(self, name: str, described: Any) -> ConcreteFunction:
        """A body that calls a function of the library, with what it is bound to as captured inputs."""
        called = self._library._get_function(name + self._suffix)
        if called is None:
            raise ValueError(f"The model lacks its function '{name}'.")
        bound = [self.nodes[i] for i in described.bound_inputs]
        count = len(called.inputs) - len(bound)
        graph = tracing.new_graph(name.rpartition("_")[0] or name)
        with graph.as_default():
            arguments = [
                graph.add_input(t.dtype, t._dims, t.op.name) for t in called.inputs[:count]
            ]
            captured = [graph.capture(getattr(item, "handle", item)) for item in bound]
            outputs = list(add_call(called, [*arguments, *captured])._outputs)
        given = structures.decoded(described.canonicalized_input_signature)
        specs = [s for s in nest.flatten(given) if isinstance(s, TensorSpec)]
        for tensor, spec in zip(arguments, specs) if len(specs) == len(arguments) else ():
            tensor._dims = None if spec.shape.ndims is None else tuple(spec.shape.as_list())
            if spec.name:
                tensor.op._attrs["_user_specified_name"] = spec.name.encode()
        graph.outputs = outputs
        graph.runs_everything = True
        graph.structured_input = given
        result = structures.decoded(described.output_signature)
        graph.structured_outputs = nest.pack_sequence_as(result, outputs) if outputs else result
        graph.variables = [item for item in bound if hasattr(item, "handle")]
        return ConcreteFunction(graph)

    def _bare(self, described: Any) -> ConcreteFunction:
        concrete = self._concrete[described.concrete_function_name]
        concrete._arg_keywords = list(described.argument_keywords)
        concrete._num_positional_args = described.allowed_positional_arguments
        return concrete

    def _function(self, described: Any) -> Function:
        concrete = [self._concrete[name] for name in described.concrete_functions]
        return RestoredFunction(concrete, described.function_spec)


def _renamed(library: Any, suffix: str) -> Any:
    """The functions by names that no others have: programs and models count theirs alike."""
    made = type(library)()
    made.CopyFrom(library)
    names = {f.signature.name for f in library.function}

    def rename(value: Any) -> None:
        for function in (value.func, *value.list.func):
            if function.name in names:
                function.name += suffix

    for function in made.function:
        function.signature.name += suffix
        for node in function.node_def:
            if node.op in names:
                node.op += suffix
            for value in node.attr.values():
                rename(value)
            if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
                node.attr.pop("_gradient_op_type", None)  # by a number of the program that saved it
    for gradient in made.gradient:
        gradient.function_name += suffix
        gradient.gradient_func += suffix
    return made


def _variable(described: Any) -> Any:
    shape, dtype = tf.TensorShape(described.shape), tf.as_dtype(described.dtype)
    if not shape.is_fully_defined():
        raise tf.errors.UnimplementedError(
            None, None, f"The variable {described.name} of the model has no fixed shape: {shape}."
        )
    return tf.Variable(
        lambda: tf.zeros(shape, dtype),
        trainable=described.trainable,
        name=described.name,
        dtype=dtype,
        synchronization=tf.VariableSynchronization(described.synchronization),
        aggregation=tf.VariableAggregation(described.aggregation),
    )


class RestoredFunction(Function):
    """A function of a model: it has traces and no Python, and is called with arguments of a kind that one is for."""

    def __init__(self, concrete: list[ConcreteFunction], described: Any):
        def restored_function(*args: Any, **kwargs: Any) -> Any:
            raise ValueError("A function of a SavedModel cannot be traced anew.")

        signature, is_method = _parameters(described)
        restored_function.__signature__ = signature  # type: ignore[attr-defined]
        super().__init__(
            restored_function,
            structures.decoded(described.input_signature),
            autograph=False,
            is_method=is_method,
        )
        self._concrete_functions = concrete
        self._cache = {(None, i): trace for i, trace in enumerate(concrete)}

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        concrete, tensors = self._chosen(args, kwargs)
        return concrete._call_flat(tensors)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        if not args and not kwargs and len(self._concrete_functions) == 1:
            concrete = self._concrete_functions[0]
        else:
            concrete, _ = self._chosen(args, kwargs)
        names = [
            t.op.name
            for t in concrete.inputs[: len(concrete.inputs) - len(concrete.captured_inputs)]
        ]
        concrete._arg_keywords, concrete._num_positional_args = names, len(names)
        return concrete

    def _chosen(self, args: Any, kwargs: Any) -> tuple[ConcreteFunction, list[Any]]:
        spec = self.function_spec
        # Of a method the parameters have the object, the arguments have it not.
        itself = [None] * (len(spec.fullargspec.args) - len(spec.arg_names))
        bound = inspect.signature(self._python_function).bind(*itself, *args, **kwargs)
        bound.apply_defaults()
        given = (tuple(bound.args[len(itself) :]), dict(bound.kwargs))
        for convert in (False, True):
            for concrete in self._concrete_functions:
                tensors = _matching(concrete.structured_input_signature, given, convert)
                if tensors is not None:
                    return concrete, tensors
        options = "\n  ".join(str(c.structured_input_signature) for c in self._concrete_functions)
        raise ValueError(
            f"Could not find matching function to call loaded from the SavedModel. Got:\n  {given}\nExpected these "
            f"arguments to match one of the following {len(self._concrete_functions)} option(s):\n  {options}"
        )


def _parameters(described: Any) -> tuple[inspect.Signature, bool]:
    """The parameters of a Python function, by its FullArgSpec."""
    fields = [pair.key for pair in described.fullargspec.named_tuple_value.values]
    spec = dict(zip(fields, structures.decoded(described.fullargspec) or ()))
    names, defaults = list(spec.get("args") or ()), list(spec.get("defaults") or ())
    kind = inspect.Parameter
    found = []
    for i, name in enumerate(names):
        at = i - (len(names) - len(defaults))
        default = defaults[at] if at >= 0 else kind.empty
        found.append(kind(name, kind.POSITIONAL_OR_KEYWORD, default=default))
    if spec.get("varargs"):
        found.append(kind(spec["varargs"], kind.VAR_POSITIONAL))
    by_name = spec.get("kwonlydefaults") or {}
    for name in spec.get("kwonlyargs") or ():
        found.append(kind(name, kind.KEYWORD_ONLY, default=by_name.get(name, kind.empty)))
    if spec.get("varkw"):
        found.append(kind(spec["varkw"], kind.VAR_KEYWORD))
    return inspect.Signature(found), bool(described.is_method)


def _matching(signature: Any, given: Any, convert: bool) -> list[Any] | None:
    """The tensors among arguments, if these are of the kind that a function was traced for."""
    try:
        values = flatten_up_to(signature, given)
    except (ValueError, TypeError):
        return None
    tensors: list[Any] = []
    for spec, value in zip(nest.flatten(signature), values):
        if isinstance(spec, TypeSpec) and not isinstance(spec, TensorSpec):
            if not spec.is_compatible_with(value):
                return None
            tensors += nest.flatten(value, expand_composites=True)
            continue
        if not isinstance(spec, TensorSpec):
            if type(value) is not type(spec) or value != spec:
                return None
            continue
        if convert and not isinstance(value, (Tensor, TensorSpec)):
            try:
                value = conversion.convert_to_tensor(value, spec.dtype)
            except (ValueError, TypeError):
                return None
        if not isinstance(value, (Tensor, TensorSpec)) or not spec.is_compatible_with(value):
            return None
        tensors.append(value)
    return tensors
