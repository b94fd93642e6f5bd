"""Checks of ranks and shapes: as the graph is built where they are known, else as it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.checks.values import assert_op, no_op, shown_name
from weft.framework import context, dtypes
from weft.framework.constant_value import constant_value
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw


def _tensor(x: Any) -> Any:
    return x if hasattr(x, "dense_shape") else convert_to_tensor(x, name="x")


def _rank_of(x: Any) -> Any:
    if hasattr(x, "dense_shape"):
        return raw.Size(x.dense_shape)
    return raw.Rank(x)


def _scalar_rank(rank: Any) -> Any:
    rank = convert_to_tensor(rank, name="rank")
    if not rank.dtype.is_integer:
        raise TypeError(f"Rank must be an integer. Received: {rank.dtype.name} {rank}")
    if rank._dims is not None and rank._dims != ():
        raise ValueError("Rank must be a scalar.")
    return rank


def _check_rank(
    x: Any,
    ranks: list[Any],
    static: Callable[[int, list[int]], bool],
    dynamic: Callable[[Any, list[Any]], Any],
    describe: Callable[[Any], str],
    data: Any,
    summarize: Any,
) -> Any:
    ranks = [_scalar_rank(r) for r in ranks]
    known = [k for k in map(constant_value, ranks) if k is not None]
    dims = x.get_shape().ndims
    if len(known) == len(ranks):
        if any(np.ndim(k) for k in known):
            raise ValueError("Rank must be a scalar.")
        if dims is not None:
            numbers = [int(k) for k in known]
            if not static(dims, numbers):
                raise ValueError(
                    describe(numbers) + f"  Received rank {dims}, shape {x.get_shape()}"
                )
            return None if context.executing_eagerly() else no_op("static_checks_determined_all_ok")
    condition = dynamic(_rank_of(x), [raw.Cast(r, DstT=dtypes.int32) for r in ranks])
    # A rank that is fed may turn out to be no scalar.
    scalars = []
    for r in ranks:
        if r._dims is None:
            scalars.append(
                assert_op(raw.Equal(raw.Rank(r), 0), ["Rank must be a scalar."], summarize)
            )
    from weft.framework.graph import control_dependencies

    with control_dependencies(scalars):
        return assert_op(
            condition,
            data + [raw.Shape(x) if not hasattr(x, "dense_shape") else x.dense_shape],
            summarize,
        )


@export("assert_rank", "debugging.assert_rank")
def assert_rank(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Checks that `x` has a rank."""
    message = message or ""
    with name_scope(name, "assert_rank", [x] if data is None else [x, *data]):
        x = _tensor(x)
        label = shown_name(x) if hasattr(x, "name") else ""
        return _check_rank(
            x,
            [rank],
            lambda dims, r: dims == r[0],
            lambda dims, r: raw.Equal(dims, r[0]),
            lambda r: f"{message}.  Tensor {label} must have rank {r[0]}.",
            data or [message, f"Tensor {label} must have rank", rank, "Received shape: "],
            summarize,
        )


