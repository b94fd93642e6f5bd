"""Functions that give gradients of functions, by their variables or by their arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import nest
from weft.framework.export import export


def _results(values: Any) -> list[Any]:
    """What gradients are taken of: of several results, of their sum."""
    return nest.flatten(values)


@export("contrib.eager.implicit_value_and_gradients")
def implicit_value_and_gradients(f: Callable) -> Callable:
    """A function that gives the value of `f`, and its gradients by all variables that it reads."""

    def value_and_gradients(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        with tf.GradientTape() as tape:
            value = f(*args, **kwargs)
        if value is None:
            raise ValueError(
                "Cannot differentiate a function that returns None; did you forget to return a value "
                f"from {f.__name__}?"
            )
        variables = tape.watched_variables()
        if not variables:
            raise ValueError(
                "No trainable variables were accessed while the function was being computed."
            )
        return value, list(zip(tape.gradient(_results(value), list(variables)), variables))

    return value_and_gradients


@export("contrib.eager.implicit_gradients")
def implicit_gradients(f: Callable) -> Callable:
    """A function that gives the gradients of `f` by all variables that it reads, and the variables."""
    both = implicit_value_and_gradients(f)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def _positions(f: Callable, params: Any) -> list[int] | None:
    """Which arguments are meant, given by position or name; None for all."""
    if params is None:
        return None
    names = [p.name for p in inspect.signature(f).parameters.values()]
    if all(isinstance(p, str) for p in params):
        return [names.index(p) for p in params]
    if not all(isinstance(p, int) for p in params):
        raise ValueError("params must be all strings or all integers; got: " + str(params))
    return list(params)


@export("contrib.eager.value_and_gradients_function")
def value_and_gradients_function(f: Callable, params: Any = None) -> Callable:
    """A function that gives the value of `f`, and its gradients by its arguments, or some of them."""

    def value_and_gradients(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        dy = kwargs.pop("dy", None)
        if kwargs:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        chosen = _positions(f, params)
        given = list(args)
        sources = []
        for i in range(len(given)) if chosen is None else chosen:
            given[i] = tf.convert_to_tensor(given[i])
            sources.append(given[i])
        with tf.GradientTape() as tape:
            for x in sources:
                tape.watch(x)
            value = f(*given)
        if value is None:
            raise ValueError(
                "Cannot differentiate a function that returns None; did you forget to return a value "
                f"from {f.__name__}?"
            )
        if dy is not None:
            dy = [tf.convert_to_tensor(g) for g in nest.flatten(dy)]
        return value, tape.gradient(_results(value), sources, output_gradients=dy)

    return value_and_gradients


@export("contrib.eager.gradients_function")
def gradients_function(f: Callable, params: Any = None) -> Callable:
    """A function that gives the gradients of `f` by its arguments, or some of them."""
    both = value_and_gradients_function(f, params)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]
