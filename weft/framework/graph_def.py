"""GraphDef out: the messages of nodes, ops and graphs."""

from __future__ import annotations

from typing import Any

from weft.framework import attributes, registry
from weft.framework.registry import OpDecl
from weft.framework.signature import REQUIRED, Arg, Attr


def node_def(op: Any) -> Any:
    """The NodeDef message of an operation."""
    from weft import proto

    node = proto.NodeDef(name=op._name, op=op._decl.name, device=op._device)
    node.input.extend(t._as_node_def_input() for t in op._inputs)
    node.input.extend("^" + c._name for c in op._control_inputs)
    for name in sorted(op._attrs):
        node.attr[name].CopyFrom(attributes.to_proto(op._attrs[name]))
    return node


def _arg_def(out: Any, arg: Arg) -> None:
    out.name = arg.name
    out.is_ref = arg.is_ref
    if arg.dtype is not None:
        out.type = arg.dtype.enum
    if arg.type_attr is not None:
        out.type_attr = arg.type_attr
    if arg.number_attr is not None:
        out.number_attr = arg.number_attr
    if arg.type_list_attr is not None:
        out.type_list_attr = arg.type_list_attr


def _attr_def(out: Any, attr: Attr) -> None:
    out.name, out.type = attr.name, attr.kind
    if attr.default is not REQUIRED:
        if attr.kind == "list(" + attr.element_kind + ")" and not attr.default:
            out.default_value.list.SetInParent()
        else:
            out.default_value.CopyFrom(attributes.to_proto(attr.default))
    if attr.minimum is not None:
        out.has_minimum, out.minimum = True, attr.minimum
    if attr.allowed is not None:
        if attr.element_kind == "type":
            out.allowed_values.list.type.extend(d.enum for d in attr.allowed)
        else:
            out.allowed_values.list.s.extend(str(s).encode() for s in attr.allowed)


def op_def(decl: OpDecl) -> Any:
    """The OpDef message of a declaration."""
    from weft import proto

    sig = decl.signature
    out = proto.OpDef(
        name=decl.name,
        is_stateful=decl.stateful,
        is_commutative=decl.commutative,
        is_aggregate=decl.aggregate,
        allows_uninitialized_input=decl.allows_uninitialized,
    )
    for arg in sig.inputs:
        _arg_def(out.input_arg.add(), arg)
    for arg in sig.outputs:
        _arg_def(out.output_arg.add(), arg)
    for attr in sig.attrs.values():
        _attr_def(out.attr.add(), attr)
    return out


def to_graph_def(graph: Any, from_version: int | None = None, add_shapes: bool = False) -> Any:
    """The GraphDef message of a graph; of what was added since a version, where one is given."""
    with graph._lock:  # other threads may be adding to the graph
        out = _to_graph_def(graph, from_version, add_shapes)
    size = out.ByteSize()
    if size >= 1 << 31:
        raise ValueError("GraphDef cannot be larger than 2GB.")
    return out


def _to_graph_def(graph: Any, from_version: int | None, add_shapes: bool) -> Any:
    from weft import proto
    from weft.framework.tensor_shape import TensorShape

    out = proto.GraphDef()
    out.versions.CopyFrom(graph.graph_def_versions)
    for op in graph._ops.values():
        if from_version is not None and op._id < from_version:
            continue
        node = out.node.add()
        node.CopyFrom(node_def(op))
        if add_shapes and op._outputs:
            shapes = node.attr["_output_shapes"].list.shape
            for t in op._outputs:
                shapes.add().CopyFrom(TensorShape.from_tuple(t._dims).as_proto())
    if graph._functions:
        from weft.framework import function_def

        for function in list(graph._functions.values()):
            out.library.function.add().CopyFrom(function_def.to_function_def(function))
        for name, gradient in graph._gradient_functions.items():
            out.library.gradient.add(function_name=name, gradient_func=gradient)
    return out


def create_op(
    graph: Any,
    op_type: str,
    inputs: list[Any],
    dtypes: Any,
    name: str | None,
    attrs: dict[str, Any],
) -> Any:
    """Adds an operation by its type's name and AttrValue messages."""
    from weft.framework import apply

    decl = registry.find(op_type)
    if decl is None:
        raise ValueError(f"Op type not registered '{op_type}' in weft.")
    values = {
        k: attributes.from_proto(v) if hasattr(v, "WhichOneof") else v for k, v in attrs.items()
    }
    for attr in decl.signature.attrs.values():
        if attr.name not in values and attr.default is not REQUIRED:
            values[attr.name] = list(attr.default) if attr.is_list else attr.default
    infer_attrs(decl, inputs, values)
    types = apply.output_dtypes(decl.signature.outputs, values)
    return graph.add_op(decl, inputs, values, types, name or op_type, site_depth=3)


def infer_attrs(decl: OpDecl, inputs: list[Any], values: dict[str, Any]) -> None:
    """Fills in the attributes that the inputs determine."""
    i = 0
    for arg in decl.signature.inputs:
        if arg.type_list_attr is not None:
            if arg.type_list_attr not in values:
                values[arg.type_list_attr] = [t.dtype.base_dtype for t in inputs[i:]]
            i += len(values[arg.type_list_attr])
            continue
        if arg.number_attr is not None:
            if arg.number_attr not in values:
                values[arg.number_attr] = len(inputs) - i
            n = values[arg.number_attr]
        else:
            n = 1
        if arg.type_attr is not None and arg.type_attr not in values and n:
            values[arg.type_attr] = inputs[i].dtype.base_dtype
        i += n