@export("assert_rank_at_least", "debugging.assert_rank_at_least")
def assert_rank_at_least(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Checks that `x` has a rank, or a higher one."""
    message = message or ""
    with name_scope(name, "assert_rank_at_least", [x] if data is None else [x, *data]):
        x = _tensor(x)
        label = shown_name(x) if hasattr(x, "name") else ""
        return _check_rank(
            x,
            [rank],
            lambda dims, r: dims >= r[0],
            lambda dims, r: raw.GreaterEqual(dims, r[0]),
            lambda r: f"{message}.  Tensor {label} must have rank at least {r[0]}.",
            data or [message, f"Tensor {label} must have rank at least", rank, "Received shape: "],
            summarize,
        )


@export("assert_rank_in", "debugging.assert_rank_in")
def assert_rank_in(
    x: Any,
    ranks: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Checks that the rank of `x` is one of several."""
    message = message or ""
    with name_scope(name, "assert_rank_in", [x, *ranks] if data is None else [x, *ranks, *data]):
        x = _tensor(x)
        label = shown_name(x) if hasattr(x, "name") else ""

        def dynamic(dims: Any, wanted: list[Any]) -> Any:
            found = raw.Equal(dims, wanted[0])
            for r in wanted[1:]:
                found = raw.LogicalOr(found, raw.Equal(dims, r))
            return found

        return _check_rank(
            x,
            list(ranks),
            lambda dims, r: dims in r,
            dynamic,
            lambda r: f"{message}.  Tensor {label} must have rank in {tuple(r)}.",
            data or [message, f"Tensor {label} must have rank in", *ranks, "Received shape: "],
            summarize,
        )


@export("debugging.assert_shapes")
def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Checks the shapes of tensors, given as sizes, as symbols that stand for one size each wherever they occur,
    or as None or "." for any size; `...` or "*" in front stands for any number of sizes."""
    if isinstance(shapes, dict):
        shapes = list(shapes.items())
    message = message or ""
    with name_scope(name, "assert_shapes", [shapes, data]):
        checks: list[Any] = []
        sizes: dict[str, tuple[Any, str]] = {}  # symbol -> (size, where it was met)
        for x, wanted in shapes:
            x = _tensor(x)
            label = shown_name(x) if hasattr(x, "name") else ""
            symbols = _symbols(wanted, label)
            open_front = bool(symbols) and symbols[0] in ("*", ...)
            symbols = symbols[1:] if open_front else symbols
            check = assert_rank_at_least if open_front else assert_rank
            checks.append(
                check(
                    x, len(symbols), data, summarize, f"{message}.  Shape of {label} as specified"
                )
                if not (len(symbols) == 0 and open_front)
                else None
            )
            actual = x.get_shape()
            for i, symbol in enumerate(symbols):
                at = i - len(symbols) if open_front else i
                if symbol is None or symbol == ".":
                    continue
                size = None
                if actual.ndims is not None:
                    size = actual.as_list()[at]
                if isinstance(symbol, (int, np.integer)) or str(symbol).isdigit():
                    wanted_size, origin = int(symbol), "Specified explicitly"
                else:
                    key = str(symbol)
                    if key not in sizes:
                        known = size if size is not None else _size_at(x, at)
                        sizes[key] = (known, f"Specified by tensor {label} dimension {at}")
                        continue
                    wanted_size, origin = sizes[key]
                if isinstance(wanted_size, int) and size is not None:
                    if wanted_size != size:
                        raise ValueError(
                            f"{message}.  {origin}.  Tensor {label} dimension {at} must have size {wanted_size}.  "
                            f"Received size {size}, shape {actual}"
                        )
                    continue
                found = size if size is not None else _size_at(x, at)
                checks.append(
                    assert_op(
                        raw.Equal(
                            convert_to_tensor(found, dtype=dtypes.int32),
                            convert_to_tensor(wanted_size, dtype=dtypes.int32),
                        ),
                        data
                        or [
                            message,
                            f"{origin}.  Tensor {label} dimension",
                            at,
                            "must have size",
                            wanted_size,
                            "Received shape: ",
                            raw.Shape(x),
                        ],
                        summarize,
                    )
                )
        if context.executing_eagerly():
            return None
        from weft.framework.graph import control_dependencies

        with control_dependencies([c for c in checks if c is not None]):
            return no_op()


def _size_at(x: Any, at: int) -> Any:
    shape = raw.Shape(x)
    if at < 0:
        at = raw.Add(raw.Rank(x), at)
        return raw.Reshape(raw.GatherV2(shape, at, 0), [])
    return raw.StridedSlice(shape, [at], [at + 1], [1], shrink_axis_mask=1)


def _symbols(wanted: Any, label: str) -> list[Any]:
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool):
        wanted = [wanted]
    if not isinstance(wanted, (str, tuple, list, np.ndarray)) and not hasattr(wanted, "as_list"):
        raise ValueError(
            f"Tensor {label} specified shape must be a string, list, tuple or array, not {wanted!r}"
        )
    symbols = wanted.as_list() if hasattr(wanted, "as_list") else list(wanted)
    for i, symbol in enumerate(symbols):
        if (symbol is ... or symbol == "*") and i:
            raise ValueError(
                f"Tensor {label} specified shape index {i}.  Symbol `...` or `*` for a variable number of "
                "unspecified dimensions is only allowed as the first entry"
            )
    return symbols
