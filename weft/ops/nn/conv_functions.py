"""`tf.nn.conv*`: convolutions, transposed ones, depthwise and separable ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.constant_value import constant_value
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import as_shape
from weft.ops.by_name import raw
from weft.ops.math.reduce_functions import chosen
from weft.ops.nn import conv, depthwise
from weft.ops.nn.sequences import channel_index, per_axis
from weft.ops.nn.space_to_batch import WithSpaceToBatch, with_space_to_batch


def convert_padding(padding: Any) -> tuple[Any, list[int]]:
    """Padding as the ops want it: a word, and the explicit numbers."""
    if padding == "EXPLICIT":
        raise ValueError(
            '"EXPLICIT" is not a valid value for the padding parameter. To use explicit padding, the padding '
            "parameter must be a list."
        )
    if not isinstance(padding, (list, tuple)):
        return padding, []
    explicit: list[int] = []
    for i, pair in enumerate(padding):
        if not isinstance(pair, (list, tuple)):
            raise ValueError(
                "When padding is a list, each element of padding must be a list/tuple of size 2. Element with index "
                f"{i} of padding is not a list/tuple"
            )
        if len(pair) != 2:
            raise ValueError(
                "When padding is a list, each element of padding must be a list/tuple of size 2. Element with index "
                f"{i} of padding has size {len(pair)}"
            )
        explicit.extend(pair)
    if len(padding) != 4:
        raise ValueError(
            f"When padding is a list, it must be of size 4. Got padding of size: {len(padding)}"
        )
    return "EXPLICIT", explicit


# -- any number of spatial axes --------------------------------------------------------------------


@export("nn.convolution")
def convolution(
    input: Any,
    filter: Any,
    padding: Any,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """Convolves over one to three spatial axes, with strides or with a dilated filter."""
    filter = chosen("filter", filter, "filters", filters)
    dilations = chosen("dilation_rate", dilation_rate, "dilations", dilations)
    rank = _known_rank(input) or _known_rank(filter)
    if rank is None:
        raise ValueError("rank of input or filter must be known")
    n = rank - 2
    if not 1 <= n <= 3:
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}.")
    channels = channel_index(data_format, n)
    strides = per_axis(strides, n, channels, "strides")
    dilations = per_axis(dilations, n, channels, "dilations")
    with name_scope(name, "convolution", [input, filter]) as name:
        if all(d == 1 for d in dilations):
            return _convolve(input, filter, strides, padding, data_format, n, name)
        spatial = slice(2, None) if channels == 1 else slice(1, -1)
        op = Convolution(
            _shape_of(input),
            _shape_of(filter),
            padding,
            strides=strides[spatial],
            dilation_rate=dilations[spatial],
            name=name,
            data_format=data_format,
        )
        return op(input, filter)


def _shape_of(value: Any) -> Any:
    return as_shape(value.shape) if hasattr(value, "shape") else as_shape(np.shape(value))


def _known_rank(value: Any) -> int | None:
    return _shape_of(value).ndims


def _convolve(
    input: Any, filter: Any, strides: Any, padding: Any, data_format: Any, n: int, name: Any
) -> Any:
    """An undilated convolution; strides are given for each axis."""
    if n == 1:
        return conv1d(input, filter, strides, padding, data_format=data_format, name=name)
    if n == 2:
        return conv.conv2d_op(
            input,
            filter,
            strides=strides,
            padding=padding,
            data_format=data_format or "NHWC",
            name=name,
        )
    return conv.conv3d_op(
        input,
        filter,
        strides=strides,
        padding=padding,
        data_format=data_format or "NDHWC",
        name=name,
    )


class Convolution:
    """A convolution prepared for inputs and filters of given static shapes."""

    def __init__(
        self,
        input_shape: Any,
        filter_shape: Any,
        padding: Any,
        strides: Any = None,
        dilation_rate: Any = None,
        name: str | None = None,
        data_format: str | None = None,
    ):
        rank = filter_shape.ndims if filter_shape.ndims is not None else input_shape.ndims
        if rank is None:
            raise ValueError("rank of input or filter must be known")
        n = rank - 2
        for what, shape in (("input", input_shape), ("filter", filter_shape)):
            if shape.ndims not in (None, rank):
                raise ValueError(f"{what} tensor must have rank {rank}")
        first = data_format is not None and data_format.startswith("NC")
        channels = None
        if input_shape.ndims is not None:
            channels = input_shape.as_list()[1 if first else n + 1]
        wanted = filter_shape.as_list()[n] if filter_shape.ndims is not None else None
        if channels is not None and wanted is not None and channels != wanted:
            raise ValueError(
                "number of input channels does not match corresponding dimension of filter, "
                f"{channels} != {wanted}"
            )
        self.strides, self.dilation_rate = strides_and_dilation(n, strides, dilation_rate)
        self.name, self.data_format, self.rank = name, data_format, n
        self._call = WithSpaceToBatch(
            input_shape,
            self.dilation_rate,
            padding,
            self._build,
            filter_shape=filter_shape,
            spatial_dims=range(2 if first else 1, n + (2 if first else 1)),
            data_format=data_format,
        )

    def _build(self, _: int, padding: Any) -> Any:
        channels = channel_index(self.data_format, self.rank)
        strides = per_axis(list(self.strides), self.rank, channels, "strides")

        def apply(input: Any, filter: Any) -> Any:
            return _convolve(
                input, filter, strides, padding, self.data_format, self.rank, self.name
            )

        return apply

    def __call__(self, input: Any, filter: Any) -> Any:
        return self._call(input, filter)


def strides_and_dilation(n: int, strides: Any, dilation_rate: Any) -> tuple[Any, Any]:
    """Strides and dilation rates of the spatial axes; only one of them may differ from 1."""
    out = []
    for name, values in (("dilation_rate", dilation_rate), ("strides", strides)):
        if values is None:
            values = [1] * n
        elif len(values) != n:
            raise ValueError(f"len({name})={len(values)} but should be {n}")
        values = np.array(values, np.int32)
        if (values < 1).any():
            raise ValueError(f"all values of {name} must be positive")
        out.append(values)
    dilation, steps = out
    if (steps > 1).any() and (dilation > 1).any():
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    return steps, dilation


# -- one spatial axis ------------------------------------------------------------------------------


def _as_2d(data_format: str | None, old_names: bool) -> tuple[str, int, int]:
    """The format of the ops, the axis to be inserted, and where the channels stand in rank 3."""
    if data_format in (None, "NWC") or old_names and data_format == "NHWC":
        return "NHWC", 1, 2
    if data_format == "NCW" or old_names and data_format == "NCHW":
        return "NCHW", 2, 1
    raise ValueError('data_format must be "NWC" or "NCW".')


@export("nn.conv1d")
def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Any:
    """Convolves over one spatial axis."""
    value = chosen("value", value, "input", input)
    with name_scope(name, "conv1d", [value, filters]) as name:
        data_format, axis, channels = _as_2d(data_format, old_names=True)
        strides = [1, *per_axis(stride, 1, channels, "stride")]
        rates = [1, *per_axis(dilations, 1, channels, "dilations")]
        result = conv.conv2d_op(
            raw.ExpandDims(value, axis),
            raw.ExpandDims(filters, 0),
            strides=strides,
            padding=padding,
            use_cudnn_on_gpu=use_cudnn_on_gpu is None or use_cudnn_on_gpu,
            data_format=data_format,
            dilations=rates,
            name=name,
        )
        return raw.Squeeze(result, squeeze_dims=[axis])


@export("nn.conv1d_transpose")
def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The transpose (gradient) of `conv1d`."""
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as name:
        data_format, axis, channels = _as_2d(data_format, old_names=False)
        strides = [1, *per_axis(strides, 1, channels, "stride")]
        rates = [1, *per_axis(dilations, 1, channels, "dilations")]
        if isinstance(output_shape, Tensor):
            one = np.array([1], np.int32)
            parts = [output_shape[:axis], one, output_shape[axis:]]
            output_shape = raw.ConcatV2(parts, np.int32(0))
        else:
            output_shape = [*output_shape[:axis], 1, *output_shape[axis:]]
        result = conv.conv2d_backprop_input_op(
            output_shape,
            raw.ExpandDims(filters, 0),
            raw.ExpandDims(input, axis),
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilations=rates,
            name=name,
        )
        return raw.Squeeze(result, squeeze_dims=[axis])


