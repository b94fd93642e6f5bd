"""Cells around a cell: dropout, residual connections, devices."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import nest
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.tensor_shape import as_shape
from weft.framework.trackable import Trackable
from weft.keras.named import function_of_config, function_to_config
from weft.nn.rnn_cell.base import RNNCell, assert_like_rnncell
from weft.nn.rnn_cell.lstm import LSTMStateTuple
from weft.ops.flow.structure import is_tensor_array


class _Wrapper(RNNCell):
    """A cell that calls another, whose sizes and states it has."""

    # Arguments of the constructor that are functions, with the name that configurations have for them.
    _functions: dict[str, str] = {}

    def __init__(self, cell: Any, **kwargs: Any):
        super().__init__(**kwargs)
        assert_like_rnncell("cell", cell)
        self.cell = cell
        if isinstance(cell, Trackable):
            self._track_trackable(cell, "cell")

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    @property
    def state_size(self) -> Any:
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        return self.cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with tf.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self.cell.zero_state(batch_size, dtype)

    @property
    def trainable_weights(self) -> list[Any]:
        return self._own_and_inner("_trainable_weights", "trainable_weights")

    @property
    def non_trainable_weights(self) -> list[Any]:
        return self._own_and_inner("_non_trainable_weights", "non_trainable_weights")

    def _own_and_inner(self, own: str, inner: str) -> list[Any]:
        return getattr(self, own) + list(getattr(self.cell, inner, ()))

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        return self._call_wrapped_cell(inputs, state, self.cell.__call__, scope=scope)

    def _call_wrapped_cell(self, inputs: Any, state: Any, call: Callable, **kwargs: Any) -> Any:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        inner = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), "cell": inner}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """A wrapper with a configuration whose `cell` has been replaced by a cell."""
        config = dict(config)
        for argument, name in cls._functions.items():
            if name in config:
                config[argument] = function_of_config(config, name, custom_objects)
        cell = config.pop("cell")
        try:
            assert_like_rnncell("cell", cell)
        except TypeError:
            raise ValueError(
                "RNNCellWrapper cannot reconstruct the wrapped cell. Please overwrite the cell in the config with "
                "a RNNCell instance."
            ) from None
        return cls(cell, **config)


def _drop_outputs_only(substate: Any) -> Any:
    """Of the state of an LSTM, `h` is dropped and the memory is not."""
    if isinstance(substate, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not is_tensor_array(substate)


def _marked(visit: Callable, structure: Any) -> Any:
    """A shallow structure of bools: where `visit` says False, and at the leaves."""
    chosen = visit(structure)
    if not nest.is_nested(structure):
        if not isinstance(chosen, bool):
            raise TypeError(
                f"traverse_fn returned structure: {chosen} for non-structure: {structure}"
            )
        return chosen
    if isinstance(chosen, bool):
        if not chosen:
            return False
        marks = [True] * len(nest.children(structure))
    elif not nest.is_nested(chosen):
        raise TypeError(f"traverse_fn returned a non-bool scalar: {chosen} for input: {structure}")
    else:
        marks = nest.children(chosen)
        if not all(isinstance(m, bool) for m in marks):
            raise TypeError(
                f"traverse_fn didn't return a depth=1 structure of bools.  saw: {chosen}  for structure: "
                f"{structure}"
            )
    parts = [m and _marked(visit, part) for m, part in zip(marks, nest.children(structure))]
    return nest.sequence_like(structure, parts)


def _numbered(function: Callable, shallow: Any, *structures: Any) -> Any:
    """`function(i, *parts)` for the parts at the leaves of a shallow structure, counted."""
    flat = [nest.flatten_up_to(shallow, s) for s in structures]
    return nest.pack_sequence_as(
        shallow, [function(i, *parts) for i, parts in enumerate(zip(*flat))]
    )


@export("nn.rnn_cell.DropoutWrapper", "contrib.rnn.DropoutWrapper")
class DropoutWrapper(_Wrapper):
    """Drops parts of the inputs, outputs and states; with `variational_recurrent` the same parts at each step."""

    _functions = {"dropout_state_filter_visitor": "dropout_fn"}

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable | None = None,
        **kwargs: Any,
    ):
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._dropout_state_filter = dropout_state_filter_visitor or _drop_outputs_only
        with tf.name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _probability("input_keep_prob", input_keep_prob)
            self._state_keep_prob = _probability("state_keep_prob", state_keep_prob)
            self._output_keep_prob = _probability("output_keep_prob", output_keep_prob)
        self._variational_recurrent = variational_recurrent
        self._input_size, self._seed = input_size, seed
        self._noise: dict[str, Any] = dict.fromkeys(("input", "state", "output"))
        if variational_recurrent:
            self._draw_noise(dtype)

    def _draw_noise(self, dtype: Any) -> None:
        """Draws once what decides at each step."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"state": self.cell.state_size, "output": self.cell.output_size}
        if _drops(self._input_keep_prob):
            if self._input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be "
                    "provided"
                )
            sizes["input"] = self._input_size

        for salt, size in sizes.items():

            def draw(i: int, s: Any, salt: str = salt) -> Any:
                shape = [1, *as_shape(s).as_list()]
                return tf.random_uniform(shape, seed=self._gen_seed(salt, i), dtype=dtype)

            self._noise[salt] = _numbered(draw, size, size)

    def _gen_seed(self, salt_prefix: str, index: int) -> int | None:
        if self._seed is None:
            return None
        salted = f"{self._seed}{salt_prefix}_{index}".encode()
        return int(hashlib.md5(salted).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropout(self, values: Any, salt: str, keep: Any, shallow: Any = None) -> Any:
        shallow = values if shallow is None else shallow
        structures = [shallow, values]
        if self._variational_recurrent:
            structures.append(self._noise[salt])

        def drop(i: int, wanted: Any, value: Any, noise: Any = None) -> Any:
            if isinstance(wanted, bool) and not wanted:
                return value
            if noise is None:
                return tf.nn.dropout(value, rate=1.0 - keep, seed=self._gen_seed(salt, i))
            out = tf.div(value, keep) * tf.floor(keep + noise)
            out.set_shape(value.get_shape())
            return out

        return _numbered(drop, shallow, *structures)

    def _call_wrapped_cell(self, inputs: Any, state: Any, call: Callable, **kwargs: Any) -> Any:
        if _drops(self._input_keep_prob):
            inputs = self._dropout(inputs, "input", self._input_keep_prob)
        output, new_state = call(inputs, state, **kwargs)
        if _drops(self._state_keep_prob):
            marks = _marked(self._dropout_state_filter, new_state)
            new_state = self._dropout(new_state, "state", self._state_keep_prob, marks)
        if _drops(self._output_keep_prob):
            output = self._dropout(output, "output", self._output_keep_prob)
        return output, new_state

    def get_config(self) -> dict[str, Any]:
        config = {
            **super().get_config(),
            "input_keep_prob": self._input_keep_prob,
            "output_keep_prob": self._output_keep_prob,
            "state_keep_prob": self._state_keep_prob,
            "variational_recurrent": self._variational_recurrent,
            "input_size": self._input_size,
            "seed": self._seed,
        }
        if self._dropout_state_filter is not _drop_outputs_only:
            config.update(function_to_config(self._dropout_state_filter, "dropout_fn"))
        return config


def _probability(name: str, value: Any) -> Any:
    """A float between 0 and 1, or a tensor that is not known yet."""
    tensor = tf.convert_to_tensor(value)
    known = constant_value(tensor)
    if known is None:
        return tensor
    if not 0 <= known <= 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1: {known}")
    return float(known)


def _drops(keep: Any) -> bool:
    return not isinstance(keep, numbers.Real) or keep < 1


def _sum_of_alike(inputs: Any, outputs: Any) -> Any:
    nest.assert_same_structure(inputs, outputs)
    for x, y in zip(nest.flatten(inputs), nest.flatten(outputs)):
        x.get_shape().assert_is_compatible_with(y.get_shape())
    return nest.map_structure(lambda x, y: x + y, inputs, outputs)


@export("nn.rnn_cell.ResidualWrapper", "contrib.rnn.ResidualWrapper")
class ResidualWrapper(_Wrapper):
    """Adds the inputs to the outputs, or joins them by `residual_fn(inputs, outputs)`."""

    _functions = {"residual_fn": "residual_fn"}

    def __init__(self, cell: Any, residual_fn: Callable | None = None, **kwargs: Any):
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _call_wrapped_cell(self, inputs: Any, state: Any, call: Callable, **kwargs: Any) -> Any:
        outputs, new_state = call(inputs, state, **kwargs)
        return (self._residual_fn or _sum_of_alike)(inputs, outputs), new_state

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        if self._residual_fn is not None:
            config.update(function_to_config(self._residual_fn, "residual_fn"))
        return config


@export("nn.rnn_cell.DeviceWrapper", "contrib.rnn.DeviceWrapper")
class DeviceWrapper(_Wrapper):
    """Runs a cell on a device."""

    def __init__(self, cell: Any, device: Any, **kwargs: Any):
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with tf.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            with tf.device(self._device):
                return self.cell.zero_state(batch_size, dtype)

    def _call_wrapped_cell(self, inputs: Any, state: Any, call: Callable, **kwargs: Any) -> Any:
        with tf.device(self._device):
            return call(inputs, state, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "device": self._device}
