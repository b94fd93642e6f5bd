"""Graph: a dataflow graph and the scopes under which it grows."""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from weft.framework import context, dtypes, shape_inference
from weft.framework.collections import Collections
from weft.framework.device_names import merge_device_strings
from weft.framework.operation import Operation, creation_site
from weft.framework.registry import OpDecl
from weft.framework.tensor import Tensor

_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")

_graph_numbers = itertools.count()


class _Scopes(threading.local):
    """The scopes of one thread over one graph."""

    def __init__(self) -> None:
        self.name = ""
        self.control: list[_Controllers] = []


class _Controllers:
    """The control inputs of one `control_dependencies` block."""

    __slots__ = ("ops", "seen")

    def __init__(self, ops: list[Operation]):
        self.ops = ops
        self.seen: set[Operation] = set()  # operations created inside of the block


def _without(stack: list[Any], item: Any) -> list[Any]:
    """A stack from which `item` is taken, wherever threads that share the graph have left it."""
    for i in reversed(range(len(stack))):
        if stack[i] is item:
            return [*stack[:i], *stack[i + 1 :]]
    return stack


class Graph(Collections):
    """A dataflow graph: operations, the tensors between them, and collections of either."""

    building_function = False

    @property
    def _building_function(self) -> bool:  # what programs of TensorFlow 1.15 ask, and set
        return self.building_function

    @_building_function.setter
    def _building_function(self, value: bool) -> None:
        self.building_function = value

    outer_graph: Graph | None = None

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._ops: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._version = 0  # counts changes of any kind
        self._rewrites = 0  # counts changes of operations that were there already: these end plans
        self._next_id = 0
        self._finalized = False
        self._scopes = _Scopes()
        self._devices: list[Any] = []  # None, canonical strings, or functions of an operation
        self._colocations: list[tuple[Operation, bool]] = []
        self._attr_scopes: dict[str, Any] = {}
        self._gradient_overrides: dict[str, str] = {}
        self._kernel_labels: dict[str, str] = {}
        self._op_to_kernel_label_map = self._kernel_labels
        self._functions: dict[str, Any] = {}
        self._gradient_functions: dict[str, str] = {}  # of functions that were imported with one
        self._container = ""
        self._original: Operation | None = None
        self._seed: int | None = None
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._producer, self._min_consumer = 134, 0  # of TensorFlow 1.15
        self._extras: dict[Any, Any] = {}  # of libraries that keep something per graph
        self._variable_creator_stack: list[Any] = []
        self._graph_key = f"graph-key-{next(_graph_numbers)}/"  # tells graphs apart for optimizers

    # -- operations ----------------------------------------------------------------------------------

    def add_op(
        self,
        decl: OpDecl,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        dtypes_: list[dtypes.DType],
        name: str | None = None,
        site_depth: int = 2,
    ) -> Operation:
        """Adds an operation whose inputs and attributes are complete, and infers its shapes."""
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        for i, tensor in enumerate(inputs):
            source = tensor._op  # a concrete tensor has none
            if source is None or source._graph is not self:
                inputs[i] = self._import_input(tensor, decl, name)
        with self._lock:
            if name is None:
                name = decl.name
            if name and name[-1] == "/":
                name = name[:-1]
            else:
                if isinstance(name, bytes):
                    name = name.decode()
                if not _OP_NAME.match(name):
                    raise ValueError(f"'{name}' is not a valid operation name")
                name = self.unique_name(name)
            stack = self._scopes.control
            control = self._control_inputs_for(inputs, stack) if stack else []
            op = Operation(
                self, decl, name, inputs, control, attrs, dtypes_, creation_site(site_depth)
            )
            op._original_op = self._original
            if self._gradient_overrides and decl.name in self._gradient_overrides:
                attrs["_gradient_op_type"] = self._gradient_overrides[decl.name].encode()
            if self._kernel_labels and decl.name in self._kernel_labels:
                attrs["_kernel"] = self._kernel_labels[decl.name].encode()
            if self._attr_scopes:
                self._apply_attr_scopes(op)
            if (
                self._container
                and decl.stateful
                and "container" in attrs
                and not attrs["container"]
            ):
                attrs["container"] = self._container.encode()
            if decl.shape_rule is not None:
                try:
                    shape_inference.infer(op)
                except BaseException:
                    self._forget_unfinished(op)
                    raise
            if self._devices:
                self._apply_devices(op)
            if self._colocations:
                self._apply_colocations(op)
            self._register(op)
            for controllers in stack:
                controllers.seen.add(op)
        return op

    def _register(self, op: Operation) -> None:
        op._id = self._next_id
        self._next_id += 1
        self._ops[op._name] = op
        self._version += 1

    def _forget_unfinished(self, op: Operation) -> None:
        for tensor in op._inputs:
            tensor._consumers.pop()
        for other in op._control_inputs:
            other._control_outputs.pop()

    def _import_input(self, tensor: Tensor, decl: OpDecl, name: str | None) -> Tensor:
        if tensor._op is None:
            raise RuntimeError("Attempting to capture an EagerTensor without building a function.")
        raise ValueError(
            f"Tensor {tensor} must be from the same graph as the operation '{name or decl.name}' "
            f"({decl.name}) that takes it."
        )

    def _note_change(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        self._version += 1
        self._rewrites += 1

    def create_op(
        self,
        op_type: str,
        inputs: list[Tensor],
        dtypes: list[Any] | None = None,
        input_types: list[Any] | None = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Adds an operation of a type by name, its attributes given as AttrValue messages."""
        from weft.framework import graph_def

        del input_types, compute_shapes, compute_device
        for i, tensor in enumerate(inputs):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"Input #{i} is not a tensor: {tensor}")
        return graph_def.create_op(self, op_type, list(inputs), dtypes, name, attrs or {})

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns a name that no operation of the graph has, within the current name scope."""
        scope = self._scopes.name
        if scope:
            name = scope + "/" + name
        used = self._names_in_use
        key = name.lower()
        i = used.get(key)
        if i is None:
            if mark_as_used:
                used[key] = 1
            return name
        base = key
        if mark_as_used:
            used[key] = i + 1
        while key in used:
            key = f"{base}_{i}"
            i += 1
        if mark_as_used:
            used[key] = 1
        return f"{name}_{i - 1}"

    def get_operations(self) -> list[Operation]:
        """Returns the operations in the order they were added."""
        return list(self._ops.values())

    @property
    def _nodes_by_name(self) -> dict[str, Operation]:
        return self._ops

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns the operation of that name; KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Returns the tensor of that name (`operation:index`); KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """Returns the operation or tensor of this graph that `obj` is, names, or converts to."""
        if not allow_tensor and not allow_operation:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        if isinstance(obj, bytes):
            obj = obj.decode()
        if not isinstance(obj, (Tensor, Operation, str)):
            convert = getattr(obj, "_as_graph_element", None)
            element = convert() if callable(convert) else None
            if element is None:
                types = " or ".join(
                    [
                        t
                        for t, ok in (("Tensor", allow_tensor), ("Operation", allow_operation))
                        if ok
                    ]
                )
                raise TypeError(f"Can not convert a {type(obj).__name__} into a {types}.")
            obj = element
        if (
            isinstance(obj, Tensor)
            and allow_tensor
            or isinstance(obj, Operation)
            and allow_operation
        ):
            if obj.graph is not self:
                kind = "Tensor" if isinstance(obj, Tensor) else "Operation"
                raise ValueError(f"{kind} {obj!r} is not an element of this graph.")
            return obj
        if isinstance(obj, str):
            return self._element_by_name(obj, allow_tensor, allow_operation)
        wanted = "Tensor" if allow_tensor else "Operation"
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    _as_graph_element_locked = as_graph_element

    def _element_by_name(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
        if ":" in name:
            if not allow_tensor:
                raise ValueError(
                    f"The name {name!r} looks like a Tensor name, but an Operation is wanted."
                )
            op_name, _, index_text = name.rpartition(":")
            if not op_name or not index_text.isdigit():
                raise ValueError(
                    f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names must "
                    'be of the form "<op_name>:<output_index>".'
                )
            op = self._ops.get(op_name)
            if op is None:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{op_name!r}, does not exist in the graph."
                )
            index = int(index_text)
            if index >= len(op._outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{op_name!r}, exists but only has {len(op._outputs)} outputs."
                )
            return op._outputs[index]
        op = self._ops.get(name)
        if not allow_operation:
            if op is not None:
                raise ValueError(
                    f"The name {name!r} refers to an Operation, not a Tensor. Perhaps you meant "
                    f'"{name}:0"?'
                )
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must "
                'be of the form "<op_name>:<output_index>".'
            )
        if op is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return op

    # -- scopes --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Makes this graph the default one of this thread."""
        with context.DefaultStack.push(context.current.graphs, self):
            yield self

    @property
    def _name_stack(self) -> str:
        return self._scopes.name

    @_name_stack.setter
    def _name_stack(self, name: str) -> None:
        self._scopes.name = name

    @contextlib.contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefixes the names of operations; a name that ends in "/" re-enters a scope."""
        if name:
            if isinstance(name, bytes):
                name = name.decode()
            if self._scopes.name:
                valid = _SCOPE_NAME.match(name)
            else:
                valid = _OP_NAME.match(name)
            if not valid:
                raise ValueError(f"'{name}' is not a valid scope name")
        before = self._scopes.name
        if not name:
            scope = ""
        elif name[-1] == "/":
            scope = name[:-1]
        else:
            scope = self.unique_name(name)
        self._scopes.name = scope
        try:
            yield scope + "/" if scope else ""
        finally:
            self._scopes.name = before

    def get_name_scope(self) -> str:
        """Returns the current name scope, without a slash at its end."""
        return self._scopes.name

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Makes operations created inside run after all of these; None clears enclosing blocks."""
        if control_inputs is None:
            before, self._scopes.control = self._scopes.control, []
            try:
                yield
            finally:
                self._scopes.control = before
            return
        ops: list[Operation] = []
        for item in control_inputs:
            if hasattr(item, "_handle") and hasattr(item, "op"):
                item = item.op  # a resource variable, or one that is not read yet: nothing is read
            elif hasattr(item, "_as_graph_element") and not isinstance(item, (Tensor, Operation)):
                item = item._as_graph_element()
            elif not isinstance(item, (Tensor, Operation, str)) and hasattr(item, "op"):
                item = item.op  # IndexedSlices, SparseTensor, TensorArray
            op = self._control_input(item)
            if op is not None and op not in ops:
                ops.append(op)
        controllers = _Controllers(ops)
        stack = self._scopes.control
        self._scopes.control = [*stack, controllers]
        try:
            yield
        finally:
            self._scopes.control = stack

    def _control_input(self, item: Any) -> Operation | None:
        op: Any = item if isinstance(item, Operation) else getattr(item, "_op", None)
        if op is not None and op._graph.building_function:
            caller = op._graph.run_for(op, self)
            if caller is not None:
                return caller
        element = self.as_graph_element(item)
        return element.op if isinstance(element, Tensor) else element

    def _current_control_dependencies(self) -> list[Operation]:
        return [op for c in self._scopes.control for op in c.ops]

    def _control_inputs_for(
        self, inputs: list[Tensor], stack: list[_Controllers]
    ) -> list[Operation]:
        out: list[Operation] = []
        input_ops = {t._op for t in inputs}
        for controllers in stack:
            # An input that was made inside of the block waits for the block's operations already.
            if any(op in controllers.seen for op in input_ops):
                continue
            out.extend(op for op in controllers.ops if op not in input_ops and op not in out)
        return out

    @contextlib.contextmanager
    def device(self, device: Any) -> Iterator[None]:
        """Places operations created inside on a device: a string, a function of the operation, or None."""
        if device is not None and not callable(device):
            device = merge_device_strings(
                "", device if isinstance(device, str) else device.to_string()
            )
        self._devices = [*self._devices, device]
        try:
            yield
        finally:
            self._devices = _without(self._devices, device)

    def _apply_devices(self, op: Operation) -> None:
        for device in reversed(self._devices):
            if device is None:
                break
            if callable(device):
                result = device(op)
                op._set_device("" if result is None else result)
            elif device:
                op._device = merge_device_strings(device, op._device)

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Places operations created inside where `op` is; None clears enclosing blocks."""
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        handle = getattr(op, "handle", None)
        if isinstance(handle, Tensor) and handle._op is None:
            op = self.capture(handle)._op if self.building_function else None  # type: ignore[attr-defined]
        if op is not None and not isinstance(op, Operation):
            op = op.op if hasattr(op, "op") else self.as_graph_element(op).op
        colocations = self._colocations
        entry = (op, ignore_existing)
        if ignore_existing:
            self._colocations = []
        self._devices = [*self._devices, None]  # the device of `op` is the device
        if op is not None:
            self._colocations = [*self._colocations, entry]
        try:
            yield
        finally:
            self._devices = _without(self._devices, None)
            self._colocations = (
                colocations if ignore_existing else _without(self._colocations, entry)
            )

    _colocate_with_for_gradient_default = None

    @contextlib.contextmanager
    def _colocate_with_for_gradient(
        self, op: Any, gradient_uid: Any = None, ignore_existing: bool = False
    ) -> Iterator[None]:
        with self.colocate_with(op, ignore_existing):
            yield

    def _apply_colocations(self, op: Operation) -> None:
        groups: set[bytes] = set()
        for other, _ in self._colocations:
            if other._graph is not self:
                continue
            groups.update(other.colocation_groups())
            if other._device:
                op._device = other._device
        if groups:
            op._attrs["_class"] = sorted(groups)

    @contextlib.contextmanager
    def _attr_scope(self, attr_map: dict[str, Any]) -> Iterator[None]:
        """Gives operations created inside these attributes (AttrValue messages, or functions of the op)."""
        before = self._attr_scopes
        self._attr_scopes = {k: v for k, v in {**before, **attr_map}.items() if v is not None}
        try:
            yield
        finally:
            self._attr_scopes = before

    def _apply_attr_scopes(self, op: Operation) -> None:
        from weft.framework import attributes

        for name, value in self._attr_scopes.items():
            if callable(value) and not hasattr(value, "WhichOneof"):
                value = value(op)
            if value is not None and name not in op._attrs:
                op._attrs[name] = attributes.from_proto(value)

    @contextlib.contextmanager
    def _overriding(self, attribute: str, overrides: dict[str, str]) -> Iterator[None]:
        if not isinstance(overrides, dict):
            raise TypeError(
                "a map of op types to names must be a dictionary from strings to strings"
            )
        for key, value in overrides.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise TypeError(
                    "a map of op types to names must be a dictionary from strings to strings"
                )
        before = getattr(self, attribute)
        setattr(self, attribute, {**before, **overrides})
        try:
            yield
        finally:
            setattr(self, attribute, before)

    @contextlib.contextmanager
    def _original_op(self, op: Operation) -> Iterator[None]:
        """Notes on operations created inside that they are there for the sake of `op` (its gradient)."""
        before, self._original = self._original, op
        try:
            yield
        finally:
            self._original = before

    def gradient_override_map(self, op_type_map: dict[str, str]) -> Any:
        """Makes operations of these types created inside use other registered gradients."""
        return self._overriding("_gradient_overrides", op_type_map)

    def _kernel_label_map(self, op_to_kernel_label_map: dict[str, str]) -> Any:
        return self._overriding("_kernel_labels", op_to_kernel_label_map)

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Keeps the state of stateful operations created inside in a resource container."""
        before, self._container = self._container, container_name
        try:
            yield self._container
        finally:
            self._container = before

    # -- state ---------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """A number that grows with each operation added."""
        return self._next_id

    @property
    def graph_def_versions(self) -> Any:
        from weft import proto

        least = max(self._min_consumer, 12 if self._functions else 0)
        return proto.VersionDef(producer=self._producer, min_consumer=least)

    @property
    def seed(self) -> int | None:
        """The graph-level random seed."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def finalized(self) -> bool:
        return self._finalized

    def finalize(self) -> None:
        """Makes the graph read-only."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def prevent_feeding(self, tensor: Tensor) -> None:
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Any) -> None:
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        if isinstance(tensor_or_op, Tensor):
            return (
                tensor_or_op not in self._unfetchable and tensor_or_op.op not in self._unfetchable
            )
        return tensor_or_op not in self._unfetchable

    def switch_to_thread_local(self) -> None:
        """Lets each thread have its own device stack; name and control scopes are per thread always."""
        self._devices = list(self._devices)

    # -- functions -----------------------------------------------------------------------------------

    def _add_function(self, function: Any) -> None:
        """Adds a function (something with a name and a body graph) to the graph's library."""
        known = self._functions.get(function.name)
        if known is not None and known is not function:
            if known.signature_key() != function.signature_key():
                raise ValueError(
                    f"Cannot add function '{function.name}': a different one has that name."
                )
            return
        self._functions[function.name] = function
        self._version += 1

    def _get_function(self, name: str) -> Any:
        function = self._functions.get(name)
        if function is None and self.outer_graph is not None:
            return self.outer_graph._get_function(name)
        return function

    def _is_function(self, name: str) -> bool:
        return self._get_function(name) is not None

    # -- GraphDef ------------------------------------------------------------------------------------

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Returns the GraphDef message of this graph."""
        from weft.framework import graph_def

        return graph_def.to_graph_def(self, from_version, add_shapes)

    def _as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        return self.as_graph_def(from_version, add_shapes), self.version


def control_dependencies(control_inputs: Any) -> Any:
    """Makes operations created inside run after all of `control_inputs`, in the default graph."""
    if context.executing_eagerly():
        if callable(control_inputs):
            control_inputs()
        return contextlib.nullcontext()
    return context.get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """Places operations created inside where `op` is, in the default graph."""
    if context.executing_eagerly():
        return contextlib.nullcontext()
    return context.get_default_graph().colocate_with(op, ignore_existing)


def device(device_name_or_function: Any) -> Any:
    """Places operations created inside on a device, in the default graph."""
    if context.executing_eagerly():
        if callable(device_name_or_function):
            raise RuntimeError(
                "tf.device does not support functions when eager execution is enabled."
            )
        if device_name_or_function is not None:
            merge_device_strings(
                "", str(device_name_or_function)
            )  # refuses what no device can be called
        return contextlib.nullcontext()
    return context.get_default_graph().device(device_name_or_function)


def container(container_name: str) -> Any:
    """Keeps the state of operations created inside in a container, in the default graph."""
    return context.get_default_graph().container(container_name)


Gradient = Callable[..., Any]
