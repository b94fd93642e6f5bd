"""Tensor: a symbolic value, one output of an operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.framework import context, errors
from weft.framework.shape_rules import Shape, is_full, merge
from weft.framework.tensor_shape import TensorShape, as_shape

if TYPE_CHECKING:
    from weft.framework.dtypes import DType
    from weft.framework.graph import Graph
    from weft.framework.handle_data import HandleData
    from weft.framework.operation import Operation


class Tensor:
    """One output of an `Operation`: a value that a session computes."""

    __slots__ = (
        "_op",
        "_index",
        "_dtype",
        "_dims",
        "_consumers",
        "_name",
        "__weakref__",
        "__dict__",
    )

    _handle_data: HandleData | None  # of a resource or variant, where something is known of it

    # The op library sets the operators.
    __getitem__: Any
    __neg__: Any

    _USE_EQUALITY = False  # tensors are compared by identity

    # NumPy leaves binary operators between an array and a tensor to the tensor.
    __array_priority__ = 100

    def __init__(self, op: Operation, value_index: int, dtype: DType):
        self._op = op
        self._index = value_index
        self._dtype = dtype
        self._dims: Shape = None
        self._consumers: list[Operation] = []
        self._name: str | None = None

    @property
    def op(self) -> Operation:
        """The operation that gives this tensor."""
        return self._op

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def graph(self) -> Graph:
        return self._op._graph

    @property
    def name(self) -> str:
        """`operation:index`."""
        return f"{self._op._name}:{self._index}"

    @property
    def value_index(self) -> int:
        return self._index

    @property
    def device(self) -> str:
        return self._op.device

    @property
    def dims(self) -> Shape:
        """The static shape as a plain tuple, or None where the rank is unknown."""
        return self._dims

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape.from_tuple(self._dims)

    def get_shape(self) -> TensorShape:
        return TensorShape.from_tuple(self._dims)

    _shape = shape

    def _shape_tuple(self) -> tuple | None:
        return self._dims

    def _shape_as_list(self) -> list[Any] | None:
        return None if self._dims is None else list(self._dims)

    def _rank(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    def set_shape(self, shape: Any) -> None:
        """Adds what the caller knows to the static shape; ValueError where both cannot be true."""
        dims = as_shape(shape).dims_tuple
        self._dims = merge(self._dims, dims, f"Shape of tensor {self.name} cannot be set")

    def consumers(self) -> list[Operation]:
        """The operations that take this tensor as an input."""
        return list(self._consumers)

    def _as_node_def_input(self) -> str:
        return self._op._name if self._index == 0 else f"{self._op._name}:{self._index}"

    def _as_tf_output(self) -> Tensor:
        return self

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Evaluates this tensor in a session (the default one where none is given)."""
        return run_in_session(self, feed_dict, session, self.graph)

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self._dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self._dims is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def experimental_ref(self) -> Any:
        """A hashable object that stands for this tensor."""
        return Reference(self)

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: dict) -> Tensor:
        raise TypeError(f"Tensor {self.name} is a part of its graph and cannot be copied.")

    def __iter__(self) -> Any:
        if not context.executing_eagerly():
            raise errors.OperatorNotAllowedInGraphError(
                "iterating over `tf.Tensor` is not allowed in graph mode: Tensor objects are only iterable "
                "when eager execution is enabled. To iterate over this tensor use tf.map_fn."
            )
        if self._dims is None or not self._dims:
            raise TypeError("Cannot iterate over a tensor of unknown or zero rank.")
        size = self._dims[0]
        if size is None:
            raise TypeError("Cannot iterate over a tensor whose first size is not known.")
        return (self[i] for i in range(size))

    def __bool__(self) -> bool:
        raise errors.OperatorNotAllowedInGraphError(
            "using a `tf.Tensor` as a Python `bool` is not allowed in graph mode. Use `if t is not None:` instead of "
            "`if t:` to test if a tensor is defined, and use TensorFlow ops such as tf.cond to execute "
            f"subgraphs conditioned on the value of a tensor ({self.name})."
        )

    __nonzero__ = __bool__

    def __len__(self) -> int:
        raise TypeError(
            f"object of type 'Tensor' has no len(). Use tf.shape({self.name})[0] for its first size."
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array: run it in a session."
        )

    def __getattr__(self, name: str) -> Any:
        if name in ("astype", "ravel", "reshape", "size", "T", "tolist", "data"):
            raise AttributeError(
                f"'Tensor' object has no attribute '{name}'; it is symbolic, not an array."
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def is_fully_defined(self) -> bool:
        return is_full(self._dims)

    @staticmethod
    def _override_operator(operator: str, func: Any) -> None:
        override_operator(operator, func)


class Reference:
    """Stands for an object in sets and dicts, by identity."""

    __slots__ = ("_object", "__weakref__")

    def __init__(self, item: Any):
        self._object = item

    def deref(self) -> Any:
        """The object."""
        return self._object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)


def override_operator(operator: str, function: Any) -> None:
    """Gives Tensor a Python operator; the op library does so for its arithmetic."""
    setattr(Tensor, operator, function)


def run_in_session(target: Any, feed_dict: Any, session: Any, graph: Any) -> Any:
    """Runs a tensor or operation in the given or the default session."""
    what = "evaluate tensor" if isinstance(target, Tensor) else "execute operation"
    method = "`eval(session=sess)`" if isinstance(target, Tensor) else "`run(session=sess)`"
    if session is None:
        session = context.get_default_session()
        if session is None:
            raise ValueError(
                f"Cannot {what} using {method[:5]}()`: No default session is registered. Use "
                f"`with sess.as_default()` or pass an explicit session to {method}"
            )
        if session.graph is not graph:
            raise ValueError(
                f"Cannot use the default session to {what}: the {what.split()[1]}'s graph is different "
                f"from the session's graph. Pass an explicit session to {method}."
            )
    elif session.graph is not graph:
        raise ValueError(
            f"Cannot use the given session to {what}: the {what.split()[1]}'s graph is different from the "
            "session's graph."
        )
    return session.run(target, feed_dict)
