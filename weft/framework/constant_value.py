"""Values that are known while the graph is built: constants, and what follows from them and static shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.shape_rules import Shape, is_full

# The namespace to run kernels with; set by the engine.
array_namespace: Any = None

_DEEPEST = 40
_LARGEST = 1 << 16  # elements; larger results are left to the run

# Ops that only move or combine small integers, as shape arithmetic does. Others could be evaluated too, but
# programs and tests rely on values such as `tf.less(1, 2)` being decided when they run.
_FOLDED = frozenset(
    "Cast ConcatV2 Concat Pack Fill Range Rank Size Shape ShapeN Identity ExpandDims Squeeze Reshape "
    "StridedSlice Slice GatherV2 Gather Add AddV2 Sub Mul FloorDiv FloorMod RealDiv Maximum Minimum Prod Sum "
    "Max Min Neg Equal NotEqual Less LessEqual Greater GreaterEqual LogicalNot LogicalAnd LogicalOr "
    "BroadcastArgs BroadcastGradientArgs Unpack Split SplitV ReverseV2 ListDiff InvertPermutation Tile "
    "Transpose Pad ZerosLike OnesLike StopGradient".split()
)


@export("get_static_value", "contrib.util.constant_value")
def constant_value(tensor: Any, partial: bool = False) -> np.ndarray | None:
    """Returns the value of a tensor as an array if it can be known without running the graph, else None."""
    host = getattr(tensor, "_host", None)  # of a concrete tensor
    if host is not None:
        array = host()
        return array if isinstance(array, np.ndarray) else None
    numpy = getattr(tensor, "numpy", None)
    if numpy is not None and not hasattr(tensor, "_handle_name"):
        return numpy() if callable(numpy) else None
    if not hasattr(tensor, "_op"):
        return None
    return _value(tensor, 0)


def _value(tensor: Any, depth: int) -> np.ndarray | None:
    op = tensor._op
    decl = op._decl
    kind = decl.name
    if kind == "Const":
        value = op._attrs["value"]
        return value if isinstance(value, np.ndarray) else None
    if kind == "Placeholder" and "_captured" in op.__dict__:
        return constant_value(op._captured)
    if kind not in _FOLDED or depth > _DEEPEST:
        return None
    if kind in ("Shape", "Size", "Rank", "ShapeN"):
        dims = op._inputs[tensor._index]._dims
        if kind == "Rank":
            return None if dims is None else np.array(len(dims), np.int32)
        if not is_full(dims):
            return None
        dtype = op._attrs["out_type"].np
        if kind == "Size":
            return np.array(np.prod(dims, dtype=np.int64), dtype)
        return np.array(dims, dtype)
    cache = op.__dict__.get("_folded")
    if cache is not None:
        return cache[tensor._index]
    if kind in ("ZerosLike", "OnesLike"):
        dims = op._inputs[0]._dims
        if not is_full(dims) or np.prod(dims) > _LARGEST:
            return None
    if tensor._dims is not None and is_full(tensor._dims) and np.prod(tensor._dims) > _LARGEST:
        return None
    inputs = []
    for t in op._inputs:
        value = _value(t, depth + 1)
        if value is None:
            return None
        inputs.append(value)
    if kind == "Fill" and np.prod(inputs[0], dtype=np.int64) > _LARGEST:
        return None
    results = evaluate(op, inputs)
    if results is None:
        return None
    op.__dict__["_folded"] = results
    return results[tensor._index]


def evaluate(op: Any, inputs: list[np.ndarray]) -> list[np.ndarray] | None:
    """Runs the reference kernel of an op on arrays; None where it refuses them."""
    from weft.framework.shape_inference import flatten_outputs, grouped, keyword_attrs

    decl = op._decl
    try:
        args = grouped(decl.signature.inputs, inputs, op._attrs)
        result = decl.kernel(array_namespace, *args, **keyword_attrs(decl.kernel, op._attrs, decl))
    except Exception:  # the run will report it, with the op
        return None
    flat = flatten_outputs(decl.signature, result)
    return [np.asarray(r, t._dtype.base_dtype.np) for r, t in zip(flat, op._outputs)]


def constant_value_as_shape(tensor: Any) -> Shape:
    """Reads a vector of sizes as a shape, as far as it is known; an unknown size, or -1, is None."""
    if tensor._dims is not None and len(tensor._dims) == 0:
        value = constant_value(tensor)
        if value is None or value >= 0:
            raise ValueError(
                "Received a scalar with unknown value as shape; require a statically known scalar with value "
                "'-1' to describe an unknown shape."
                if value is None
                else f"Received a scalar value '{value}' as shape; require a statically known scalar with value "
                "'-1' to describe an unknown shape."
            )
        return None
    from weft.framework.known_elements import elements_as_shape

    return elements_as_shape(tensor)
