"""`tf.einsum` and the op of that name.

The function takes an equation apart into transposes and matrix products, two operands at a time, as
TensorFlow 1 does; the op leaves the equation whole.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, is_full, merge_dim
from weft.ops.by_name import raw
from weft.ops.math.matmul import matmul
from weft.ops.math.reduce_functions import reduce_sum

_EQUATION = re.compile(r"^((?:[a-zA-Z.]*)(?:,[a-zA-Z.]*)*)(->[a-zA-Z.]*)?$")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _int32(values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def parse(equation: str, ranks: list[int | None]) -> tuple[list[str], str]:
    """The labels of each input's axes and those of the output; an ellipsis becomes letters of its own."""
    match = _EQUATION.match(equation.replace(" ", ""))
    if match is None:
        raise ValueError(f"Indices have incorrect format: {equation}")
    inputs = match.group(1).split(",")
    output = match.group(2)[2:] if match.group(2) else None
    if len(inputs) != len(ranks):
        raise ValueError(
            f'Got {len(ranks)} arguments for equation "{equation}", expecting {len(inputs)}'
        )
    broadcast = ""
    if "..." in equation:
        unused = [c for c in _LETTERS if c not in equation]
        for i, (labels, rank) in enumerate(zip(inputs, ranks)):
            if "..." not in labels:
                continue
            parts = labels.split("...")
            if len(parts) != 2:
                raise ValueError("Unable to resolve ellipsis. Excess number found.")
            if rank is None:
                raise ValueError("Unable to statically infer ellipsis axes.")
            n = rank - sum(map(len, parts))
            if n < 0:
                raise ValueError("Ellipses lengths do not match.")
            if n > len(unused):
                raise ValueError("Unable to resolve ellipsis, too many distinct labels.")
            own = "".join(unused[len(unused) - n :])
            inputs[i] = labels.replace("...", own)
            broadcast = max(broadcast, own, key=len)
        if output is not None:
            output = output.replace("...", broadcast)
    if any("." in labels for labels in (*inputs, output or "")):
        raise ValueError('period "." found outside of ellipsis')
    if output is None:
        every = "".join(inputs)
        single = sorted(c for c in set(every) if every.count(c) == 1 and c not in broadcast)
        output = broadcast + "".join(single)
    return inputs, output


