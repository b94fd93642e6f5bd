"""The public classes of conditional accumulators."""

from __future__ import annotations

from typing import Any

from weft.framework import context, dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.tensor_shape import TensorShape, unknown_shape
from weft.ops.by_name import raw
from weft.ops.math.cast import cast


def _step(value: Any) -> Any:
    return cast(convert_to_tensor(value), dtypes.int64)


@export("ConditionalAccumulatorBase")
class ConditionalAccumulatorBase:
    """Gradients of several workers, to be taken together once there are enough."""

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Any):
        self._dtype = dtype
        self._shape = unknown_shape() if shape is None else TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        if context.executing_eagerly():
            self._name = context.get_default_graph()._scopes.name.rstrip("/")
        else:
            self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Any:
        """The handle of the accumulator."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the accumulator."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of the gradients."""
        return self._dtype

    def _call(self, kind: str, *args: Any, **named: Any) -> Any:
        prefix = "Resource" if self._accumulator_ref.dtype == dtypes.resource else ""
        return getattr(raw, prefix + kind)(self._accumulator_ref, *args, **named)

    def num_accumulated(self, name: str | None = None) -> Any:
        """Returns how many gradients were added since the last were taken."""
        name = name or f"{self._name}_NumAccumulated"
        return self._call("AccumulatorNumAccumulated", name=name)

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Any:
        """Returns an operation that sets the step; gradients of earlier steps are dropped from then on."""
        return self._call("AccumulatorSetGlobalStep", _step(new_global_step), name=name)


@export("ConditionalAccumulator")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of dense gradients."""

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ):
        accumulator_ref = raw.ResourceConditionalAccumulator(
            dtype=dtype,
            shape=shape,
            shared_name=shared_name or "",
            name=name,
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, accumulator_ref)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Any:
        """Returns an operation that adds a gradient; one of an earlier step than the accumulator's is dropped."""
        grad = convert_to_tensor(grad, self._dtype)
        grad.get_shape().assert_is_compatible_with(self._shape)
        return self._call("AccumulatorApplyGradient", _step(local_step), grad, name=name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Returns the mean or sum of the gradients; the step waits for `num_required` of them."""
        taken = self._call("AccumulatorTakeGradient", num_required, dtype=self._dtype, name=name)
        if not context.executing_eagerly():
            taken.set_shape(self._shape)
        return taken


@export("sparse.SparseConditionalAccumulator", "SparseConditionalAccumulator")
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of sparse gradients: rows with their indices."""

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ):
        accumulator_ref = raw.SparseConditionalAccumulator(
            dtype=dtype,
            shape=shape,
            shared_name=shared_name or "",
            name=name,
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, accumulator_ref)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Any:
        """Returns an operation that adds a gradient that is IndexedSlices."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Any:
        """Returns an operation that adds rows; those of an earlier step than the accumulator's are dropped."""
        shape = [] if grad_shape is None else grad_shape
        return raw.SparseAccumulatorApplyGradient(
            self._accumulator_ref,
            _step(local_step),
            cast(grad_indices, dtypes.int64),
            grad_values,
            cast(shape, dtypes.int64),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Returns indices, values and shape of the gradients' mean or sum; the step waits for them."""
        return raw.SparseAccumulatorTakeGradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """Returns the gradients' mean or sum as IndexedSlices; the step waits for them."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(values=taken.values, indices=taken.indices, dense_shape=taken.shape)
