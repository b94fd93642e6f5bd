"""Static shapes: known, partly known, or of unknown rank."""

import math
from typing import Any

from weft.framework.dimension import Dimension, as_dimension, as_size, dimension_value

__all__ = [
    "Dimension",
    "TensorShape",
    "as_dimension",
    "as_shape",
    "dimension_at_index",
    "dimension_value",
    "disable_v2_tensorshape",
    "enable_v2_tensorshape",
    "unknown_shape",
]

_v2_behaviour = False


def enable_v2_tensorshape() -> None:
    """Makes the elements of a `TensorShape` ints and Nones instead of `Dimension`s."""
    global _v2_behaviour
    _v2_behaviour = True


def disable_v2_tensorshape() -> None:
    """Makes the elements of a `TensorShape` `Dimension`s again."""
    global _v2_behaviour
    _v2_behaviour = False


class TensorShape:
    """The static shape of a tensor, as far as it is known.

    `dims_tuple` is the shape as a tuple of int and None (an unknown size), or None for an unknown
    rank; weft itself works on these tuples. `Dimension` objects are made when a program asks.

    Two shapes are equal if every size is known and the same. Unknown sizes are not equal to each
    other, so a partly known shape equals itself only.
    """

    __slots__ = ("dims_tuple", "_dims_list", "__weakref__")

    dims_tuple: tuple[int | None, ...] | None
    _dims_list: list[Dimension] | None

    def __init__(self, dims: Any):
        self._dims_list = None
        if dims is None:
            self.dims_tuple = None
        elif isinstance(dims, TensorShape):
            self.dims_tuple = dims.dims_tuple
            if dims.dims_tuple is not None and None in dims.dims_tuple:
                self._dims_list = dims.dims  # a copy equals its original
        elif isinstance(dims, (str, bytes)):
            raise TypeError(
                "A string has ambiguous TensorShape, please wrap in a list or convert to an int: "
                f"{dims!r}"
            )
        elif _is_shape_proto(dims):
            self.dims_tuple = _tuple_of_proto(dims)
        else:
            try:
                sizes = iter(dims)
            except TypeError:
                self.dims_tuple = (as_size(dims),)
            else:
                self.dims_tuple = tuple([as_size(size) for size in sizes])

    @classmethod
    def from_tuple(cls, dims: tuple[int | None, ...] | None) -> "TensorShape":
        """Returns the shape of a tuple of int and None (or None), which it does not check."""
        shape = object.__new__(cls)
        shape.dims_tuple = dims
        shape._dims_list = None
        return shape

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None if it is unknown."""
        return None if self.dims_tuple is None else len(self.dims_tuple)

    ndims = rank

    @property
    def _v2_behavior(self):
        """Whether the elements of a shape are ints and Nones; tests of programs ask for it."""
        return _v2_behaviour

    @property
    def dims(self) -> list[Dimension] | None:
        """The shape as a list of `Dimension`, or None if the rank is unknown."""
        if self._dims_list is None and self.dims_tuple is not None:
            self._dims_list = [Dimension(size) for size in self.dims_tuple]
        return self._dims_list

    _dims = dims

    def as_list(self) -> list[int | Any]:  # or None, where a size is not known
        """Returns the shape as a list of int and None; `ValueError` if the rank is unknown."""
        if self.dims_tuple is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.dims_tuple)

    def as_proto(self) -> Any:
        """Returns the shape as a `TensorShapeProto`."""
        from weft import proto

        if self.dims_tuple is None:
            return proto.TensorShapeProto(unknown_rank=True)
        message = proto.TensorShapeProto()
        for size in self.dims_tuple:
            message.dim.add(size=-1 if size is None else size)
        return message

    def num_elements(self) -> int | None:
        """Returns the number of elements, or None if the shape is not fully known."""
        if self.dims_tuple is None or None in self.dims_tuple:
            return None
        return math.prod(size for size in self.dims_tuple if size is not None)

    def is_fully_defined(self) -> bool:
        """Whether the rank and every size is known."""
        return self.dims_tuple is not None and None not in self.dims_tuple

    def assert_is_fully_defined(self) -> None:
        """Raises `ValueError` if something of the shape is unknown."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def __len__(self):
        if self.dims_tuple is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self.dims_tuple)

    def __bool__(self):
        return self.dims_tuple is not None

    __nonzero__ = __bool__

    def __iter__(self):
        if self.dims_tuple is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims_tuple if _v2_behaviour else self.dims)

    def __getitem__(self, key):
        if isinstance(key, slice):
            return TensorShape.from_tuple(self._slice(key))
        if self.dims_tuple is None:
            return None if _v2_behaviour else Dimension(None)
        return self.dims_tuple[key] if _v2_behaviour else self.dims[key]

    def _slice(self, key):
        if self.dims_tuple is not None:
            return self.dims_tuple[key]
        if key.step is not None:
            raise ValueError("Steps are not yet handled")
        start = 0 if key.start is None else key.start
        if key.stop is None or start < 0 or key.stop < 0:
            return None
        return (None,) * (key.stop - start)

    def concatenate(self, other: Any) -> "TensorShape":
        """Returns the dimensions of `self` and then those of `other`."""
        other = as_shape(other)
        if self.dims_tuple is None or other.dims_tuple is None:
            return TensorShape.from_tuple(None)
        return TensorShape.from_tuple(self.dims_tuple + other.dims_tuple)

    __add__ = __concat__ = concatenate

    def __radd__(self, other):
        return as_shape(other).concatenate(self)

    def merge_with(self, other: Any) -> "TensorShape":
        """Returns what the two shapes say together; `ValueError` if they contradict each other."""
        other = as_shape(other)
        if self.dims_tuple is None:
            return other
        if not _compatible(self.dims_tuple, other.dims_tuple):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if other.dims_tuple is None:
            return self
        pairs = zip(self.dims_tuple, other.dims_tuple, strict=True)
        return TensorShape.from_tuple(tuple([y if x is None else x for x, y in pairs]))

    def most_specific_compatible_shape(self, other: Any) -> "TensorShape":
        """Returns the shape that keeps only what `self` and `other` agree in."""
        mine, others = self.dims_tuple, as_shape(other).dims_tuple
        if mine is None or others is None or len(mine) != len(others):
            return TensorShape.from_tuple(None)
        pairs = zip(mine, others, strict=True)
        return TensorShape.from_tuple(tuple([x if x == y else None for x, y in pairs]))

    def is_compatible_with(self, other: Any) -> bool:
        """Whether some fully known shape fits both."""
        return _compatible(self.dims_tuple, as_shape(other).dims_tuple)

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises `ValueError` if no shape fits both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_same_rank(self, other: Any) -> None:
        """Raises `ValueError` if both ranks are known and differ."""
        other = as_shape(other)
        if None not in (self.rank, other.rank) and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        """Raises `ValueError` if the rank is known and is not `rank`."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> "TensorShape":
        """Returns the shape with the given rank; `ValueError` if it has another."""
        self.assert_has_rank(rank)
        return unknown_shape(rank) if self.dims_tuple is None else self

    def with_rank_at_least(self, rank: int) -> "TensorShape":
        """Returns the shape; `ValueError` if its rank is known to be smaller than `rank`."""
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> "TensorShape":
        """Returns the shape; `ValueError` if its rank is known to be greater than `rank`."""
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def _equals(self, other):
        mine = self.dims_tuple
        if self is other or mine is None:
            return mine is other.dims_tuple
        if None in mine:
            return self._dims_list is not None and self._dims_list is other._dims_list
        return mine == other.dims_tuple

    def __eq__(self, other):
        try:
            return self._equals(as_shape(other))
        except TypeError:
            return NotImplemented

    def __ne__(self, other):
        try:
            other = as_shape(other)
        except TypeError:
            return NotImplemented
        if self.dims_tuple is None or other.dims_tuple is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return not self._equals(other)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self):
        if self.dims_tuple is None:
            return "<unknown>"
        unknown = "None" if _v2_behaviour else "?"
        sizes = [unknown if size is None else str(size) for size in self.dims_tuple]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __repr__(self):
        if self.dims_tuple is None:
            return "TensorShape(None)"
        return f"TensorShape({list(self.dims_tuple) if _v2_behaviour else self.dims})"

    def __reduce__(self):
        return TensorShape, (self.dims,)


def _compatible(x: tuple | None, y: tuple | None) -> bool:
    if x is None or y is None:
        return True
    return len(x) == len(y) and all(
        a is None or b is None or a == b for a, b in zip(x, y, strict=True)
    )


def _is_shape_proto(value):
    # By name, so that protobuf is not imported to find out that a list is not a message.
    descriptor = getattr(value, "DESCRIPTOR", None)
    return getattr(descriptor, "full_name", None) == "tensorflow.TensorShapeProto"


def _tuple_of_proto(message):
    if message.unknown_rank:
        return None
    return tuple([None if dim.size == -1 else as_size(dim.size) for dim in message.dim])


def as_shape(shape: Any) -> TensorShape:
    """Returns the `TensorShape` of a list of sizes, one size, a `TensorShapeProto` or None."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank: int | None = None, **kwargs: Any) -> TensorShape:
    """Returns the shape of which at most the rank is known."""
    if rank is None and "ndims" in kwargs:
        rank = kwargs.pop("ndims")
    if kwargs:
        raise TypeError(f"Unknown argument: {kwargs}")
    return TensorShape.from_tuple(None if rank is None else (None,) * int(rank))


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Returns `shape.dims[index]`, or an unknown dimension if the rank of `shape` is unknown."""
    if not isinstance(shape, TensorShape):
        raise TypeError(
            f"dimension_at_index: shape must be a TensorShape, not {type(shape).__name__} "
            f"({shape!r}). Pass tf.TensorShape(shape)."
        )
    return Dimension(None) if shape.dims is None else shape.dims[index]
