"""Operations that TensorFlow's optimizers make out of a graph's before its parts reach a worker.

Those that stand for several are written as these again; the others are declared here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft import proto
from weft.framework import registry
from weft.framework.registry import op

_ACTIVATIONS = frozenset(("Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"))
# For each fused operation what it begins with, and the attributes of that.
_FUSED = {
    "_FusedMatMul": ("MatMul", ("transpose_a", "transpose_b")),
    "_FusedConv2D": (
        "Conv2D",
        ("strides", "padding", "explicit_paddings", "data_format", "dilations"),
    ),
    "_FusedDepthwiseConv2dNative": (
        "DepthwiseConv2dNative",
        ("strides", "padding", "data_format", "dilations"),
    ),
}


class _Rewriting:
    """The nodes of a graph, of which some stand for several."""

    def __init__(self, nodes: Any, of_function: bool):
        self.of_function = of_function
        self.nodes: list[Any] = []
        self.moved: dict[str, str] = {}  # outputs that other nodes give now
        for node in nodes:
            rewrite = _REWRITES.get(node.op)
            # In functions outputs go by their names, which not all of these have.
            if (
                rewrite is None
                or (of_function and rewrite is not _fused)
                or not rewrite(self, node)
            ):
                self.nodes.append(node)
        for node in self.nodes:
            for i, text in enumerate(node.input):
                if text in self.moved:
                    node.input[i] = self.moved[text]

    def add(self, like: Any, suffix: str, kind: str, inputs: list[str], **attrs: Any) -> str:
        """Adds a node that does a part of what another did; without a suffix it takes its name."""
        node = proto.NodeDef(name=like.name + suffix, op=kind, device=like.device, input=inputs)
        for name, value in attrs.items():
            node.attr[name].CopyFrom(value)
        self.nodes.append(node)
        if self.of_function:
            return f"{node.name}:{_decl(kind).signature.outputs[0].name}:0"
        return node.name


def _decl(kind: str) -> Any:
    found = registry.find(kind)
    assert found is not None, kind
    return found


def _controls(node: Any) -> list[str]:
    return [text for text in node.input if text.startswith("^")]


def _fused(out: _Rewriting, node: Any) -> bool:
    """A product or convolution, and what is done to its elements."""
    kind, attrs = _FUSED[node.op]
    steps = [s.decode() for s in node.attr["fused_ops"].list.s]
    known = _ACTIVATIONS | {"BiasAdd", "FusedBatchNorm"}
    if not steps or not known.issuperset(steps):
        return False
    dtype = node.attr["T"]
    given = [text for text in node.input if not text.startswith("^")]
    first, args = given[:2], given[2:]
    own = {name: node.attr[name] for name in attrs if name in node.attr}
    value = out.add(node, "/fused_0", kind, [*first, *_controls(node)], T=dtype, **own)
    for i, step in enumerate(steps):
        suffix = f"/fused_{i + 1}" if i < len(steps) - 1 else ""
        how: dict[str, Any] = {"T": dtype}
        inputs = [value]
        if step in ("BiasAdd", "FusedBatchNorm") and "data_format" in node.attr:
            how["data_format"] = node.attr["data_format"]
        if step == "BiasAdd":
            inputs.append(args.pop(0))
        elif step == "FusedBatchNorm":
            inputs += args[:4]
            del args[:4]
            step = "FusedBatchNormV3"
            how["U"], how["epsilon"] = dtype, node.attr["epsilon"]
            how["is_training"] = proto.AttrValue(b=False)
        elif step == "LeakyRelu" and "leakyrelu_alpha" in node.attr:
            how["alpha"] = node.attr["leakyrelu_alpha"]
        value = out.add(node, suffix, step, inputs, **how)
    if out.of_function:
        old = "product" if node.op == "_FusedMatMul" else "output"
        out.moved[f"{node.name}:{old}:0"] = value
    return True


def _batch_norm(out: _Rewriting, node: Any) -> bool:
    """A batch normalisation with what is added to its result, and an activation."""
    n = node.attr["num_side_inputs"].i
    mode = node.attr["activation_mode"].s.decode() or "Identity"
    if mode not in ("Identity", "Relu"):
        return False
    names = ("T", "U", "epsilon", "exponential_avg_factor", "data_format", "is_training")
    own = {name: node.attr[name] for name in names if name in node.attr}
    given = [text for text in node.input if not text.startswith("^")]
    value = out.add(node, "/fused_0", "FusedBatchNormV3", [*given[:5], *_controls(node)], **own)
    out.moved.update((f"{node.name}:{i}", f"{value}:{i}") for i in range(1, 6))
    dtype = node.attr["T"]
    if n:
        value = out.add(node, "/fused_1", "AddV2", [value, given[5]], T=dtype)
    out.add(node, "", mode, [value], T=dtype)
    return True


def _switch_n(out: _Rewriting, node: Any) -> bool:
    """A switch to one of several outputs; an index that is out of range means the last."""
    data, index, *_ = node.input
    n, dtype = node.attr["num_outs"].i, node.attr["T"]
    whole = proto.AttrValue(type=proto.DT_INT32)
    chosen, earlier = "", ""
    for k in range(n):
        if k < n - 1:
            value = proto.TensorProto(dtype=proto.DT_INT32, int_val=[k])
            value.tensor_shape.SetInParent()
            number = out.add(
                node,
                f"/number_{k}",
                "Const",
                ["^" + index.partition(":")[0], *_controls(node)],
                dtype=whole,
                value=proto.AttrValue(tensor=value),
            )
            chosen = out.add(node, f"/is_{k}", "Equal", [index, number], T=whole)
            side = 1
            earlier = (
                out.add(node, f"/any_{k}", "LogicalOr", [earlier, chosen]) if earlier else chosen
            )
        elif not earlier:
            chosen = out.add(node, f"/is_{k}", "Equal", [index, index], T=whole)
            side = 1
        else:
            chosen, side = earlier, 0
        name = out.add(node, f"/{k}", "Switch", [data, chosen], T=dtype)
        out.moved[f"{node.name}:{k}" if k else node.name] = f"{name}:{side}" if side else name
    return True


def _renamed(kind: str, **attrs: str) -> Callable[[_Rewriting, Any], bool]:
    """Another name for an operation; `attrs` says which attributes become which of its."""

    def rewrite(out: _Rewriting, node: Any) -> bool:
        own = {new: node.attr[old] for new, old in attrs.items()}
        out.add(node, "", kind, list(node.input), **own)
        return True

    return rewrite


def _to_list(out: _Rewriting, node: Any) -> bool:
    types = node.attr["out_types" if node.op == "_ArrayToList" else "Tin"]
    out.add(node, "", "IdentityN", list(node.input), T=types)
    return True


def _hashed(out: _Rewriting, node: Any) -> bool:
    text = out.add(node, "/text", "AsString", list(node.input), T=node.attr["T"])
    out.add(node, "", "StringToHashBucketFast", [text], num_buckets=node.attr["num_buckets"])
    return True


_REWRITES: dict[str, Callable[[_Rewriting, Any], bool]] = {
    **dict.fromkeys(_FUSED, _fused),
    "_FusedBatchNormEx": _batch_norm,
    "_SwitchN": _switch_n,
    "_ArrayToList": _to_list,
    "_ListToArray": _to_list,
    "_HostCast": _renamed("Cast", SrcT="SrcT", DstT="DstT"),
    "_TensorToHashBucketFast": _hashed,
}


def as_written(graph_def: Any) -> Any:
    """A graph with the operations that stand for several written as these."""
    parts = [graph_def, *graph_def.library.function]
    for part in parts:
        field = "node" if part is graph_def else "node_def"
        nodes = getattr(part, field)
        if any(node.op in _REWRITES for node in nodes):
            copies = [proto.NodeDef.FromString(n.SerializeToString()) for n in nodes]
            rewritten = _Rewriting(copies, part is not graph_def)
            part.ClearField(field)
            getattr(part, field).extend(rewritten.nodes)
    return graph_def


def as_tensorflow_runs(graph_def: Any) -> Any:
    """A graph without the operations that masters of TensorFlow replace, and its workers cannot run."""
    for node in list(graph_def.node):
        if node.op == "AccumulateNV2":
            node.op = "AddN"
            node.attr.pop("shape", None)
        elif node.op == "ParallelConcat":
            axis = graph_def.node.add(name=node.name + "/axis", op="Const", device=node.device)
            axis.attr["dtype"].type = proto.DT_INT32
            axis.attr["value"].tensor.dtype = proto.DT_INT32
            axis.attr["value"].tensor.tensor_shape.SetInParent()
            axis.attr["value"].tensor.int_val.append(0)
            node.op = "ConcatV2"
            node.attr.pop("shape", None)
            node.attr["Tidx"].type = proto.DT_INT32
            node.input.insert(node.attr["N"].i, axis.name)
    return graph_def


# -- what is declared: the rows of a result that are written in place ---------------------------------------


@op(
    "_ParallelConcatStart",
    "-> output: dtype",
    "shape: shape; dtype: type",
    stateful=True,
    host=True,
)
def _start(ctx, *, shape, dtype):
    """The room for a result, whose rows others write."""
    return np.zeros(shape, dtype.base_dtype.np)


_start.shape(lambda *, shape: shape)


@op(
    "_ParallelConcatUpdate",
    "value: T, update: T -> output: T",
    "T: type; loc: int",
    stateful=True,
    host=True,
)
def _write_row(ctx, value, update, *, loc):
    """Writes a row in place."""
    value[loc % value.shape[0]] = update[0] if update.ndim == value.ndim else update
    return value


_write_row.shape(lambda value, update: value)
