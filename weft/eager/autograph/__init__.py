"""AutoGraph: Python control flow on tensors becomes control flow of the graph.

The source transformation is that of the package `malt`, which is AutoGraph without TensorFlow; what its
operators mean for tensors stands in `operators`. It is imported when a function first needs it.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

from weft.eager.autograph.needs import needs_conversion
from weft.framework.export import export


@export("autograph.experimental.Feature")
class Feature(enum.Enum):
    """Optional parts of the conversion."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


def converted(function: Callable, features: Any = None, recursive: bool = True) -> Callable:
    """The function as it is traced: the same where nothing in it could need conversion."""
    if not needs_conversion(function):
        return function
    from weft.eager.autograph import conversion

    return conversion.convert(function, _names(features), recursive)


def _names(features: Any) -> tuple[str, ...]:
    if features is None:
        return ()
    if isinstance(features, Feature):
        features = (features,)
    return tuple(f.name for f in features)


@export("autograph.to_graph")
def to_graph(
    entity: Callable,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Callable:
    """Returns a function with the meaning of `entity` whose control flow may depend on tensors."""
    del arg_values, arg_types  # deprecated in TensorFlow, where they are of no effect
    from weft.eager.autograph import conversion

    return conversion.convert(entity, _names(experimental_optional_features), recursive)


@export("autograph.to_code")
def to_code(
    entity: Callable,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:
    """Returns the source of what `to_graph` returns."""
    del arg_values, arg_types, indentation
    from weft.eager.autograph import conversion

    return conversion.source_of(entity, _names(experimental_optional_features), recursive)


@export("autograph.experimental.do_not_convert")
def do_not_convert(func: Callable | None = None) -> Callable:
    """Decorates a function that runs as it is, whoever calls it."""
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    call.autograph_info__ = {}  # type: ignore[attr-defined]  # the mark by which converted code knows it
    return call


@export("autograph.experimental.set_loop_options")
def set_loop_options(
    parallel_iterations: Any = None,
    back_prop: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
) -> None:
    """Sets options of the loop whose body calls this first; they reach `tf.while_loop`."""
    from weft.eager.autograph import operators

    given = {
        "parallel_iterations": parallel_iterations,
        "back_prop": back_prop,
        "swap_memory": swap_memory,
        "maximum_iterations": maximum_iterations,
    }
    operators.loop_options({k: v for k, v in given.items() if v is not None})


_verbosity = 0


@export("autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Sets how much the conversion tells of itself."""
    global _verbosity
    _verbosity = level
    from malt.utils import ag_logging

    ag_logging.set_verbosity(level, alsologtostdout)


@export("autograph.trace")
def trace(*args: Any) -> None:
    """Prints its arguments while a function is converted and traced."""
    print(*args)