# -- two spatial axes ------------------------------------------------------------------------------


@export("nn.conv2d")
def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Convolves over two spatial axes."""
    filter = chosen("filter", filter, "filters", filters)
    padding, explicit = convert_padding(padding)
    data_format = data_format or "NHWC"
    channels = channel_index(data_format, 2)
    return conv.conv2d_op(
        input,
        filter,
        strides=per_axis(strides, 2, channels, "strides"),
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=per_axis(dilations, 2, channels, "dilations"),
        name=name,
    )


@export("nn.conv2d_backprop_filter")
def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006
    name: str | None = None,
) -> Any:
    """The gradient of `conv2d` for its filter."""
    padding, explicit = convert_padding(padding)
    return conv.conv2d_backprop_filter_op(
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.conv2d_backprop_input")
def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """The gradient of `conv2d` for its input."""
    filter = chosen("filter", filter, "filters", filters)
    padding, explicit = convert_padding(padding)
    return conv.conv2d_backprop_input_op(
        input_sizes,
        filter,
        out_backprop,
        strides=strides,
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.conv2d_transpose")
def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """The transpose (gradient) of `conv2d`."""
    value = chosen("value", value, "input", input)
    filter = chosen("filter", filter, "filters", filters)
    with name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as name:
        data_format = data_format or "NHWC"
        channels = channel_index(data_format, 2)
        return conv.conv2d_backprop_input_op(
            output_shape,
            filter,
            value,
            strides=per_axis(strides, 2, channels, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=per_axis(dilations, 2, channels, "dilations"),
            name=name,
        )


@export("nn.atrous_conv2d")
def atrous_conv2d(
    value: Any, filters: Any, rate: Any, padding: Any, name: str | None = None
) -> Any:
    """Convolves with a filter whose elements are `rate` apart."""
    rates = np.broadcast_to(rate, (2,))
    return convolution(value, filters, padding, dilation_rate=rates, name=name)


@export("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: Any,
    filters: Any,
    output_shape: Any,
    rate: int,
    padding: str,
    name: str | None = None,
) -> Any:
    """The transpose (gradient) of `atrous_conv2d`."""
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as name:
        value = convert_to_tensor(value, name="value")
        filters = convert_to_tensor(filters, name="filters")
        channels = [
            s.as_list()[3] if s.ndims is not None else None for s in (value.shape, filters.shape)
        ]
        if None not in channels and channels[0] != channels[1]:
            raise ValueError(
                "value's input channels does not match filters' input channels, "
                f"{channels[0]} != {channels[1]}"
            )
        if rate < 1:
            raise ValueError(f"rate {rate} cannot be less than one")
        if rate == 1:
            return conv2d_transpose(value, filters, output_shape, [1, 1, 1, 1], padding)
        sizes = convert_to_tensor(output_shape, name="output_shape")
        if not sizes.shape.is_compatible_with([4]):
            raise ValueError(f"output_shape must have shape (4,), got {sizes.shape}")
        if isinstance(output_shape, (list, tuple, np.ndarray)):
            out = filters.shape.as_list()[2] if filters.shape.ndims is not None else None
            if out is not None and out != output_shape[3]:
                raise ValueError(
                    f"output_shape does not match filter's output channels, {output_shape[3]} != {out}"
                )
        known = constant_value(sizes)
        shape: Any = sizes if known is None else [int(n) for n in known]
        full = filters.shape.is_fully_defined()
        kernel: Any = filters.shape.as_list() if full else raw.Shape(filters)
        pads = []
        for axis in (0, 1):
            if padding == "SAME":
                total = (kernel[axis] - 1) * rate
            elif padding == "VALID":
                total = 0
            else:
                raise ValueError(f"padding must be either VALID or SAME: {padding}")
            low = total // 2
            high = total - low
            size = shape[axis + 1] + low + high
            pads.append((low, high, (rate - size % rate) % rate, size))
        blocks = raw.SpaceToBatch(value, [[0, p[2]] for p in pads], block_size=rate)
        inner = [(size + extra) // rate for _, _, extra, size in pads]
        result = conv.conv2d_backprop_input_op(
            [rate * rate * shape[0], *inner, shape[3]],
            filters,
            blocks,
            strides=[1, 1, 1, 1],
            padding="VALID",
        )
        crops = [[low, high + extra] for low, high, extra, _ in pads]
        return raw.BatchToSpace(result, crops, block_size=rate)


# -- three spatial axes ----------------------------------------------------------------------------


@export("nn.conv3d")
def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Any = [1, 1, 1, 1, 1],  # noqa: B006
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Convolves over three spatial axes."""
    filter = chosen("filter", filter, "filters", filters)
    return conv.conv3d_op(
        input,
        filter,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=[1] * 5 if dilations is None else dilations,
        name=name,
    )


