"""What functions on images require of them."""

from __future__ import annotations

from typing import Any

from weft.framework import context
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import find
from weft.framework.graph import control_dependencies
from weft.ops.by_name import raw


def with_checks(checks: list[Any], tensor: Any) -> Any:
    """The tensor, once the checks have passed."""
    checks = [c for c in checks if c is not None]
    if not checks or context.executing_eagerly():
        return tensor
    with control_dependencies(checks):
        return raw.Identity(tensor)


def as_image(image: Any, name: str = "image") -> Any:
    """The image as a tensor, of rank 3 or more, none of whose sizes is 0."""
    image = convert_to_tensor(image, name=name)
    dims = image._dims
    if dims is not None and len(dims) < 3:
        raise ValueError(f"'image' (shape {image.shape}) must be at least three-dimensional.")
    if dims is not None and any(d == 0 for d in dims):
        raise ValueError(
            f"inner 3 dims of 'image.shape' must be > 0: {image.shape}; all dims of 'image.shape' must be > 0."
        )
    if dims is not None and None not in dims[-3:]:
        return image
    assert_positive = find("", "assert_positive", "tf")
    inner = raw.StridedSlice(raw.Shape(image), [-3], [0], [1], end_mask=1)
    return with_checks(
        [
            assert_positive(inner, ["all dims of 'image.shape' must be > 0."]),
            find("", "assert_greater_equal", "tf")(
                raw.Rank(image), 3, message="'image' must be at least three-dimensional."
            ),
        ],
        image,
    )


def require(condition: Any, message: str) -> Any:
    """A check: done at once where the condition is a Python value, else an op that fails the step."""
    if isinstance(condition, (bool, int)):
        if not condition:
            raise ValueError(message)
        return None
    return find("", "Assert", "tf")(condition, [message])


def sizes(image: Any, ndims: int) -> list[Any]:
    """The sizes of an image: numbers where they are known, else scalar tensors."""
    dims = image._dims
    if dims is None:
        return list(raw.Unpack(raw.Shape(image), num=ndims, axis=0))
    if None not in dims:
        return list(dims)
    actual = raw.Unpack(raw.Shape(image), num=ndims, axis=0)
    return [a if d is None else d for d, a in zip(dims, actual)]


def known(value: Any) -> int | None:
    """A size as a number where it is one."""
    return None if hasattr(value, "_dims") else int(value)


def batched(image: Any) -> tuple[Any, bool]:
    """The image as a batch of images, and whether it was one; an image of unknown rank counts as one image."""
    dims = image._dims
    if dims is None:
        image = raw.ExpandDims(image, 0)
        image.set_shape([None] * 4)
        return image, False
    if len(dims) == 3:
        return raw.ExpandDims(image, 0), False
    if len(dims) != 4:
        raise ValueError("'image' must have either 3 or 4 dimensions.")
    return image, True
