"""The vocabulary of shape rules. A shape is a tuple of sizes, `None` for an unknown one; a shape of unknown
rank is `None`. Rules run twice: on the static shapes as the graph is built, and on the actual ones before a
kernel whose static shapes were partial, so that a requirement is stated once."""

from __future__ import annotations

from collections.abc import Sequence

Dims = tuple[int | None, ...]  # of known rank
Shape = Dims | None


class ShapeError(ValueError):
    """A shape that an op cannot take."""


def fail(message: str, *shapes: Shape) -> None:
    """Raises a ShapeError that ends with the shapes it is about."""
    tail = f" ({', '.join(map(text, shapes))})" if shapes else ""
    raise ShapeError(message + tail)


def text(shape: Shape) -> str:
    if shape is None:
        return "<unknown>"
    return "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"


def unknown(rank: int | None = None) -> Shape:
    return None if rank is None else (None,) * rank


def is_full(shape: Shape) -> bool:
    return shape is not None and None not in shape


def _ranks(wanted: str, shape: tuple, name: str) -> str:
    """The message of a wrong rank: TensorFlow's, after the name of the input."""
    return f"{name}: " * bool(name) + f"Shape must be {wanted} but is rank {len(shape)}"


def rank(shape: Shape, wanted: int, name: str = "") -> Dims:
    """The shape, which must have exactly this rank."""
    if shape is None:
        return (None,) * wanted
    if len(shape) != wanted:
        raise ShapeError(_ranks(f"rank {wanted}", shape, name))
    return shape


def rank_at_least(shape: Shape, wanted: int, name: str = "") -> Shape:
    if shape is not None and len(shape) < wanted:
        raise ShapeError(_ranks(f"at least rank {wanted}", shape, name))
    return shape


def rank_at_most(shape: Shape, wanted: int, name: str = "") -> Shape:
    if shape is not None and len(shape) > wanted:
        raise ShapeError(_ranks(f"at most rank {wanted}", shape, name))
    return shape


def merge_dim(a: int | None, b: int | None, why: str = "Dimensions must be equal") -> int | None:
    if a is None:
        return b
    if b is None or a == b:
        return a
    raise ShapeError(f"{why}, but are {a} and {b}")


def merge(a: Shape, b: Shape, why: str = "") -> Shape:
    """What is known when both describe the same tensor; `why` begins the message of two that do not."""
    if a is None:
        return b
    if b is None or a == b:
        return a
    if len(a) != len(b):
        raise ShapeError(
            f"{why}: " * bool(why) + f"Shapes must be equal rank, but are {len(a)} and {len(b)}"
        )
    for i, (x, y) in enumerate(zip(a, b)):
        if x is not None and y is not None and x != y:
            raise ShapeError(
                f"{why}: "
                * bool(why)
                + f"Dimension {i} in both shapes must be equal, but are {x} and {y}. "
                f"Shapes are {text(a)} and {text(b)}."
            )
    return tuple(y if x is None else x for x, y in zip(a, b))


def merge_all(shapes: Sequence[Shape], why: str = "") -> Shape:
    merged: Shape = None
    for shape in shapes:
        merged = merge(merged, shape, why)
    return merged


def compatible(a: Shape, b: Shape) -> bool:
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b))


def relax(a: Shape, b: Shape) -> Shape:
    """The most specific shape that both fit."""
    if a == b:
        return a
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b))


def broadcast(a: Shape, b: Shape) -> Shape:
    """The shape of an elementwise operation with NumPy's broadcasting."""
    if a == b and (a is None or None not in a):
        return a
    if a is None or b is None:
        return None
    n = max(len(a), len(b))
    out = []
    for x, y in zip((1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b):
        if x == y:
            out.append(x)
        elif x == 1:
            out.append(y)
        elif y == 1:
            out.append(x)
        elif x is None:
            out.append(y)
        elif y is None:
            out.append(x)
        else:
            raise ShapeError(
                f"Incompatible shapes: {text(a)} vs. {text(b)}: Dimensions must be equal, "
                f"but are {x} and {y}"
            )
    return tuple(out)


def concatenate(a: Shape, b: Shape) -> Shape:
    return None if a is None or b is None else a + b


def num_elements(shape: Shape) -> int | None:
    if shape is None:
        return None
    n = 1
    for d in shape:
        if d == 0:
            return 0
    for d in shape:
        if d is None:
            return None
        n *= d
    return n


def axis(index: int, rank_: int, name: str = "axis") -> int:
    """The axis as a number from 0; a negative one counts from the end."""
    if not -rank_ <= index < rank_:
        raise ShapeError(f"{name} {index} is out of range [{-rank_}, {rank_})")
    return index + rank_ if index < 0 else index


def scalar(shape: Shape, name: str = "") -> Dims:
    return rank(shape, 0, name)


def vector(shape: Shape, name: str = "") -> Dims:
    return rank(shape, 1, name)


# Ready-made rules for ops whose outputs look like an input.


def same(*shapes: Shape) -> Shape:
    """Outputs have the shape of the first input."""
    return shapes[0]


def broadcasting(a: Shape, b: Shape) -> Shape:
    return broadcast(a, b)


def scalars(*shapes: Shape) -> Shape:
    return ()