@export("einsum", "linalg.einsum")
def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Any:
    """Sums products of tensors over the axes whose labels the output lacks: `einsum("ij,jk->ik", a, b)`."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError("invalid keyword arguments for this function: " + ", ".join(sorted(kwargs)))
    with name_scope(name, "einsum", [*inputs]) as name:
        tensors = [conversion.convert_to_tensor(x, name="input") for x in inputs]
        ranks = [None if t.dims is None else len(t.dims) for t in tensors]
        labels, output = parse(equation, ranks)
        for i, (own, tensor, rank) in enumerate(zip(labels, tensors, ranks)):
            if rank is None:
                tensors[i] = raw.EnsureShape(tensor, shape=(None,) * len(own))
            elif rank != len(own):
                raise ValueError(
                    f"Tensor {tensor} has rank {rank}, but the equation {equation!r} gives it the axes "
                    f"{own!r}."
                )
            if len(set(own)) != len(own):
                if _is_trace(equation, labels):
                    return reduce_sum(raw.MatrixDiagPart(tensor), [-1])
                raise ValueError(f"Subscript not supported: an axis appears more than once: {own}")
        missing = [c for c in output if not any(c in own for own in labels)]
        if missing or len(set(output)) != len(output):
            raise ValueError(
                f"Invalid equation: {equation}: the output's axes must each be one of the inputs'."
            )
        _check_sizes(labels, tensors)
        return _contract(list(labels), tensors, output)


def _is_trace(equation: str, labels: list[str]) -> bool:
    """Whether the equation is a palindrome of pairs with no output, which TensorFlow takes for a trace."""
    own = labels[0]
    pairs = all(own.count(c) == 2 for c in own)
    return len(labels) == 1 and pairs and own == own[::-1] and "->" not in equation


def _check_sizes(labels: list[str], tensors: list[Any]) -> None:
    sizes: dict[str, int | None] = {}
    for own, tensor in zip(labels, tensors):
        for label, size in zip(own, tensor.dims or ()):
            if size == 1 and sizes.get(label) not in (None, 1):
                continue
            known = sizes.get(label)
            sizes[label] = (
                size
                if known in (None, 1)
                else merge_dim(known, size, f"Sizes of axis {label!r} differ")
            )


def _contract(labels: list[str], tensors: list[Any], output: str) -> Any:
    """Multiplies the tensors from left to right; an axis is summed as soon as nobody needs it any more."""

    def wanted_after(i: int) -> set[str]:
        return set(output).union(*labels[i:])

    current, own = _sum_out(tensors[0], labels[0], wanted_after(1))
    for i in range(1, len(tensors)):
        other, theirs = _sum_out(tensors[i], labels[i], wanted_after(i + 1) | set(own))
        current, own = _product(current, own, other, theirs, wanted_after(i + 1))
    current, own = _sum_out(current, own, set(output))
    order = [own.index(c) for c in output]
    return _transpose(current, order)


def _sum_out(tensor: Any, labels: str, wanted: set[str]) -> tuple[Any, str]:
    axes = [i for i, c in enumerate(labels) if c not in wanted]
    if not axes:
        return tensor, labels
    return reduce_sum(tensor, axes), "".join(c for c in labels if c in wanted)


def _transpose(tensor: Any, order: list[int]) -> Any:
    if order == list(range(len(order))):
        return tensor
    return raw.Transpose(tensor, _int32(order), name="transpose")


def _product(a: Any, of_a: str, b: Any, of_b: str, wanted: set[str]) -> tuple[Any, str]:
    """One batched matrix product: axes of both that stay are the batch, those that do not are contracted."""
    both = [c for c in of_a if c in of_b]
    batch = [c for c in both if c in wanted]
    summed = [c for c in both if c not in wanted]
    rows = [c for c in of_a if c not in of_b]
    columns = [c for c in of_b if c not in of_a]
    left = _transpose(a, [of_a.index(c) for c in batch + rows + summed])
    right = _transpose(b, [of_b.index(c) for c in batch + summed + columns])
    if not summed:
        # An outer product, elementwise over the batch, needs no matrices.
        left = _with_axes(left, len(batch) + len(rows), len(columns))
        right = _with_axes(right, len(batch), len(rows))
        return raw.Mul(left, right), "".join(batch + rows + columns)
    n = len(batch)
    ends_a, ends_b = (n, n + len(rows)), (n, n + len(summed))
    product = matmul(_folded(left, ends_a), _folded(right, ends_b))
    free = (
        _sizes(left, n, n + len(rows)),
        _sizes(right, n + len(summed), n + len(summed) + len(columns)),
    )
    shape = _joined([_batch_sizes(left, right, n), *free])
    result = product if len(rows) == len(columns) == 1 else raw.Reshape(product, shape)
    return result, "".join(batch + rows + columns)


def _with_axes(tensor: Any, position: int, count: int) -> Any:
    """Inserts axes of size 1."""
    if not count:
        return tensor
    dims = tensor.dims
    if is_full(dims):
        return raw.Reshape(tensor, _int32(dims[:position] + (1,) * count + dims[position:]))
    for _ in range(count):
        tensor = raw.ExpandDims(tensor, _int32(position))
    return tensor


def _folded(tensor: Any, ends: tuple[int, int]) -> Any:
    """The axes between the ends as one, and those behind as another: a batch of matrices."""
    n, middle = ends
    rank = len(tensor.dims)
    if middle - n == 1 and rank - middle == 1:
        return tensor
    parts = [_sizes(tensor, 0, n), _total(tensor, n, middle), _total(tensor, middle, rank)]
    return raw.Reshape(tensor, _joined(parts))


def _sizes(tensor: Any, start: int, stop: int) -> Any:
    """The sizes of some axes: a list where they are known, else a tensor."""
    dims = tensor.dims[start:stop]
    return list(dims) if is_full(dims) else raw.Shape(tensor)[start:stop]


def _batch_sizes(left: Any, right: Any, n: int) -> Any:
    a, b = _sizes(left, 0, n), _sizes(right, 0, n)
    if isinstance(a, list) and isinstance(b, list):
        return [max(x, y) if 0 not in (x, y) else 0 for x, y in zip(a, b)]
    if all(x is not None and x == y for x, y in zip(left.dims[:n], right.dims[:n])):
        return a
    both = [_int32(s) if isinstance(s, list) else s for s in (a, b)]
    return raw.BroadcastArgs(*both)


def _total(tensor: Any, start: int, stop: int) -> Any:
    sizes = _sizes(tensor, start, stop)
    if isinstance(sizes, list):
        return [int(np.prod(sizes, dtype=np.int64))]
    return raw.Reshape(raw.Prod(sizes, _int32([0])), _int32([1]))


def _joined(parts: list[Any]) -> Any:
    if all(isinstance(p, list) for p in parts):
        return _int32(sum(parts, []))
    # At most one size that is not known can be left to Reshape.
    unknown = [p for p in parts if not isinstance(p, list)]
    known: list[int] = sum([p for p in parts if isinstance(p, list)], [])
    if len(unknown) == 1 and unknown[0].dims == (1,) and 0 not in known:
        return _int32(sum([[-1] if p is unknown[0] else p for p in parts], []))
    tensors = [
        _int32(p) if isinstance(p, list) else p for p in parts if not isinstance(p, list) or p
    ]
    return tensors[0] if len(tensors) == 1 else raw.ConcatV2(tensors, _int32(0))


# -- the op


@op("Einsum", "inputs: N*T -> output: T", "equation: string; N: int >= 1; T: type")
def einsum_op(xp, inputs, *, equation):
    """Sums products of tensors over the axes whose labels the output lacks; a label that the output repeats
    makes a diagonal."""
    labels, output = parse(equation, [x.ndim for x in inputs])
    single = "".join(dict.fromkeys(output))
    if single == output:
        return xp.einsum(equation, *inputs)
    result = xp.einsum(",".join(labels) + "->" + single, *inputs)
    # Each axis goes to its first place; other places of its label are 0 off the diagonal.
    shape = tuple(result.shape[single.index(c)] for c in output)
    places = tuple(
        np.arange(n).reshape([-1 if c == d else 1 for d in single]) for n, c in zip(shape, output)
    )
    return xp.scatter(xp.zeros(shape, result.dtype), places, result)


@einsum_op.shape
def _(inputs, *, equation):
    terms = equation.split("->")[0].split(",")
    if any(s is None and "..." in term for s, term in zip(inputs, terms)):
        return None
    try:
        labels, output = parse(equation, [None if s is None else len(s) for s in inputs])
    except ValueError as e:
        raise ShapeError(str(e)) from None
    sizes: dict[str, int | None] = {}
    for own, shape in zip(labels, inputs):
        if shape is None:
            continue
        if len(own) != len(shape):
            raise ShapeError(
                f"Expected input of rank {len(own)} for {own!r} but got rank {len(shape)}"
            )
        for label, size in zip(own, shape):
            known = sizes.get(label)
            if known == 1 or size == 1 and known is not None:
                sizes[label] = size if known == 1 else known
            else:
                sizes[label] = merge_dim(known, size, f"Sizes of axis {label!r} differ")
    return tuple(sizes.get(c) for c in output)


@einsum_op.gradient
def _(op, grad):
    equation = op.get_attr("equation").decode()
    ranks = [None if t.dims is None else len(t.dims) for t in op.inputs]
    labels, output = parse(equation, ranks)
    grads = []
    for i, (own, x) in enumerate(zip(labels, op.inputs)):
        others = [(labels_, t) for j, (labels_, t) in enumerate(zip(labels, op.inputs)) if j != i]
        known = set(output).union(*[other for other, _ in others])
        lost = [c for c in own if c not in known]
        terms = [output, *[other for other, _ in others]]
        values = [grad, *[raw.Conj(t) if t.dtype.is_complex else t for _, t in others]]
        if lost:  # summed away by this input alone: its gradient is repeated along them
            axes = [own.index(c) for c in lost]
            sizes = raw.GatherV2(raw.Shape(x), _int32(axes), _int32(0))
            values.append(raw.Fill(sizes, np.ones((), x.dtype.base_dtype.np)))
            terms.append("".join(lost))
        part = einsum_op(values, equation=",".join(terms) + "->" + own)
        grads.append(part)
    return grads
