"""Estimators and optimizers made of others."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.estimator.estimator import Estimator
from weft.estimator.export_outputs import PredictOutput
from weft.estimator.spec import EstimatorSpec
from weft.framework.export import export
from weft.framework.sparse_tensor import SparseTensor
from weft.train.optimizer import Optimizer


@export("contrib.estimator.clip_gradients_by_norm")
def clip_gradients_by_norm(optimizer: Optimizer, clip_norm: float) -> Optimizer:
    """An optimizer whose gradients together are no longer than a norm."""
    return _ClippedByNorm(optimizer, clip_norm)


class _ClippedByNorm(Optimizer):
    def __init__(self, optimizer: Optimizer, clip_norm: float):
        super().__init__(False, "ClipByNorm" + optimizer.get_name())
        self._optimizer, self._clip_norm = optimizer, clip_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """As the wrapped optimizer's."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """As the wrapped optimizer's, of shorter gradients."""
        gradients, variables = zip(*grads_and_vars, strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, self._clip_norm)
        pairs = list(zip(clipped, variables, strict=True))
        return self._optimizer.apply_gradients(pairs, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """As the wrapped optimizer's."""
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """As the wrapped optimizer's."""
        return self._optimizer.get_slot_names(*args, **kwargs)


@export("contrib.estimator.forward_features")
def forward_features(
    estimator: Estimator, keys: Any = None, sparse_default_values: dict[str, Any] | None = None
) -> Estimator:
    """An estimator whose predictions have features too, such as the keys of examples; by default all of them.

    Features that are sparse become dense where `sparse_default_values` says with which value.
    """
    wanted = [keys] if isinstance(keys, str) else keys
    if wanted is not None and not isinstance(wanted, (list, tuple)):
        raise TypeError(f"keys should be either a string or a list of strings. Given: {type(keys)}")
    for key in wanted or ():
        if not isinstance(key, str):
            raise TypeError(
                f"All items in the given keys list should be a string. There exist an item with type: {type(key)}"
            )

    def dense(key: str, feature: Any) -> Any:
        if key in (sparse_default_values or {}):
            if not isinstance(feature, SparseTensor):
                raise ValueError(f"Feature ({key}) is expected to be a `SparseTensor`.")
            return tf.sparse.to_dense(feature, default_value=sparse_default_values[key])  # type: ignore[index]
        if isinstance(feature, SparseTensor):
            raise ValueError(
                f"Feature ({key}) should be a Tensor. Please use `keys` argument of forward_features to filter "
                "unwanted features, or add key to argument `sparse_default_values`."
            )
        return tf.convert_to_tensor(feature)

    def new_model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if not isinstance(spec.predictions, dict):
            raise ValueError(
                f"Predictions should be a dict to be able to forward features. Given: {type(spec.predictions)}"
            )
        forwarded = {}
        for key in features if wanted is None else wanted:
            if key not in features:
                raise ValueError(
                    f'keys should be exist in features. Key "{key}" is not in features dict. features dict has '
                    f"following keys: {features.keys()}."
                )
            if key in spec.predictions:
                raise ValueError(
                    f"Cannot forward feature key ({key}). Since it does exist in predictions. Existing prediction "
                    f"keys: {spec.predictions.keys()}."
                )
            forwarded[key] = dense(key, features[key])
        outputs = spec.export_outputs
        if outputs:
            outputs = {
                name: PredictOutput({**output.outputs, **forwarded})
                if name in ("predict", "serving_default") and isinstance(output, PredictOutput)
                else output
                for name, output in outputs.items()
            }
        predictions = {**spec.predictions, **forwarded}
        return spec._replace(predictions=predictions, export_outputs=outputs)

    return Estimator(model_fn=new_model_fn, model_dir=estimator.model_dir, config=estimator.config)
