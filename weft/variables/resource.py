"""ResourceVariable: a variable behind a handle, read where the program says so."""

from __future__ import annotations

import contextlib
import functools
import itertools
from contextlib import nullcontext
from typing import Any

from weft.framework import context, conversion, dtypes
from weft.framework.func_graph import init_scope
from weft.framework.graph import colocate_with, control_dependencies, device
from weft.framework.graph_keys import GraphKeys
from weft.framework.handle_data import HandleData
from weft.framework.scope_names import prepend_name_scope, strip_name_scope
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, as_shape
from weft.framework.variable_access import variable_accessed
from weft.ops.by_name import raw
from weft.variables.base import VariableV1, rows_of, with_trainable
from weft.variables.guard import check_lives_outside, guarded_initial_value
from weft.variables.modes import validated_modes
from weft.variables.reference import beside_variable
from weft.variables.save_slice import SaveSliceInfo

# The shared name of a handle whose variable is found by nobody else, and goes when the handle goes.
ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
_eager_ids = itertools.count()


class BaseResourceVariable(VariableV1):
    """What the variables behind a handle share; a subclass says where the handle comes from."""

    _handle: Tensor
    _dtype: dtypes.DType
    _shape: TensorShape
    _graph_key: str
    _graph_element: Tensor | None = None
    _cached_value: Tensor | None = None
    _is_initialized_op: Any = None
    _initializer_op = None
    _initial_value = None
    _constraint = None
    _unique_id: str
    _handle_name: str

    # -- what it is ----------------------------------------------------------------------------------

    @property
    def handle(self) -> Tensor:
        """The handle by which operations find the variable."""
        return self._handle

    @property
    def name(self) -> str:
        return self._handle_name

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def op(self) -> Any:
        return self._handle.op

    @property
    def graph(self) -> Any:
        return self._handle.graph

    @property
    def device(self) -> str:
        return self._handle.device

    @property
    def create(self) -> Any:
        """The operation that initialises the variable."""
        if not self._in_graph_mode:
            raise RuntimeError("Calling create is not supported when eager execution is enabled.")
        return self._initializer_op

    @property
    def initial_value(self) -> Any:
        if context.executing_eagerly():
            raise RuntimeError("initial_value not supported in EAGER mode.")
        return self._initial_value

    def set_shape(self, shape: Any) -> None:
        raise NotImplementedError("ResourceVariable does not implement set_shape()")

    def __repr__(self) -> str:
        text = f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}"
        if context.executing_eagerly() and not self._in_graph_mode:
            return f"{text}, numpy={self.read_value()._text(is_repr=True)}>"
        return text + ">"

    # -- its value -----------------------------------------------------------------------------------

    def _read_variable_op(self) -> Tensor:
        variable_accessed(self)
        return raw.ReadVariableOp(self._handle, dtype=self._dtype)

    def value(self) -> Tensor:
        if self._cached_value is not None:
            return self._cached_value
        if not self._in_graph_mode:
            return self._read_variable_op()
        with colocate_with(None, ignore_existing=True), device(self._handle.device):
            return self._read_variable_op()

    _AsTensor = value

    def read_value(self) -> Tensor:
        with name_scope("Read"), device(self._handle.device if self._in_graph_mode else None):
            value = self._read_variable_op()
        # The identity is placed where the program is, the read where the variable is.
        return raw.Identity(value)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The rows of the variable at `indices`."""
        with name_scope("Gather" if name is None else name) as scope:
            variable_accessed(self)
            value = raw.ResourceGather(self._handle, indices, dtype=self._dtype, name=scope)
        return raw.Identity(value)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """The slices of the variable at positions that the last axis of `indices` tells."""
        with name_scope("GatherNd" if name is None else name) as scope:
            variable_accessed(self)
            value = raw.ResourceGatherNd(self._handle, indices, dtype=self._dtype, name=scope)
        return raw.Identity(value)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether the variable has a value."""
        return raw.VarIsInitializedOp(self._handle, name=name)

    def eval(self, session: Any = None) -> Any:
        """Evaluates the variable in a session (the default one where none is given)."""
        if context.executing_eagerly():
            raise RuntimeError("Trying to eval in EAGER mode")
        assert self._graph_element is not None
        return self._graph_element.eval(session=session)

    def numpy(self) -> Any:
        """The value as an array; under eager execution."""
        if context.executing_eagerly():
            return self.read_value().numpy()
        raise NotImplementedError("numpy() is only available when eager execution is enabled.")

    def __bool__(self) -> bool:
        return bool(self.read_value())

    def __int__(self) -> int:
        if self.dtype not in (dtypes.int32, dtypes.int64):
            raise TypeError("Non-integer variable can't be converted to integer.")
        return int(self.value().numpy())

    def __copy__(self) -> BaseResourceVariable:
        return self

    def __deepcopy__(self, memo: dict) -> BaseResourceVariable:
        if not context.executing_eagerly():
            raise NotImplementedError(
                "__deepcopy__() is only available when eager execution is enabled."
            )
        copied = ResourceVariable(
            initial_value=self.read_value(),
            trainable=self._trainable,
            constraint=self._constraint,
            dtype=self._dtype,
            name=self._shared_name + "_copy",
        )
        memo[self._unique_id] = copied
        return copied

    def __reduce__(self) -> Any:
        make = functools.partial(
            ResourceVariable,
            initial_value=self.numpy(),
            trainable=self.trainable,
            name=self._shared_name,
            dtype=self.dtype,
            constraint=self.constraint,
        )
        return make, ()

    def _as_graph_element(self) -> Tensor | None:
        return self._graph_element

    def _dense_var_to_tensor(
        self, dtype: Any = None, name: str | None = None, as_ref: bool = False
    ) -> Tensor:
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type {dtype.name!r} for variable of type "
                f"{self.dtype.name!r}"
            )
        return self.read_value().op.inputs[0] if as_ref else self.value()

    def to_proto(self, export_scope: str | None = None) -> Any:
        from weft import proto

        if context.executing_eagerly():
            raise RuntimeError("to_proto not supported in EAGER mode.")
        if export_scope is not None and not self.handle.name.startswith(export_scope):
            return None
        out = proto.VariableDef()
        out.variable_name = strip_name_scope(self.handle.name, export_scope)
        if self._initial_value is not None:  # None for a variable of an old VariableDef
            out.initial_value_name = strip_name_scope(self._initial_value.name, export_scope)
        out.initializer_name = strip_name_scope(self.initializer.name, export_scope)
        snapshot = self._graph_element if self._cached_value is None else self._cached_value
        out.snapshot_name = strip_name_scope(snapshot.name, export_scope)  # type: ignore[union-attr]
        out.is_resource = True
        out.trainable = self.trainable
        out.synchronization = self.synchronization.value
        out.aggregation = self.aggregation.value
        if self._save_slice_info:
            out.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope))
        return out

    # -- changes -------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self, after_cached_read: bool = True) -> Any:
        """Where an operation is added that changes the variable: in its graph, after its cached read."""
        with contextlib.ExitStack() as stack:
            if (
                not (context.executing_eagerly() or context.has_default_graph())
                and self._in_graph_mode
            ):
                stack.enter_context(self._handle.graph.as_default())
            if after_cached_read and self._cached_value is not None:
                stack.enter_context(control_dependencies([self._cached_value]))
            yield

    def _changed_by(self, op: Any, read_value: bool = True) -> Any:
        """What an assignment gives: the variable as it is after it, or the operation."""
        if not read_value:
            return op
        variable_accessed(self)
        return UnreadVariable(self, op)

    _lazy_read = _changed_by

    def assign(
        self,
        value: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Gives the variable a new value; returns the variable as it is then, or the operation."""
        with self._writing(after_cached_read=False):
            tensor = conversion.convert_to_tensor(value, dtype=self.dtype)
            self._shape.assert_is_compatible_with(tensor.shape)
            op = raw.AssignVariableOp(self._handle, tensor, name=name)
            return self._changed_by(op, read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds to the variable; returns the variable as it is then, or the operation."""
        with self._writing():
            delta = conversion.convert_to_tensor(delta, dtype=self.dtype)
            op = raw.AssignAddVariableOp(self._handle, delta, name=name)
        return self._changed_by(op, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts from the variable; returns the variable as it is then, or the operation."""
        with self._writing():
            delta = conversion.convert_to_tensor(delta, dtype=self.dtype)
            op = raw.AssignSubVariableOp(self._handle, delta, name=name)
        return self._changed_by(op, read_value)

    def _scatter(self, decl: Any, delta: Any, name: str | None) -> Any:
        rows = rows_of(delta)
        values = conversion.convert_to_tensor(rows.values, self.dtype)
        return self._changed_by(decl(self._handle, rows.indices, values, name=name))

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtracts IndexedSlices from the variable."""
        return self._scatter(raw.ResourceScatterSub, sparse_delta, name)

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Adds IndexedSlices to the variable."""
        return self._scatter(raw.ResourceScatterAdd, sparse_delta, name)

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Takes the maximum of rows of the variable and IndexedSlices."""
        return self._scatter(raw.ResourceScatterMax, sparse_delta, name)

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Takes the minimum of rows of the variable and IndexedSlices."""
        return self._scatter(raw.ResourceScatterMin, sparse_delta, name)

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Multiplies rows of the variable by IndexedSlices."""
        return self._scatter(raw.ResourceScatterMul, sparse_delta, name)

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Divides rows of the variable by IndexedSlices."""
        return self._scatter(raw.ResourceScatterDiv, sparse_delta, name)

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Assigns IndexedSlices to rows of the variable."""
        return self._scatter(raw.ResourceScatterUpdate, sparse_delta, name)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Assigns slices to rows of the variable within each of the leading axes of the indices."""
        from weft.variables.assignment import batch_scatter_update

        rows = rows_of(sparse_delta)
        return batch_scatter_update(
            self, rows.indices, rows.values, use_locking=use_locking, name=name
        )

    def _scatter_nd(self, decl: Any, indices: Any, updates: Any, name: str | None) -> Any:
        updates = conversion.convert_to_tensor(updates, self.dtype)
        return self._changed_by(decl(self._handle, indices, updates, name=name))

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtracts from slices of the variable at positions that the last axis of `indices` tells."""
        return self._scatter_nd(raw.ResourceScatterNdSub, indices, updates, name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Adds to slices of the variable at positions that the last axis of `indices` tells."""
        return self._scatter_nd(raw.ResourceScatterNdAdd, indices, updates, name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Assigns to slices of the variable at positions that the last axis of `indices` tells."""
        return self._scatter_nd(raw.ResourceScatterNdUpdate, indices, updates, name)

    def count_up_to(self, limit: int) -> Any:
        """The value of this counter, which is one more afterwards; OutOfRangeError at the limit."""
        return raw.ResourceCountUpTo(self._handle, limit=limit, T=self.dtype)

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, name: str | None, **masks: int
    ) -> Any:
        with self._writing():
            value = conversion.convert_to_tensor(value, dtype=self.dtype)
            return self._changed_by(
                raw.ResourceStridedSliceAssign(
                    self._handle, begin, end, strides, value, name=name, **masks
                )
            )


def _no_in_place(sign: str, method: str) -> Any:
    def refuse(self: Any, other: Any) -> Any:
        raise RuntimeError(
            f"Variable {sign}= value not supported. Use `{method}` to modify the variable or "
            f"`var = var {sign} value` to get a new Tensor object."
        )

    return refuse


for _name, _sign, _method in (
    ("iadd", "+", "variable.assign_add(value)"),
    ("isub", "-", "variable.assign_sub(value)"),
    ("imul", "*", "var.assign(var * value)"),
    ("idiv", "/", "var.assign(var / value)"),
    ("itruediv", "/", "var.assign(var / value)"),
    ("irealdiv", "/", "var.assign(var / value)"),
    ("ipow", "**", "var.assign(var ** value)"),
):
    setattr(BaseResourceVariable, f"__{_name}__", _no_in_place(_sign, _method))


def _shape_of(initial_value: Tensor, given: Any) -> TensorShape:
    """The shape of a new variable: the given one, which the initial value must fit, or that of the value."""
    if given is None:
        return initial_value.get_shape()
    shape = as_shape(given)
    if not shape.is_compatible_with(initial_value.get_shape()):
        raise ValueError(
            f"The shape of the initial value, {initial_value.get_shape()}, is not compatible with the given "
            f"shape {shape}."
        )
    return shape


class ResourceVariable(BaseResourceVariable):
    """A variable behind a handle: reads are operations, each of which gives the value as of where it stands."""

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        dtype: Any = None,
        variable_def: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        distribute_strategy: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ):
        self._distribute_strategy = distribute_strategy
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            if context.executing_eagerly():
                raise ValueError(
                    "Creating ResourceVariable from variable_def is not supported when eager execution is "
                    "enabled."
                )
            self._init_from_proto(variable_def, import_scope)
            return
        self._synchronization, self._aggregation, self._trainable = validated_modes(
            synchronization, aggregation, trainable, name
        )
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        check_lives_outside(initial_value, name)
        collections = with_trainable(collections, self._trainable)
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._constraint = constraint
        with init_scope():
            self._in_graph_mode = not context.executing_eagerly()
            self._graph_key = context.get_default_graph()._graph_key
            values = [] if callable(initial_value) else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                if self._in_graph_mode:
                    self._build(initial_value, scope, caching_device, dtype, shape, validate_shape)
                else:
                    self._make_now(initial_value, scope, dtype, shape)
            if self._in_graph_mode:
                context.get_default_graph().add_to_collections(collections, self)
            elif GraphKeys.GLOBAL_STEP in collections:
                context.get_default_graph().add_to_collection(GraphKeys.GLOBAL_STEP, self)

    def _build(
        self,
        initial_value: Any,
        scope: str,
        caching_device: Any,
        dtype: Any,
        shape: Any,
        validate_shape: bool,
    ) -> None:
        variable_name = scope[:-1]
        is_function = callable(initial_value)
        with beside_variable(variable_name):
            with name_scope("Initializer"), device(None) if is_function else nullcontext():
                value = conversion.convert_to_tensor(
                    initial_value() if is_function else initial_value,
                    name="initial_value",
                    dtype=dtype,
                )
            self._shape = _shape_of(value, shape)
            self._dtype = value.dtype.base_dtype
            self._initial_value = value
            self._handle = raw.VarHandleOp(
                shape=self._shape, dtype=self._dtype, shared_name=variable_name, name=scope
            )
        self._handle._handle_data = HandleData(self._shape.dims_tuple, self._dtype)
        self._handle_name = self._handle.name
        self._unique_id = variable_name
        with name_scope("IsInitialized"):
            self._is_initialized_op = raw.VarIsInitializedOp(self._handle)
        with (
            name_scope("Assign") as assign,
            colocate_with(None, ignore_existing=True),
            device(self._handle.device),
        ):
            self._initializer_op = raw.AssignVariableOp(
                self._handle, guarded_initial_value(variable_name, value), name=assign
            )
        with name_scope("Read"):
            with device(self._handle.device):
                self._graph_element = raw.ReadVariableOp(self._handle, dtype=self._dtype)
            if caching_device is not None:
                with colocate_with(None, ignore_existing=True), device(caching_device):
                    self._cached_value = raw.Identity(self._graph_element)
        self._caching_device = caching_device

    def _make_now(self, initial_value: Any, scope: str, dtype: Any, shape: Any) -> None:
        if callable(initial_value):
            with name_scope("Initializer"):
                initial_value = initial_value()
        value = conversion.convert_to_tensor(initial_value, name="initial_value", dtype=dtype)
        self._shape = _shape_of(value, shape)
        self._dtype = value.dtype.base_dtype
        variable_name = scope[:-1]
        self._handle_name = variable_name + ":0"
        self._unique_id = f"{variable_name}_{next(_eager_ids)}"
        self._handle = raw.VarHandleOp(shape=self._shape, dtype=self._dtype, shared_name=ANONYMOUS)
        self._handle._handle_data = HandleData(self._shape.dims_tuple, self._dtype)
        raw.AssignVariableOp(self._handle, value)

    def _init_from_proto(self, variable_def: Any, import_scope: str | None) -> None:
        if not variable_def.is_resource:
            raise ValueError("Trying to restore Variable as ResourceVariable.")
        graph = context.get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._in_graph_mode = True
        self._graph_key = graph._graph_key
        self._handle = element(variable_def.variable_name)
        self._shape = TensorShape.from_tuple(self._handle.op._attrs["shape"])
        self._dtype = self._handle.op._attrs["dtype"]
        self._handle_name = self._unique_id = self._handle.name
        self._initializer_op = element(variable_def.initializer_name)
        if variable_def.initial_value_name:
            self._initial_value = element(variable_def.initial_value_name)
        self._synchronization, self._aggregation, self._trainable = validated_modes(
            variable_def.synchronization,
            variable_def.aggregation,
            variable_def.trainable,
            variable_def.variable_name,
        )
        if variable_def.snapshot_name:
            snapshot = element(variable_def.snapshot_name)
            if snapshot.op.type != "ReadVariableOp":
                self._cached_value = snapshot
            while snapshot.op.type != "ReadVariableOp":
                snapshot = snapshot.op.inputs[0]
            self._graph_element = snapshot
        else:
            self._graph_element = graph.get_tensor_by_name(
                self._handle.op.name + "/Read/ReadVariableOp:0"
            )
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> ResourceVariable:
        if context.executing_eagerly():
            raise RuntimeError("from_proto not supported in EAGER mode.")
        return ResourceVariable(variable_def=variable_def, import_scope=import_scope)


class UninitializedVariable(BaseResourceVariable):
    """A variable without an initial value, for what will be restored into it."""

    def __init__(
        self,
        trainable: bool | None = None,
        caching_device: Any = None,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
    ):
        self._synchronization, self._aggregation, self._trainable = validated_modes(
            synchronization, aggregation, trainable, name
        )
        self._constraint = constraint
        self._caching_device = caching_device
        self._shape, self._dtype = as_shape(shape), dtypes.as_dtype(dtype)
        with init_scope():
            self._in_graph_mode = not context.executing_eagerly()
            graph = context.get_default_graph()
            self._graph_key = graph._graph_key
            with name_scope(name, "Variable") as scope:
                variable_name = scope[:-1]
                self._handle_name = variable_name + ":0"
                self._unique_id = (
                    variable_name if self._in_graph_mode else f"{variable_name}_{next(_eager_ids)}"
                )
                self._handle = raw.VarHandleOp(
                    shape=self._shape,
                    dtype=self._dtype,
                    shared_name=variable_name if self._in_graph_mode else ANONYMOUS,
                    name=scope,
                )
                self._handle._handle_data = HandleData(self._shape.dims_tuple, self._dtype)
                if self._in_graph_mode:
                    with name_scope("Read"), device(self._handle.device):
                        self._graph_element = raw.ReadVariableOp(self._handle, dtype=self._dtype)
                    graph.add_to_collection(GraphKeys.GLOBAL_VARIABLES, self)


class UnreadVariable(BaseResourceVariable):
    """A variable as it is after an operation that changed it: reads come after that operation."""

    def __init__(self, variable: BaseResourceVariable, parent_op: Any):
        self._handle = variable._handle
        self._dtype, self._shape = variable._dtype, variable._shape
        self._in_graph_mode = variable._in_graph_mode
        self._unique_id = variable._unique_id
        self._handle_name = variable._handle_name
        self._trainable = variable._trainable
        self._synchronization, self._aggregation = variable._synchronization, variable._aggregation
        self._constraint = variable._constraint
        self._distribute_strategy = variable._distribute_strategy
        self._graph_key = variable._graph_key
        self._parent_op = parent_op
        # `Session.run` needs a tensor that exists; elsewhere a read that nobody asked for is left out.
        if not (context.executing_eagerly() or context.get_default_graph().building_function):
            with control_dependencies([parent_op]):
                self._graph_element = raw.ReadVariableOp(self._handle, dtype=self._dtype)

    @property
    def name(self) -> str:
        return self._parent_op.name if self._in_graph_mode else "UnreadVariable"

    @property
    def op(self) -> Any:
        return self._parent_op

    def _read_variable_op(self) -> Tensor:
        if self._parent_op is None:
            return super()._read_variable_op()
        with control_dependencies([self._parent_op]):
            return super()._read_variable_op()

    def value(self) -> Tensor:
        return self._read_variable_op()

    def read_value(self) -> Tensor:
        return self._read_variable_op()


def is_resource_variable(variable: Any) -> bool:
    """Whether a variable is behind a handle."""
    return isinstance(variable, BaseResourceVariable) or hasattr(
        variable, "_should_act_as_resource_variable"
    )
