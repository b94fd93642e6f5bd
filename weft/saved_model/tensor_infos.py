"""TensorInfo: which tensors of a graph a signature means."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft import proto
from weft.framework import context
from weft.framework.composite_tensor import CompositeTensor
from weft.framework.export import export
from weft.framework.graph import Graph
from weft.framework.scope_names import prepend_name_scope
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.type_spec import type_spec_from_value
from weft.saved_model import structures


@export("saved_model.build_tensor_info", "saved_model.utils.build_tensor_info")
def build_tensor_info(tensor: Any) -> Any:
    """The message with name, dtype and shape of a tensor; of a sparse or ragged one with those of its parts."""
    if context.executing_eagerly():
        raise RuntimeError("build_tensor_info is not supported in Eager mode.")
    if isinstance(tensor, CompositeTensor) and not isinstance(tensor, SparseTensor):
        info = proto.TensorInfo()
        info.composite_tensor.type_spec.CopyFrom(
            structures.spec_to_proto(type_spec_from_value(tensor))
        )
        info.composite_tensor.components.extend(map(build_tensor_info, tensor._nest_components()))
        return info
    info = proto.TensorInfo(
        dtype=tf.as_dtype(tensor.dtype).as_datatype_enum,
        tensor_shape=tensor.get_shape().as_proto(),
    )
    if isinstance(tensor, SparseTensor):
        for part in ("values", "indices", "dense_shape"):
            setattr(info.coo_sparse, f"{part}_tensor_name", getattr(tensor, part).name)
    else:
        info.name = tensor.name
    return info


def tensor_info_of_op(op: Any) -> Any:
    """The message that names an operation: it has neither a dtype nor a shape."""
    return proto.TensorInfo(name=op.name, tensor_shape=tf.TensorShape(None).as_proto())


@export("saved_model.get_tensor_from_tensor_info", "saved_model.utils.get_tensor_from_tensor_info")
def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """The tensor of a graph that a message describes, sparse or ragged where it says so."""
    here = graph or context.get_default_graph()

    def named(name: str) -> Any:
        return here.get_tensor_by_name(prepend_name_scope(name, import_scope))

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return named(tensor_info.name)
    if encoding == "coo_sparse":
        parts = tensor_info.coo_sparse
        return SparseTensor(
            named(parts.indices_tensor_name),
            named(parts.values_tensor_name),
            named(parts.dense_shape_tensor_name),
        )
    if encoding == "composite_tensor":
        spec = structures.spec_from_proto(tensor_info.composite_tensor.type_spec)
        parts = [named(part.name) for part in tensor_info.composite_tensor.components]
        return spec._from_components(parts)
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}")


def element_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """The operation or tensor of a graph that a message names."""
    here = graph or context.get_default_graph()
    return here.as_graph_element(prepend_name_scope(tensor_info.name, import_scope))
