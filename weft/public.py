"""Public names of the framework and the runtime, which know nothing of the `tf` namespace themselves."""

from __future__ import annotations

from weft.framework import (
    context,
    conversion,
    device_spec,
    dtypes,
    errors,
    gradients,  # noqa: F401
    gradients_custom,  # noqa: F401
    graph,
    importer,  # noqa: F401
    tensor_proto,
    tensor_shape,
)
from weft.framework.export import export_all, lazy
from weft.framework.graph import Graph
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.runtime.session import InteractiveSession, Session

export_all(
    "",
    DeviceSpec=device_spec.DeviceSpec,
    Dimension=tensor_shape.Dimension,
    Graph=Graph,
    InteractiveSession=InteractiveSession,
    OpError=errors.OpError,
    Operation=Operation,
    QUANTIZED_DTYPES=dtypes.QUANTIZED_DTYPES,
    Session=Session,
    Tensor=Tensor,
    TensorShape=tensor_shape.TensorShape,
    as_dtype=dtypes.as_dtype,
    colocate_with=graph.colocate_with,
    container=graph.container,
    control_dependencies=graph.control_dependencies,
    convert_to_tensor=conversion.convert_to_tensor,
    convert_to_tensor_or_indexed_slices=conversion.convert_to_tensor_or_indexed_slices,
    device=graph.device,
    dimension_at_index=tensor_shape.dimension_at_index,
    dimension_value=tensor_shape.dimension_value,
    disable_v2_tensorshape=tensor_shape.disable_v2_tensorshape,
    enable_eager_execution=context.enable_eager_execution,
    enable_v2_tensorshape=tensor_shape.enable_v2_tensorshape,
    executing_eagerly=context.executing_eagerly,
    get_default_graph=context.get_default_graph,
    get_default_session=context.get_default_session,
    make_ndarray=tensor_proto.make_ndarray,
    make_tensor_proto=tensor_proto.make_tensor_proto,
    register_tensor_conversion_function=conversion.register_tensor_conversion_function,
    reset_default_graph=context.reset_default_graph,
)
for _name in (
    "bfloat16 bool complex64 complex128 double float16 float32 float64 half int8 int16 int32 int64 qint8 qint16 "
    "qint32 quint8 quint16 resource string uint8 uint16 uint32 uint64 variant"
).split():
    export_all("", **{_name: getattr(dtypes, _name)})
    export_all("dtypes", **{_name: getattr(dtypes, _name)})
export_all("dtypes", as_dtype=dtypes.as_dtype, DType=dtypes.DType)
export_all("dtypes", QUANTIZED_DTYPES=dtypes.QUANTIZED_DTYPES)
lazy("", "weft.eager")
for _space in ("", "profiler", "summary", "train"):
    lazy(_space, "weft.public_messages")


def _load_eager() -> None:
    import weft.eager  # noqa: F401


context.load_eager = _load_eager
