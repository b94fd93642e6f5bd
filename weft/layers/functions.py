"""Functions that make a layer and call it, such as `tf.layers.dense`; each takes what its class takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from weft.framework.export import export

_P = inspect.Parameter


def function_of(
    layer_class: type,
    name: str,
    reuse: bool = True,
    training_before: str | None = None,
    order: str = "",
) -> Callable:
    """The function of a class: `inputs` and the arguments of the class, with `reuse` where it has variables and
    `training`, before another argument, where it behaves in two ways. `order` moves arguments to the end."""
    parameters = [
        p.replace(kind=_P.POSITIONAL_OR_KEYWORD)
        for p in list(inspect.signature(layer_class).parameters.values())
        if p.kind is not _P.VAR_KEYWORD
    ]
    if training_before is not None:
        place = [p.name for p in parameters].index(training_before)
        parameters.insert(place, _P("training", _P.POSITIONAL_OR_KEYWORD, default=False))
    if reuse:
        parameters.append(_P("reuse", _P.POSITIONAL_OR_KEYWORD, default=None))
    last = order.split()
    parameters = [p for p in parameters if p.name not in last] + [
        p for word in last for p in parameters if p.name == word
    ]
    signature = inspect.Signature([_P("inputs", _P.POSITIONAL_OR_KEYWORD), *parameters])

    def function(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        inputs = arguments.pop("inputs")
        call = {"training": arguments.pop("training")} if training_before is not None else {}
        if reuse:
            arguments["_reuse"] = arguments.pop("reuse")
            arguments["_scope"] = arguments["name"]
        return layer_class(**arguments)(inputs, **call)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (layer_class.__doc__ or "").strip().split("\n")[0]
    function.__module__ = layer_class.__module__
    function.__signature__ = signature  # type: ignore[attr-defined]
    return export(f"layers.{name}")(function)
