"""`tf.raw_ops`: every op as a function of keyword arguments, named as TensorFlow names them."""

from __future__ import annotations

import inspect as _inspect
import typing as _typing
from collections.abc import Callable as _Callable

from weft.framework import registry as _registry

# Where the wrapper's argument has another name than the op's: op -> {argument: name in the OpDef}.
_REDUCTION = {"axis": "reduction_indices"}
_RENAMED = {
    "All": _REDUCTION,
    "Any": _REDUCTION,
    "EuclideanNorm": _REDUCTION,
    "ExpandDims": {"axis": "dim"},
    "Max": _REDUCTION,
    "Mean": _REDUCTION,
    "Min": _REDUCTION,
    "Prod": _REDUCTION,
    "Select": {"x": "t", "y": "e"},
    "Split": {"axis": "split_dim"},
    "SplitV": {"axis": "split_dim"},
    "Squeeze": {"axis": "squeeze_dims"},
    "Sum": _REDUCTION,
    "Where": {"condition": "input"},
}
_OWN = "Weft"  # the prefix of ops that TensorFlow does not have


def _function_for(decl: _typing.Any) -> _Callable:
    renamed = _RENAMED.get(decl.name, {})
    shown = {op_name: argument for argument, op_name in renamed.items()}
    signature = decl.signature
    names = [arg.name for arg in signature.inputs] + [a.name for a in signature.explicit_attrs]
    arguments = [shown.get(name, name) for name in names]

    def raw_op(*args: _typing.Any, name: str | None = None, **kwargs: _typing.Any) -> _typing.Any:
        if args:
            raise TypeError(
                f"{decl.name} only takes keyword args (possible keys: {[*arguments, 'name']}). "
                "Please pass these args as kwargs instead."
            )
        for argument in kwargs:
            if argument not in arguments:
                raise TypeError(f"{decl.name}() got an unexpected keyword argument '{argument}'")
        return decl(name=name, **{renamed.get(key, key): value for key, value in kwargs.items()})

    raw_op.__name__ = raw_op.__qualname__ = decl.name
    raw_op.__doc__ = decl.__doc__
    keyword = _inspect.Parameter.KEYWORD_ONLY
    raw_op.__signature__ = _inspect.Signature(  # type: ignore[attr-defined]
        [_inspect.Parameter(argument, keyword) for argument in arguments]
        + [_inspect.Parameter("name", keyword, default=None)]
    )
    return raw_op


def __getattr__(name: str) -> _typing.Any:
    decl = None if name.startswith(("_", _OWN)) else _registry.find(name)
    if decl is None:
        raise AttributeError(f"module 'weft.raw_ops' has no attribute '{name}'")
    function = globals()[name] = _function_for(decl)
    return function


def __dir__() -> list[str]:
    return sorted(name for name in _registry.all_ops() if not name.startswith(_OWN))
