"""RefVariable: a variable whose reference is read whenever an operation runs that takes it."""

from __future__ import annotations

from typing import Any

from weft.framework import context, conversion
from weft.framework.func_graph import init_scope
from weft.framework.graph import device
from weft.framework.scope_names import prepend_name_scope, strip_name_scope
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape
from weft.ops.by_name import raw
from weft.variables.base import VariableV1, join_collections, rows_of, with_trainable
from weft.variables.guard import check_lives_outside, guarded_initial_value
from weft.variables.modes import validated_modes
from weft.variables.save_slice import SaveSliceInfo


def beside_variable(variable_name: str) -> Any:
    """Places operations with a variable that does not exist yet."""
    from weft import proto

    place = proto.AttrValue()
    place.list.s.append(f"loc:@{variable_name}".encode())
    return context.get_default_graph()._attr_scope({"_class": place})


class RefVariable(VariableV1):
    """A variable behind a reference: `assign` returns the reference, and what takes it reads it as it runs."""

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ):
        del (
            expected_shape
        )  # of programs before 1.0, when the shape of the initial value was to be repeated
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._synchronization, self._aggregation, self._trainable = validated_modes(
            synchronization, aggregation, trainable, name
        )
        check_lives_outside(initial_value, name)
        collections = with_trainable(collections, self._trainable)
        self._constraint = constraint
        self._caching_device = caching_device
        with init_scope():
            if context.executing_eagerly():
                raise RuntimeError("RefVariable not supported when eager execution is enabled. ")
            self._graph_key = context.get_default_graph()._graph_key
            values = [] if callable(initial_value) else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                self._build(initial_value, scope, validate_shape, dtype, shape)
            join_collections(self, collections, self._trainable)

    def _build(
        self, initial_value: Any, scope: str, validate_shape: bool, dtype: Any, shape: Any
    ) -> None:
        def build(value: Any) -> Any:
            own_shape = value.get_shape() if validate_shape else None
            return raw.VariableV2(
                shape=own_shape if shape is None else shape,
                dtype=value.dtype.base_dtype,
                name=scope,
            )

        if callable(initial_value):
            with beside_variable(scope[:-1]):
                with name_scope("Initializer"), device(None):
                    value = conversion.convert_to_tensor(
                        initial_value(), name="initial_value", dtype=dtype
                    )
                self._variable = build(value)
        else:
            value = conversion.convert_to_tensor(initial_value, name="initial_value", dtype=dtype)
            self._variable = build(value)
        self._initial_value = value
        if validate_shape and not value.get_shape().is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {value}")
        self._initializer_op = raw.Assign(
            self._variable,
            guarded_initial_value(scope[:-1], value),
            validate_shape=validate_shape,
            name="Assign",
        ).op
        graph = context.get_default_graph()
        beside = (
            device(self._caching_device)
            if self._caching_device is not None
            else graph.colocate_with(self._variable.op)
        )
        with beside:
            self._snapshot = raw.Identity(self._variable, name="read")

    def _init_from_proto(self, variable_def: Any, import_scope: str | None) -> None:
        graph = context.get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._graph_key = graph._graph_key
        self._variable = element(variable_def.variable_name)
        self._initializer_op = element(variable_def.initializer_name)
        self._initial_value = (
            element(variable_def.initial_value_name) if variable_def.initial_value_name else None
        )
        self._synchronization, self._aggregation, self._trainable = validated_modes(
            variable_def.synchronization,
            variable_def.aggregation,
            variable_def.trainable,
            variable_def.variable_name,
        )
        self._snapshot = element(variable_def.snapshot_name)
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )
        self._caching_device = None
        self._constraint = None

    def to_proto(self, export_scope: str | None = None) -> Any:
        from weft import proto

        if export_scope is not None and not self._variable.name.startswith(export_scope):
            return None
        out = proto.VariableDef()
        out.variable_name = strip_name_scope(self._variable.name, export_scope)
        if self._initial_value is not None:  # None for a variable of an old VariableDef
            out.initial_value_name = strip_name_scope(self._initial_value.name, export_scope)
        out.trainable = self.trainable
        out.synchronization = self.synchronization.value
        out.aggregation = self.aggregation.value
        out.initializer_name = strip_name_scope(self.initializer.name, export_scope)
        out.snapshot_name = strip_name_scope(self._snapshot.name, export_scope)
        if self._save_slice_info:
            out.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope))
        return out

    # -- what it is ----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._variable.name

    @property
    def dtype(self) -> Any:
        return self._variable.dtype

    @property
    def op(self) -> Any:
        return self._variable.op

    @property
    def device(self) -> str:
        return self._variable.device

    @property
    def graph(self) -> Any:
        return self._variable.graph

    @property
    def shape(self) -> TensorShape:
        return self._variable.get_shape()

    def set_shape(self, shape: Any) -> None:
        """Overrides the static shape."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}>"

    # -- its value -----------------------------------------------------------------------------------

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def _ref(self) -> Tensor:
        return self._variable

    def value(self) -> Tensor:
        return self._snapshot

    def _AsTensor(self) -> Tensor:
        return self._snapshot

    def read_value(self) -> Tensor:
        return raw.Identity(self._variable, name="read")

    def eval(self, session: Any = None) -> Any:
        """Evaluates the variable in a session (the default one where none is given)."""
        return self._variable.eval(session=session)

    def _dense_var_to_tensor(
        self, dtype: Any = None, name: str | None = None, as_ref: bool = False
    ) -> Tensor:
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
                f"'{self.dtype.name}'"
            )
        return self._variable if as_ref else self.value()

    # -- changes -------------------------------------------------------------------------------------

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Gives the variable a new value; returns the reference, or the operation."""
        out = raw.Assign(self._variable, value, use_locking=use_locking, name=name)
        return out if read_value else out.op

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds to the variable; returns the reference, or the operation."""
        out = raw.AssignAdd(self._variable, delta, use_locking=use_locking, name=name)
        return out if read_value else out.op

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts from the variable; returns the reference, or the operation."""
        out = raw.AssignSub(self._variable, delta, use_locking=use_locking, name=name)
        return out if read_value else out.op

    def _scatter(self, decl: Any, delta: Any, use_locking: bool, name: str | None) -> Any:
        rows = rows_of(delta)
        return decl(self._variable, rows.indices, rows.values, use_locking=use_locking, name=name)

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtracts IndexedSlices from the variable."""
        return self._scatter(raw.ScatterSub, sparse_delta, use_locking, name)

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Adds IndexedSlices to the variable."""
        return self._scatter(raw.ScatterAdd, sparse_delta, use_locking, name)

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Takes the maximum of rows of the variable and IndexedSlices."""
        return self._scatter(raw.ScatterMax, sparse_delta, use_locking, name)

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Takes the minimum of rows of the variable and IndexedSlices."""
        return self._scatter(raw.ScatterMin, sparse_delta, use_locking, name)

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Multiplies rows of the variable by IndexedSlices."""
        return self._scatter(raw.ScatterMul, sparse_delta, use_locking, name)

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Divides rows of the variable by IndexedSlices."""
        return self._scatter(raw.ScatterDiv, sparse_delta, use_locking, name)

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Assigns IndexedSlices to rows of the variable."""
        return self._scatter(raw.ScatterUpdate, sparse_delta, use_locking, name)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Assigns slices to rows of the variable within each of the leading axes of the indices."""
        from weft.variables.assignment import batch_scatter_update

        rows = rows_of(sparse_delta)
        return batch_scatter_update(
            self, rows.indices, rows.values, use_locking=use_locking, name=name
        )

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtracts from slices of the variable at positions that the last axis of `indices` tells."""
        return raw.ScatterNdSub(self._variable, indices, updates, use_locking=True, name=name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Adds to slices of the variable at positions that the last axis of `indices` tells."""
        return raw.ScatterNdAdd(self._variable, indices, updates, use_locking=True, name=name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Assigns to slices of the variable at positions that the last axis of `indices` tells."""
        return raw.ScatterNdUpdate(self._variable, indices, updates, use_locking=True, name=name)

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """The rows of the variable at `indices`."""
        import weft as tf

        return tf.gather(self.value(), indices, name=name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        """The slices of the variable at positions that the last axis of `indices` tells."""
        import weft as tf

        return tf.gather_nd(self.value(), indices, name=name)

    def count_up_to(self, limit: int) -> Any:
        """The value of this counter, which is one more afterwards; OutOfRangeError at the limit."""
        return raw.CountUpTo(self._variable, limit=limit)

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, name: str | None, **masks: int
    ) -> Any:
        return raw.StridedSliceAssign(
            self._variable, begin, end, strides, value, name=name, **masks
        )
