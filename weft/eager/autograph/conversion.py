"""Conversion of functions by malt's source transformation, with weft's operators."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import logging
import types
from collections.abc import Callable
from typing import Any

from malt.core import converter
from malt.impl import api
from malt.pyct import parser

from weft.eager.autograph import operators
from weft.eager.autograph.needs import is_left_alone

_log = logging.getLogger("tensorflow")
_reported: set[Any] = set()


class _Transpiler(api.PyToPy):
    """malt's transformation, whose result calls weft's operators."""

    def get_extra_locals(self) -> dict[str, Any]:
        if self._extra_locals is None:
            before = super().get_extra_locals()["ag__"]
            spec = importlib.util.spec_from_loader("ag__", None)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            module.__dict__.update(before.__dict__)
            module.__dict__.update(operators.table())
            module.__dict__["converted_call"] = converted_call
            self._extra_locals = {"ag__": module}
        return self._extra_locals


_transpiler = _Transpiler()


def _options(features: tuple[str, ...], recursive: bool, requested: bool) -> Any:
    return converter.ConversionOptions(
        recursive=recursive,
        user_requested=requested,
        optional_features=tuple(
            converter.Feature[f]
            for f in features
            if f not in ("NAME_SCOPES", "AUTO_CONTROL_DEPS", "ALL", "BUILTIN_FUNCTIONS")
        ),
    )


def convert(function: Callable, features: tuple[str, ...] = (), recursive: bool = True) -> Callable:
    """A function with the same meaning whose control flow may depend on tensors."""
    options = _options(features, recursive, True)

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return converted_call(function, args, kwargs, options=options)

    return call


def source_of(function: Callable, features: tuple[str, ...], recursive: bool) -> str:
    """The source of a converted function."""
    target = function.__func__ if inspect.ismethod(function) else function
    transformed = _transformed(target, _options(features, recursive, True))
    return inspect.getsource(transformed)


def _transformed(function: Any, options: Any) -> Any:
    transformed, module, source_map = _transpiler.transform(
        function, converter.ProgramContext(options=options)
    )
    transformed.ag_module, transformed.ag_source_map = module, source_map
    return transformed


def converted_call(
    f: Any,
    args: tuple,
    kwargs: dict[str, Any] | None,
    caller_fn_scope: Any = None,
    options: Any = None,
) -> Any:
    """Calls a function from converted code: converts it first where it is the program's own."""
    kwargs = kwargs or {}
    if options is None:
        options = caller_fn_scope.callopts
    if isinstance(f, functools.partial):
        return converted_call(
            f.func, f.args + args, {**f.keywords, **kwargs}, caller_fn_scope, options
        )
    builtin = operators.builtin(f)
    if builtin is not None:
        return builtin(*args, **kwargs)
    if f in (super, eval, locals, globals) and caller_fn_scope is not None:
        from malt.operators import py_builtins

        if f is super:
            return py_builtins.super_in_original_context(f, args, caller_fn_scope)
        if f is eval:
            return py_builtins.eval_in_original_context(f, args, caller_fn_scope)
        if f is locals:
            return py_builtins.locals_in_original_context(caller_fn_scope)
        return py_builtins.globals_in_original_context(caller_fn_scope)
    target, full = _target(f, args)
    if target is None or not (options.user_requested or options.internal_convert_user_code):
        return f(*args, **kwargs)
    try:
        transformed = _transformed(target, options)
    except Exception as e:  # what cannot be converted runs as it is
        if target not in _reported:
            _reported.add(target)
            _log.warning(
                "AutoGraph could not transform %s and will run it as-is.\nCause: %s\nTo silence this warning, "
                "decorate the function with @tf.autograph.experimental.do_not_convert",
                f,
                e,
            )
        return f(*args, **kwargs)
    return transformed(*full, **kwargs)


def _inherited_call(cls: type) -> Any:
    return next((vars(c)["__call__"] for c in cls.__mro__ if "__call__" in vars(c)), None)


def _target(f: Any, args: tuple) -> tuple[Any, tuple]:
    """The Python function to convert for a call, with its arguments; None where there is none."""
    if isinstance(f, type) or is_left_alone(f):
        return None, args
    target: Any
    if inspect.ismethod(f):
        target, args = f.__func__, (f.__self__, *args)
    elif isinstance(f, types.FunctionType):
        target = f
    else:
        target = vars(type(f)).get("__call__") or _inherited_call(type(f))
        args = (f, *args)
    if not isinstance(target, types.FunctionType) or is_left_alone(target):
        return None, args
    code = target.__code__
    if (
        code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE)
        or code.co_filename == "<string>"
    ):
        return None, args
    if hasattr(target, "ag_module"):
        return None, args
    return target, args


__all__ = ["convert", "converted_call", "parser", "source_of"]