@export("nn.conv3d_backprop_filter", "nn.conv3d_backprop_filter_v2")
def conv3d_backprop_filter_v2(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = [1, 1, 1, 1, 1],  # noqa: B006
    name: str | None = None,
) -> Any:
    """The gradient of `conv3d` for its filter."""
    return conv.conv3d_backprop_filter_op(
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.conv3d_transpose")
def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """The transpose (gradient) of `conv3d`."""
    filter = chosen("filter", filter, "filters", filters)
    value = chosen("value", value, "input", input)
    with name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as name:
        data_format = data_format or "NDHWC"
        channels = channel_index(data_format, 3)
        return conv.conv3d_backprop_input_op(
            output_shape,
            filter,
            value,
            strides=per_axis(strides, 3, channels, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=per_axis(dilations, 3, channels, "dilations"),
            name=name,
        )


@export("nn.conv_transpose")
def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The transpose (gradient) of a convolution over one to three spatial axes."""
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as name:
        if isinstance(output_shape, Tensor):
            rank = output_shape.shape.as_list()[0]
        elif hasattr(output_shape, "__len__"):
            rank = len(output_shape)
        else:
            raise ValueError("output_shape must be a tensor or sized collection.")
        how = {"padding": padding, "data_format": data_format, "dilations": dilations, "name": name}
        if rank == 3:
            return conv1d_transpose(input, filters, output_shape, strides, **how)
        if rank == 4:
            return conv2d_transpose(input, filters, output_shape, strides, **how)
        if rank == 5:
            return conv3d_transpose(input, filters, output_shape, strides, **how)
        raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {rank}.")


# -- depthwise -------------------------------------------------------------------------------------


@export("nn.depthwise_conv2d_native")
def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006
    name: str | None = None,
) -> Any:
    """Convolves each channel with filters of its own."""
    return depthwise.depthwise_conv2d_op(
        input,
        filter,
        strides=strides,
        padding=padding,
        data_format=data_format or "NHWC",
        dilations=dilations,
        name=name,
    )


@export("nn.depthwise_conv2d_backprop_input", "nn.depthwise_conv2d_native_backprop_input")
def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006
    name: str | None = None,
) -> Any:
    """The gradient of `depthwise_conv2d_native` for its input."""
    return depthwise.depthwise_backprop_input_op(
        input_sizes,
        filter,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.depthwise_conv2d_backprop_filter", "nn.depthwise_conv2d_native_backprop_filter")
def depthwise_conv2d_native_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006
    name: str | None = None,
) -> Any:
    """The gradient of `depthwise_conv2d_native` for its filter."""
    return depthwise.depthwise_backprop_filter_op(
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


def _depthwise(
    input: Any, filter: Any, strides: Any, padding: Any, rate: Any, data_format: Any, name: Any
) -> Any:
    def apply(blocks: Any, _: int, padding: Any) -> Any:
        return depthwise_conv2d_native(blocks, filter, strides, padding, data_format, name=name)

    return with_space_to_batch(
        input,
        [1, 1] if rate is None else rate,
        padding,
        apply,
        filter_shape=raw.Shape(filter),
        data_format=data_format,
    )


@export("nn.depthwise_conv2d")
def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Any:
    """Convolves each channel with filters of its own, which may be dilated."""
    rate = chosen("rate", rate, "dilations", dilations)
    with name_scope(name, "depthwise", [input, filter]) as name:
        input = convert_to_tensor(input, name="tensor_in")
        filter = convert_to_tensor(filter, name="filter_in")
        return _depthwise(input, filter, strides, padding, rate, data_format, name)


@export("nn.separable_conv2d")
def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Any:
    """Convolves each channel by itself, then mixes the channels."""
    rate = chosen("rate", rate, "dilations", dilations)
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as name:
        input = convert_to_tensor(input, name="tensor_in")
        depthwise_filter = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        shape = pointwise_filter.shape.with_rank(4)
        for axis in (0, 1):
            shape.dims[axis].assert_is_compatible_with(1)
        deep = _depthwise(input, depthwise_filter, strides, padding, rate, data_format, "depthwise")
        ones = [1, 1, 1, 1]
        return conv2d(deep, pointwise_filter, ones, "VALID", data_format=data_format, name=name)
