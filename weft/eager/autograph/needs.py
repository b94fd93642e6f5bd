"""Whether a function could need conversion: whether anything in it, or in what it calls, branches at all."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

# Modules whose functions run as they are.
LEFT_ALONE = frozenset(
    "weft tensorflow numpy scipy jax jaxlib malt gast astunparse google absl six attr attrs pytest".split()
)
_STANDARD = frozenset(sys.stdlib_module_names) - {"__main__"}
_BUILTINS = frozenset("range len print int float abs enumerate zip".split())
_DEEPEST = 6


def is_left_alone(function: Any) -> bool:
    """Whether a function belongs to a library that is written for graphs, or to Python itself."""
    module = (getattr(function, "__module__", None) or "").partition(".")[0]
    return module in LEFT_ALONE or module in _STANDARD or hasattr(function, "autograph_info__")


def needs_conversion(function: Callable) -> bool:
    """Whether conversion could make a difference."""
    return _needs(function, set(), 0)


def _needs(function: Any, seen: set[Any], depth: int) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    owner = None
    if inspect.ismethod(function):
        owner, function = type(function.__self__), function.__func__
    if not isinstance(function, types.FunctionType):
        call = next(
            (vars(c)["__call__"] for c in type(function).__mro__ if "__call__" in vars(c)), None
        )
        if not isinstance(call, types.FunctionType) or is_left_alone(call):
            return False
        owner, function = type(function), call
    wrapped = getattr(function, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType) and wrapped is not function:
        if _needs(wrapped, seen, depth):
            return True
    if function in seen or is_left_alone(function) or depth > _DEEPEST:
        return False
    seen.add(function)
    names: set[str] = set()
    if _branches(function.__code__, names):
        return True
    if names & _BUILTINS:
        return True
    values = [function.__globals__.get(n) for n in names]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            continue
    values += [getattr(owner, n, None) for n in names] if owner is not None else []
    for value in [*values]:
        if hasattr(value, "__dict__") and not isinstance(value, (type, types.ModuleType)):
            values += [getattr(type(value), n, None) for n in names]
    return any(
        _needs(v, seen, depth + 1)
        for v in values
        if isinstance(v, (types.FunctionType, types.MethodType, functools.partial))
    )


def _branches(code: types.CodeType, names: set[str]) -> bool:
    """Whether code has jumps; `names` gets what it refers to."""
    names.update(code.co_names)
    for instruction in dis.get_instructions(code):
        if "JUMP" in instruction.opname or instruction.opname in ("FOR_ITER", "CONTAINS_OP"):
            return True
    return any(_branches(c, names) for c in code.co_consts if isinstance(c, types.CodeType))
