"""The initializers of `tf.keras.initializers` that have defaults of their own, and the way from names to them."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.export import export
from weft.initializers import drawn, orthogonal_matrices, values
from weft.initializers.base import Initializer


@export("keras.initializers.TruncatedNormal", "keras.initializers.truncated_normal")
class TruncatedNormal(drawn.TruncatedNormal):
    """Draws from a normal distribution, deviation 0.05; values more than two deviations off are drawn again."""

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 0.05,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ):
        super().__init__(mean, stddev, seed, dtype)


@export(
    "keras.initializers.RandomUniform",
    "keras.initializers.uniform",
    "keras.initializers.random_uniform",
)
class RandomUniform(drawn.RandomUniform):
    """Draws evenly, from -0.05 to 0.05."""

    def __init__(
        self,
        minval: Any = -0.05,
        maxval: Any = 0.05,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ):
        super().__init__(minval, maxval, seed, dtype)


@export(
    "keras.initializers.RandomNormal",
    "keras.initializers.normal",
    "keras.initializers.random_normal",
)
class RandomNormal(drawn.RandomNormal):
    """Draws from a normal distribution, deviation 0.05."""

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 0.05,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ):
        super().__init__(mean, stddev, seed, dtype)


# By the names that configurations use.
_known: dict[str, Any] = {
    "Initializer": Initializer,
    "Zeros": values.Zeros,
    "Ones": values.Ones,
    "Constant": values.Constant,
    "Identity": values.Identity,
    "Orthogonal": orthogonal_matrices.Orthogonal,
    "VarianceScaling": drawn.VarianceScaling,
    "GlorotUniform": drawn.GlorotUniform,
    "GlorotNormal": drawn.GlorotNormal,
    "TruncatedNormal": TruncatedNormal,
    "RandomUniform": RandomUniform,
    "RandomNormal": RandomNormal,
    "lecun_normal": drawn.lecun_normal,
    "lecun_uniform": drawn.lecun_uniform,
    "he_normal": drawn.he_normal,
    "he_uniform": drawn.he_uniform,
}
_known.update(
    zero=values.Zeros,
    zeros=values.Zeros,
    one=values.Ones,
    ones=values.Ones,
    constant=values.Constant,
    identity=values.Identity,
    orthogonal=orthogonal_matrices.Orthogonal,
    glorot_uniform=drawn.GlorotUniform,
    glorot_normal=drawn.GlorotNormal,
    uniform=RandomUniform,
    random_uniform=RandomUniform,
    normal=RandomNormal,
    random_normal=RandomNormal,
    truncated_normal=TruncatedNormal,
)


@export("keras.initializers.serialize")
def serialize(initializer: Any) -> Any:
    """The class name and configuration of an initializer."""
    if initializer is None:
        return None
    if hasattr(initializer, "get_config"):
        return {"class_name": type(initializer).__name__, "config": initializer.get_config()}
    if hasattr(initializer, "__name__"):
        return initializer.__name__
    raise ValueError("Cannot serialize", initializer)


@export("keras.initializers.deserialize")
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The initializer that a name, or what `serialize` gave, stands for."""
    known = {**_known, **(custom_objects or {})}
    if isinstance(config, str):
        if config not in known:
            raise ValueError(f"Unknown initializer:{config}")
        found = known[config]
        return found() if isinstance(found, type) else found
    if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
        raise ValueError(f"Improper config format: {config}")
    name, arguments = config["class_name"], config["config"]
    if name not in known:
        raise ValueError(f"Unknown initializer: {name}")
    make = known[name]
    return make.from_config(arguments) if hasattr(make, "from_config") else make(**arguments)


@export("keras.initializers.get")
def get(identifier: Any) -> Any:
    """The initializer that a name, a configuration, or itself stands for."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        found = deserialize(identifier)
        is_maker = identifier in ("he_normal", "he_uniform", "lecun_normal", "lecun_uniform")
        return found() if is_maker else found
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier}")
