"""Public names of protocol messages; importing this registers TensorFlow's wire formats."""

from weft import proto
from weft.framework.export import export_all

_NAMES = {
    "": """AttrValue ConfigProto Event GPUOptions GraphDef GraphOptions HistogramProto LogMessage
        MetaGraphDef NameAttrList NodeDef OptimizerOptions RunMetadata RunOptions SessionLog Summary
        SummaryMetadata TensorInfo""",
    "profiler": "AdviceProto GraphNodeProto MultiGraphNodeProto OpLogProto",
    "summary": "Event SessionLog Summary SummaryDescription TaggedRunMetadata",
    "train": """BytesList ClusterDef Example Feature FeatureList FeatureLists Features FloatList
        Int64List JobDef SaverDef SequenceExample ServerDef""",
}

for _space, _names in _NAMES.items():
    export_all(_space, **{name: getattr(proto, name) for name in _names.split()})
