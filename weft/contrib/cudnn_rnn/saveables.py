"""The vector of parameters in checkpoints: as kernels and biases of cells, by the names that those have."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.cudnn_rnn import parameters
from weft.contrib.cudnn_rnn.parameters import LINEAR_INPUT, UNIDIRECTIONAL
from weft.train.saveable import SaveableObject, SaveSpec


class CudnnOpaqueParamsSaveable(SaveableObject):
    """What a Saver saves for the parameters of a network; in `tf.GraphKeys.SAVEABLE_OBJECTS` it finds it."""

    _converter: Any
    _cell: str
    _kernels: tuple[str, ...] = ("kernel",)
    _biases: tuple[str, ...] = ("bias",)

    def __init__(
        self,
        opaque_params: Any,
        num_layers: int,
        num_units: int,
        input_size: int,
        input_mode: str = LINEAR_INPUT,
        direction: str = UNIDIRECTIONAL,
        scope: Any = None,
        name: str = "cudnn_rnn_saveable",
    ):
        self._variable = opaque_params
        self.format_converter = self._converter(
            num_layers, num_units, input_size, input_mode=input_mode, direction=direction
        )
        scope = getattr(scope, "name", scope)
        above = f"{scope}/" if scope else ""
        if direction == UNIDIRECTIONAL:
            cells = [f"{above}rnn/multi_rnn_cell/cell_{i}" for i in range(num_layers)]
        else:
            cells = [
                f"{above}stack_bidirectional_rnn/cell_{i}/bidirectional_rnn/{way}"
                for i in range(num_layers)
                for way in ("fw", "bw")
            ]
        kernels, biases = self.format_converter.opaque_to_tf_canonical(opaque_params)
        names = [
            f"{cell}/{self._cell}/{leaf}"
            for leaves in (self._kernels, self._biases)
            for cell in cells
            for leaf in leaves
        ]
        specs = [SaveSpec(tensor, "", key) for tensor, key in zip([*kernels, *biases], names)]
        super().__init__(tf.identity(opaque_params), specs, name)

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        params = self.format_converter.tf_canonical_to_opaque(
            [tf.reshape(t, s.tensor.shape) for t, s in zip(restored_tensors, self.specs)]
        )
        return tf.assign(self._variable, params)


class CudnnLSTMSaveable(CudnnOpaqueParamsSaveable):
    _converter = parameters.CudnnParamsFormatConverterLSTM
    _cell = "cudnn_compatible_lstm_cell"


class CudnnGRUSaveable(CudnnOpaqueParamsSaveable):
    _converter = parameters.CudnnParamsFormatConverterGRU
    _cell = "cudnn_compatible_gru_cell"
    _kernels = (
        "gates/kernel",
        "candidate/input_projection/kernel",
        "candidate/hidden_projection/kernel",
    )
    _biases = (
        "gates/bias",
        "candidate/input_projection/bias",
        "candidate/hidden_projection/bias",
    )


class CudnnRNNTanhSaveable(CudnnOpaqueParamsSaveable):
    _converter = parameters.CudnnParamsFormatConverterTanh
    _cell = "basic_rnn_cell"


class CudnnRNNReluSaveable(CudnnOpaqueParamsSaveable):
    _converter = parameters.CudnnParamsFormatConverterRelu
    _cell = "basic_rnn_cell"
