"""`slim.model_analyzer`: how large the operations and variables of a graph are."""

from __future__ import annotations

from typing import Any


def tensor_description(var: Any) -> str:
    """Type and sizes, such as `(float32 10x5)`."""
    return f"({var.dtype.name} {'x'.join(str(size) for size in var.get_shape())})"


def _print_header(text: str) -> None:
    print("---------", text, "---------", sep="\n")


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """How many numbers all outputs of a graph have, as far as it is known."""
    if print_info:
        _print_header("Operations: name -> (type shapes) [size]")
    total = 0
    for op in graph.get_operations():
        size = sum(t.get_shape().num_elements() or 0 for t in op.outputs)
        total += size
        if print_info:
            shapes = ", ".join(tensor_description(t) for t in op.outputs if t.get_shape())
            print(op.name, "\t->", shapes, f"[{size}]")
    return total


def analyze_vars(variables: Any, print_info: bool = False) -> tuple[int, int]:
    """How many numbers variables have, and how many bytes."""
    if print_info:
        _print_header("Variables: name (type shape) [size]")
    total = total_bytes = 0
    for v in variables:
        size = v.get_shape().num_elements() or 0
        total, total_bytes = total + size, total_bytes + size * v.dtype.size
        if print_info:
            print(v.name, tensor_description(v), f"[{size}, bytes: {size * v.dtype.size}]")
    if print_info:
        print(f"Total size of variables: {total}")
        print(f"Total bytes of variables: {total_bytes}")
    return total, total_bytes
