"""What all variables share: how one is made, its arithmetic, and the methods that every kind has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft.framework import context, conversion
from weft.framework.export import export, export_all
from weft.framework.graph_keys import GraphKeys
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape
from weft.framework.trackable import Trackable
from weft.ops.array.getitem import get_item
from weft.variables import save_slice
from weft.variables.modes import VariableAggregation, VariableSynchronization

_AUTO, _NONE = VariableSynchronization.AUTO, VariableAggregation.NONE

# Makes the variable that `tf.Variable(...)` asks for, of whichever kind: set by `creation`.
default_creator: Callable[..., Any] | None = None
default_creator_v2: Callable[..., Any] | None = None


def creator_stack(graph: Any) -> list[tuple[int, Callable]]:
    """The variable creators of a graph, outermost first."""
    return graph._variable_creator_stack


def _created(creator: Callable[..., Any] | None, arguments: dict[str, Any]) -> Any:
    """Runs the creators of the default graph, innermost first; the last one makes the variable."""

    def with_next(outer: Callable, next_creator: Callable) -> Callable:
        return lambda **kwargs: outer(next_creator, **kwargs)

    def make(**kwargs: Any) -> Any:
        return creator(None, **kwargs)  # type: ignore[misc]

    create: Callable = make
    for _, outer in creator_stack(context.get_default_graph()):
        create = with_next(outer, create)
    if arguments["aggregation"] is None:
        arguments["aggregation"] = _NONE
    return create(**arguments)


class VariableMetaclass(type):
    """Lets `tf.Variable(...)` make variables of another class, as the scopes around it say."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is VariableV1:
            return cls._call_v1(*args, **kwargs)
        if cls is Variable:
            return cls._call_v2(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def _call_v1(
        cls,
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
        use_resource: bool | None = None,
        synchronization: Any = _AUTO,
        aggregation: Any = _NONE,
        shape: Any = None,
    ) -> Any:
        arguments = dict(locals())
        del arguments["cls"]
        return _created(default_creator, arguments)

    def _call_v2(
        cls,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: Any = _AUTO,
        aggregation: Any = _NONE,
        shape: Any = None,
    ) -> Any:
        arguments = dict(locals())
        del arguments["cls"]
        return _created(default_creator_v2, arguments)


class Variable(Trackable, metaclass=VariableMetaclass):
    """A tensor that keeps its value between runs, until it is assigned another."""

    SaveSliceInfo = save_slice.SaveSliceInfo
    __array_priority__ = 100

    _save_slice_info: save_slice.SaveSliceInfo | None = None
    _caching_device: Any = None
    _initializer_op: Any
    _initial_value: Any
    _constraint: Any
    _trainable: bool
    _synchronization: VariableSynchronization
    _aggregation: Any
    _in_graph_mode = True
    _distribute_strategy = None

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(f"{type(self).__name__} does not say how it is made.")

    # -- what it is ----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the variable, with the index of the output that gives it."""
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        raise NotImplementedError

    @property
    def op(self) -> Any:
        """The operation that gives the reference or handle."""
        raise NotImplementedError

    @property
    def graph(self) -> Any:
        return self.op.graph

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        raise NotImplementedError

    def get_shape(self) -> TensorShape:
        return self.shape

    def _shape_as_list(self) -> list[int | None] | None:
        return None if self.shape.dims is None else [d.value for d in self.shape.dims]

    def _shape_tuple(self) -> tuple | None:
        sizes = self._shape_as_list()
        return None if sizes is None else tuple(sizes)

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def synchronization(self) -> VariableSynchronization:
        return self._synchronization

    @property
    def aggregation(self) -> Any:
        return self._aggregation

    @property
    def constraint(self) -> Any:
        """The function that optimizers apply to the value after each update, or None."""
        return self._constraint

    @property
    def distribute_strategy(self) -> Any:
        return self._distribute_strategy

    @property
    def initializer(self) -> Any:
        """The operation that gives the variable its initial value."""
        return self._initializer_op

    @property
    def initial_value(self) -> Any:
        """The tensor that the initializer assigns."""
        return self._initial_value

    @property
    def _shared_name(self) -> str:
        return self.name[: self.name.index(":")] if ":" in self.name else self.name

    def _set_save_slice_info(self, save_slice_info: save_slice.SaveSliceInfo | None) -> None:
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> save_slice.SaveSliceInfo | None:
        return self._save_slice_info

    # -- its value -----------------------------------------------------------------------------------

    def value(self) -> Any:
        """The value as it was when first read in a step."""
        raise NotImplementedError

    def read_value(self) -> Any:
        """The value, read here: after the control dependencies in force."""
        raise NotImplementedError

    def initialized_value(self) -> Any:
        """The value, or the initial value while the variable is not initialised: for other initial values."""
        import weft as tf
        from weft.framework.func_graph import init_scope

        with init_scope():
            if not self._in_graph_mode:
                return self.read_value()
            if self.initial_value is None:
                raise ValueError(f"The initial value of variable {self.name} is not known.")
            return tf.cond(
                tf.is_variable_initialized(self), self.read_value, lambda: self.initial_value
            )

    def load(self, value: Any, session: Any = None) -> None:
        """Assigns a value at once, in a session (the default one where none is given)."""
        if not self._in_graph_mode:
            self.assign(value)  # type: ignore[attr-defined]
            return
        session = session or context.get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be established"
            )
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __getitem__(self, key: Any) -> Any:
        return get_item(self.value(), key, var=self)

    def experimental_ref(self) -> Any:
        """A hashable object that stands for this variable."""
        return _Reference(self)

    def _as_graph_element(self) -> Any:
        raise NotImplementedError

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The VariableDef message; None where the variable is outside of the scope."""
        raise NotImplementedError

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Any:
        """The variable that a VariableDef message describes, whose operations are in the default graph."""
        from weft.variables.reference import RefVariable
        from weft.variables.resource import ResourceVariable

        kind: Any = ResourceVariable if variable_def.is_resource else RefVariable
        return kind(variable_def=variable_def, import_scope=import_scope)

    # -- what each kind does in its own way -----------------------------------------------------------

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Gives the variable a new value."""
        raise NotImplementedError

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds to the value."""
        raise NotImplementedError

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts from the value."""
        raise NotImplementedError

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Sets the rows that IndexedSlices tell."""
        raise NotImplementedError

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Adds to rows."""
        raise NotImplementedError

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtracts from rows."""
        raise NotImplementedError

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Multiplies rows."""
        raise NotImplementedError

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Divides rows."""
        raise NotImplementedError

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Raises rows to at least these."""
        raise NotImplementedError

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Lowers rows to at most these."""
        raise NotImplementedError

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Sets rows of each batch."""
        raise NotImplementedError

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Sets slices."""
        raise NotImplementedError

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Adds to slices."""
        raise NotImplementedError

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtracts from slices."""
        raise NotImplementedError

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        """Returns the slices at positions that the last axis of `indices` tells."""
        raise NotImplementedError

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """Returns the rows at `indices`."""
        raise NotImplementedError

    def eval(self, session: Any = None) -> Any:
        """Evaluates the variable in a session (the default one where none is given)."""
        raise NotImplementedError

    def count_up_to(self, limit: Any) -> Any:
        """Adds 1, unless the value has reached `limit`: then it raises OutOfRangeError."""
        raise NotImplementedError

    def set_shape(self, shape: Any) -> Any:
        """Adds what the caller knows to the static shape."""
        raise NotImplementedError

    # -- for checkpoints of objects ------------------------------------------------------------------

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"VARIABLE_VALUE": self}


@export("is_tensor", "contrib.framework.is_tensor")
def is_tensor(x: Any) -> bool:
    """Returns whether `x` is a tensor, dense or sparse, or a variable."""
    return isinstance(x, (Tensor, SparseTensor, IndexedSlices, Variable))


class VariableV1(Variable):
    """A tensor that keeps its value between runs, until it is assigned another.

    `initial_value` (a tensor, what converts to one, or a function that gives one) says what the initializer
    assigns, and what shape and dtype the variable has. The variable joins `collections` (GLOBAL_VARIABLES),
    and TRAINABLE_VARIABLES where it is `trainable`. `use_resource` chooses between the two kinds: a reference
    that is read whenever an operation runs that takes it, or a handle that is read where the program says.
    """


VariableV1.__name__ = VariableV1.__qualname__ = "VariableV1"
export("Variable")(VariableV1)


class _Reference:
    """Stands for an object in sets and dicts, by identity."""

    __slots__ = ("_object",)

    def __init__(self, item: Any):
        self._object = item

    def deref(self) -> Any:
        return self._object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reference) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)


# -- arithmetic: that of the value ---------------------------------------------------------------------

_OPERATORS = (
    "add radd sub rsub mul rmul div rdiv truediv rtruediv floordiv rfloordiv mod rmod lt le gt ge and rand or "
    "ror xor rxor pow rpow invert neg abs matmul rmatmul"
).split()


def _overload(name: str) -> Callable:
    def operator(self: Any, *args: Any) -> Any:
        value = self.value()
        return getattr(type(value), name)(value, *args)

    of_tensor = getattr(Tensor, name, None)
    return operator if of_tensor is None else functools.update_wrapper(operator, of_tensor)


for _name in _OPERATORS:
    setattr(Variable, f"__{_name}__", _overload(f"__{_name}__"))


def _convert(
    variable: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    return variable._dense_var_to_tensor(dtype=dtype, name=name, as_ref=as_ref)


conversion.register_tensor_conversion_function(Variable, _convert)


def rows_of(sparse_delta: Any) -> IndexedSlices:
    """The argument of a scatter method, which must be IndexedSlices."""
    if not isinstance(sparse_delta, IndexedSlices):
        raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
    return sparse_delta


def join_collections(variable: Any, collections: Any, trainable: bool) -> None:
    """Adds a new variable to the collections of the default graph it belongs to."""
    context.get_default_graph().add_to_collections(with_trainable(collections, trainable), variable)


def with_trainable(collections: Any, trainable: bool) -> list[str]:
    """The collections of a new variable, checked, with that of trainable ones where it is one."""
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(
            "collections argument to Variable constructor must be a list, tuple, or set. Got "
            f"{collections} of type {type(collections)}"
        )
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
        return [*collections, GraphKeys.TRAINABLE_VARIABLES]
    return list(collections)


export_all("compat.v2", Variable=Variable)
