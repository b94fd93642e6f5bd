"""Public names of the framework and the runtime, which know nothing of the `tf` namespace themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import (
    compat_text,  # noqa: F401
    context,
    conversion,
    device_spec,
    dtypes,
    errors,
    gradients,  # noqa: F401
    gradients_custom,  # noqa: F401
    graph,
    importer,  # noqa: F401
    random_seed,  # noqa: F401
    tensor_proto,
    tensor_shape,
)
from weft.framework.composite_tensor import CompositeTensor
from weft.framework.export import export_all, export_lazily, lazy
from weft.framework.graph import Graph
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.runtime.fetches import register_session_run_conversion_functions
from weft.runtime.session import InteractiveSession, Session
from weft.runtime.targets import register_targets

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
    disable_eager_execution=context.disable_eager_execution,
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
export_all(
    "compat",
    dimension_at_index=tensor_shape.dimension_at_index,
    dimension_value=tensor_shape.dimension_value,
)
export_all("errors", **{n: v for n, v in vars(errors).items() if not n.startswith("_")})
export_all("dtypes", as_dtype=dtypes.as_dtype, DType=dtypes.DType)
export_all("dtypes", QUANTIZED_DTYPES=dtypes.QUANTIZED_DTYPES)
lazy("", "weft.checks", "weft.eager", "weft.framework.type_spec")
lazy("config", "weft.eager.config")
lazy("autograph", "weft.eager.autograph")
lazy("data.experimental", "weft.framework.type_spec")
lazy("debugging", "weft.checks")
lazy("", "weft.metrics.confusion_matrix")
lazy("math", "weft.checks", "weft.metrics.confusion_matrix")
lazy("compat.v2.test", "weft.test.function_gradients")

# -- messages, whose classes protobuf makes when they are first asked for -------------------------------

_MESSAGES = {
    "": "AttrValue ConfigProto Event GPUOptions GraphDef GraphOptions HistogramProto LogMessage MetaGraphDef "
    "NameAttrList NodeDef OptimizerOptions RunMetadata RunOptions SessionLog Summary SummaryMetadata TensorInfo",
    "train": "BytesList ClusterDef Example Feature FeatureList FeatureLists Features FloatList Int64List JobDef "
    "SaverDef SequenceExample ServerDef",
    "profiler": "AdviceProto GraphNodeProto MultiGraphNodeProto OpLogProto",
    "summary": "Event SessionLog Summary SummaryDescription TaggedRunMetadata",
}


def _message(name: str) -> Callable[[], Any]:
    def make() -> Any:
        from weft import proto

        return getattr(proto, name)

    return make


for _space, _names in _MESSAGES.items():
    for _name in _names.split():
        export_lazily(_space, _name, _message(_name))

# -- versions ------------------------------------------------------------------------------------------

# What programs are written for, not what weft's own version is.
TENSORFLOW_VERSION = "1.15.5"
for _space in ("", "version"):
    export_all(
        _space,
        VERSION=TENSORFLOW_VERSION,
        GIT_VERSION="unknown",
        COMPILER_VERSION="XLA",
        GRAPH_DEF_VERSION=134,
        GRAPH_DEF_VERSION_MIN_CONSUMER=0,
        GRAPH_DEF_VERSION_MIN_PRODUCER=0,
    )
for _space in ("", "sysconfig"):
    export_all(_space, CXX11_ABI_FLAG=1, MONOLITHIC_BUILD=0)

# -- what sessions take besides tensors ------------------------------------------------------------------


register_session_run_conversion_functions(
    CompositeTensor,
    lambda key: (key._nest_components(), key._fetched),
    lambda key, value: list(zip(key._nest_components(), key._fed(value))),
    lambda key: key._nest_components(),
)


def _load_eager() -> None:
    import weft.eager  # noqa: F401


context.load_eager = _load_eager
for _space in ("app", "flags"):
    lazy(_space, "weft.platform.app")
lazy("app.flags", "weft.platform.app")
lazy("", "weft.platform.behavior", "weft.platform.libraries", "weft.variables.module")
lazy("resource_loader", "weft.platform.resource_loader")
lazy("logging", "weft.platform.tf_logging")
lazy("", "weft.platform.tf_logging")
lazy("profiler", "weft.profiler")
lazy("graph_util", "weft.framework.graph_util", "weft.framework.freezing")
for _space in ("signal", "spectral"):
    lazy(
        _space,
        "weft.signal.cosine",
        "weft.signal.mel",
        "weft.signal.short_time",
    )
for _space in ("", "linalg"):
    lazy(
        _space,
        "weft.linalg.exponential",
        "weft.linalg.least_squares",
        "weft.linalg.rank",
        "weft.linalg.tridiagonal",
    )
lazy("linalg", "weft.linalg.operator_calls")
lazy("train", "weft.distributed", "weft.train.batching")
lazy("distribute.cluster_resolver", "weft.distribute.cluster_resolver")


def _load_servers() -> Any:
    from weft.distributed import server

    return server


register_targets("grpc://", _load_servers)
for _space in ("data", "data.experimental", "compat.v2.data"):
    lazy(_space, "weft.data")
lazy("io", "weft.train.input_producers", "weft.train.graph_io")
lazy("losses", "weft.losses")
lazy(
    "metrics",
    "weft.metrics.means",
    "weft.metrics.counts",
    "weft.metrics.thresholds",
    "weft.metrics.area",
    "weft.metrics.classes",
    "weft.metrics.at_k",
)
for _space in ("gfile", "io.gfile", "io", "python_io"):
    lazy(_space, "weft.files")
lazy("contrib.framework.python.ops.audio_ops", "weft.contrib.framework.audio_ops")
for _space in ("image", "compat.v2.image", "io"):
    lazy(_space, "weft.images")
for _space in ("summary", "compat.v2.summary", "compat.v2.summary.experimental"):
    lazy(_space, "weft.summary")
lazy("train", "weft.summary", "weft.train.warm_starting")
lazy("nn", "weft.nn.recurrent", "weft.nn.sampled_losses", "weft.nn.ctc")
lazy("random", "weft.nn.sampled_losses")
lazy("compat.v2.nn", "weft.nn.sampled_losses", "weft.nn.ctc")
lazy("", "weft.lookup", "weft.strings", "weft.nn.ctc")
lazy("initializers", "weft.lookup")
for _space in ("compat.v2", "compat.v2.initializers"):
    lazy(_space, "weft.initializers.without_dtype")
lazy("compat.v2.feature_column", "weft.feature_column")
for _space in ("keras.layers", "keras.experimental", "compat.v2.keras.layers"):
    lazy(_space, "weft.feature_column.feature_layers")
lazy("compat.v2.estimator", "weft.estimator")
lazy("tpu", "weft.contrib.tpu.cross_shard")
for _name, _module in (
    ("mnist", "mnist"),
    ("fashion_mnist", "mnist"),
    ("cifar10", "cifar"),
    ("cifar100", "cifar"),
):
    lazy(f"keras.datasets.{_name}", f"weft.datasets.{_module}")
for _space in ("distribute.experimental", "compat.v2.distribute"):
    lazy(_space, "weft.distribute")
for _space in ("contrib.distribute", "compat.v2.distribute.experimental"):
    lazy(_space, "weft.distribute")
for _space in ("nn", "compat.v2.nn"):
    lazy(_space, "weft.distribute.losses")
lazy("distribute", "weft.distributed.server")
lazy("keras.utils", "weft.datasets.cache")
lazy("contrib.eager", "weft.train.eager_saver")
