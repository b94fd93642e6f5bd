"""How losses are weighted and reduced to one number."""

from __future__ import annotations

from typing import Any

from weft.framework import context, conversion, dtypes
from weft.framework.export import export
from weft.framework.graph import control_dependencies
from weft.framework.graph_keys import GraphKeys
from weft.framework.scopes import name_scope
from weft.losses.collected import add_loss
from weft.losses.weights import assert_broadcastable, broadcast_weights
from weft.ops.array import shape_of
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.division import div_no_nan
from weft.ops.math.reduce_functions import reduce_sum


@export("losses.Reduction")
class Reduction:
    """How weighted losses become a loss: not at all, by their sum, or by that divided by what the name says."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns all reductions."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raises ValueError for what is no reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def count_of(losses: Any) -> Any:
    """The number of losses."""
    with name_scope(None, "num_elements", [losses]) as scope:
        return cast(shape_of.size(losses, name=scope), losses.dtype)


def count_with_weight(losses: Any, weights: Any, per_row: bool = False) -> Any:
    """The number of losses whose weight is not 0; of each row, which stay as dimensions of size 1."""
    with name_scope(None, "num_present", (losses, weights)) as scope:
        present = cast(raw.NotEqual(weights, weights.dtype.np.type(0)), dtypes.float32)
        present = broadcast_weights(present, losses)
        if not per_row:
            return reduce_sum(present, name=scope)
        return reduce_sum(present, all_but_first(present), keepdims=True, name=scope)


def all_but_first(x: Any) -> Any:
    """All axes but the first."""
    rank = x._rank()
    return raw.Range(1, raw.Rank(x) if rank is None else rank, 1)


@export("losses.compute_weighted_loss")
def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """Returns the losses times their weights, reduced, and adds it to a collection."""
    Reduction.validate(reduction)
    # Strategies and optimizers ask how losses of replicas become one.
    context.get_default_graph()._extras["last loss reduction"] = reduction
    with name_scope(scope, "weighted_loss", (losses, weights)):
        check = assert_broadcastable(weights, losses)
        with control_dependencies([] if check is None else [check]):
            losses = conversion.convert_to_tensor(losses)
            dtype = losses.dtype
            losses, weights = cast(losses, dtypes.float32), cast(weights, dtypes.float32)
            loss = raw.Mul(losses, weights)
            if reduction != Reduction.NONE:
                loss = reduce_sum(loss)
                divisor = _divisor(losses, weights, reduction)
                if divisor is not None:
                    loss = div_no_nan(loss, divisor, name="value")
            loss = cast(loss, dtype)
            add_loss(loss, loss_collection)
            return loss


def _divisor(losses: Any, weights: Any, reduction: str) -> Any:
    if reduction == Reduction.MEAN:
        return reduce_sum(raw.Mul(raw.OnesLike(losses), weights))
    if reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
        return count_with_weight(losses, weights)
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return count_of(losses)
    return None
