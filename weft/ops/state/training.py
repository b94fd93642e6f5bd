"""Makes the ops of an optimizer from one update rule: dense and sparse, on references and on resources.

A rule takes the values of the variable and its slots, or the rows of these that a sparse gradient has, and
gives new ones (None: as it was). It is written once for both tiers; XLA makes one pass of a dense update.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import errors
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import Shape, concatenate, merge, rank, rank_at_least, scalar, text
from weft.ops.state import indices as index_checks
from weft.ops.state.rows import update_rows

_GRADIENTS = ("grad", "delta")


def training_ops(
    kind: str,
    slots: str,
    dense: str,
    sparse: str = "",
    flag: str = "",
    forms: str = "Apply ResourceApply SparseApply ResourceSparseApply",
) -> Callable[[Callable], dict[str, OpDecl]]:
    """Declares `Apply{kind}` and its other forms. `dense` and `sparse` list the inputs after the slots, in
    order; `flag` is an attribute (`use_nesterov: bool = false`) that the rule takes by name."""

    def declare(rule: Callable) -> dict[str, OpDecl]:
        cells = ["var", *slots.split()]
        out = {}
        for form in forms.split():
            inputs = sparse if "Sparse" in form else dense
            if inputs:
                out[form] = _declare(form + kind, rule, cells, inputs.split(), flag)
        return out

    return declare


def _declare(name: str, rule: Callable, cells: list[str], inputs: list[str], flag: str) -> OpDecl:
    is_resource, is_sparse = name.startswith("Resource"), "indices" in inputs
    types = {"indices": "Tindices", "global_step": "int64"}
    args = [f"{c}: resource" if is_resource else f"ref {c}: T" for c in cells]
    args += [f"{i}: {types.get(i, 'T')}" for i in inputs]
    attrs = ["T: numbers"]
    if is_sparse:
        attrs.append("Tindices: index_types")
    attrs.append("use_locking: bool = false")
    if flag:
        attrs.append(flag)
    result = "" if is_resource else " -> ref out: T"
    run = _runner(rule, len(cells), cells, inputs, not is_resource)
    kernel = _with_flag(run, flag.partition(":")[0])
    kernel.__doc__ = rule.__doc__
    decl = op(name, ", ".join(args) + result, "; ".join(attrs), stateful=is_resource)(kernel)

    @decl.shape
    def _(*shapes, const):
        found = list(shapes)
        if is_resource:
            found[: len(cells)] = [const.handle(i) for i in range(len(cells))]
        shape = _check_shapes(cells, inputs, found)
        return None if is_resource else shape

    return decl


def _with_flag(run: Callable, flag: str) -> Callable:
    """The kernel; what attributes it wants is read from its signature."""
    if flag == "use_nesterov":
        return lambda ctx, *args, use_nesterov: run(ctx, args, {"use_nesterov": use_nesterov})
    if flag == "update_slots":
        return lambda ctx, *args, update_slots: run(ctx, args, {"update_slots": update_slots})
    return lambda ctx, *args: run(ctx, args, {})


def _runner(
    rule: Callable, n_cells: int, cell_names: list[str], inputs: list[str], gives_reference: bool
) -> Callable:
    gradient = next(i for i in inputs if i in _GRADIENTS)

    def run(ctx: Any, args: tuple, flags: dict[str, bool]) -> Any:
        cells = list(args[:n_cells])
        given = dict(zip(inputs, args[n_cells:]))
        grad = given.pop(gradient)
        indices = given.pop("indices", None)
        with ctx.lock:
            _check_same_shape(ctx, cells, cell_names)
            if indices is None:
                _check_dense(ctx.shape(cells[0]), grad.shape)
                _update(ctx, cells, lambda old: rule(ctx.xp, *old, grad=grad, **given, **flags))
            else:
                shape = ctx.shape(cells[0])
                _check_sparse(shape, indices.shape, grad.shape)
                index_checks.check_rows(ctx.xp, indices, shape[0])
                if indices.size:
                    update_rows(
                        ctx,
                        cells,
                        indices,
                        grad,
                        lambda rows, grad: rule(ctx.xp, *rows, grad=grad, **given, **flags),
                    )
        return cells[0] if gives_reference else None

    return run


def _update(ctx: Any, cells: list[Any], rule: Callable[[list[Any]], tuple]) -> None:
    """Gives the cells the values that a rule makes of those they have."""
    old = [ctx.read(c) for c in cells]
    if not (ctx.tracing and ctx.defers):
        for cell, value in zip(cells, rule(old)):
            if value is not None:
                ctx.write(cell, value)
        return
    ctx.settles = True
    try:
        new = [v if v is None else ctx.settled(v, o) for v, o in zip(rule(old), old)]
    finally:
        ctx.settles = False
    for cell, value in zip(cells, new):
        if value is not None:
            ctx.write(cell, value, masked=True)


# -- checks: of static shapes, and of what the variables hold ------------------------------------------------


def _check_shapes(cells: list[str], inputs: list[str], shapes: list[Shape]) -> Shape:
    whole = shapes[0]
    for name, shape in zip(cells[1:], shapes[1:]):
        whole = merge(whole, shape, f"var and {name} must have the same shape")
    given = dict(zip(inputs, shapes[len(cells) :]))
    gradient = given.pop("grad", None) if "grad" in given else given.pop("delta", None)
    if "indices" in given:
        indices = rank(given.pop("indices"), 1, "indices")
        rank_at_least(whole, 1, "var")
        rows = concatenate(indices, None if whole is None else whole[1:])
        merge(rows, gradient, "grad must have the rows of var that indices tells")
    else:
        whole = merge(whole, gradient, "var and grad must have the same shape")
    for name, shape in given.items():
        scalar(shape, name)
    return whole


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)


def _check_same_shape(ctx: Any, cells: list[Any], names: list[str]) -> None:
    shape = ctx.shape(cells[0])
    for name, cell in zip(names[1:], cells[1:]):
        if ctx.shape(cell) != shape:
            raise _invalid(
                f"var and {name} do not have the same shape{text(shape)} {text(ctx.shape(cell))}"
            )


def _check_dense(shape: tuple, grad: tuple) -> None:
    if tuple(grad) != tuple(shape):
        raise _invalid(f"var and grad do not have the same shape{text(shape)} {text(grad)}")


def _check_sparse(shape: tuple, indices: tuple, grad: tuple) -> None:
    if not shape:
        raise _invalid("var must be at least 1 dimensional")
    if len(indices) != 1:
        raise _invalid("indices must be one-dimensional")
    if tuple(grad) != (*indices, *shape[1:]):
        raise _invalid(
            f"grad must have the shape of the rows of var that indices tells: {text(grad)} for indices "
            f"{text(indices)} and var {text(shape)}"
        )
