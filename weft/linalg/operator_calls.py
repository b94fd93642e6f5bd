"""The functions of `tf.linalg` that take operators in place of matrices."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.linalg import operator_rules  # noqa: F401
from weft.linalg.operator import LinearOperator

_served: dict[str, Callable[..., Any]] = {}


def takes(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether an operator is among the first two arguments, or given by name."""
    return any(isinstance(x, LinearOperator) for x in (*args[:2], *kwargs.values()))


def call(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """The function's meaning for operators."""
    return _served[function.__name__](*args, **kwargs)


def _serves(name: str) -> Callable[[Callable], Callable]:
    def register(rule: Callable) -> Callable:
        _served[name] = rule
        return rule

    return register


def _forwarding(name: str, method: str, argument: str) -> None:
    """A function that is a method without arguments."""

    def rule(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        return getattr(given[argument], method)(**_named(given.get("name")))

    parameters = [
        inspect.Parameter(argument, inspect.Parameter.POSITIONAL_OR_KEYWORD),
        inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None),
    ]
    signature = inspect.Signature(parameters)
    _served[name] = rule


def _named(name: str | None) -> dict[str, str]:
    return {} if name is None else {"name": name}


_forwarding("adjoint", "adjoint", "matrix")
_forwarding("cholesky", "cholesky", "input")
_forwarding("matrix_determinant", "determinant", "input")
_forwarding("trace", "trace", "x")


@_serves("matrix_diag_part")
def _(input, name="diag_part", k=0, padding_value=0):
    if not (isinstance(k, int) and k == 0):
        raise ValueError("Of a LinearOperator only the main diagonal can be taken.")
    return input.diag_part(name)


@_serves("matrix_inverse")
def _(input, adjoint=False, name=None):
    found = input.inverse(**_named(name))
    return found.adjoint() if adjoint else found


@_serves("logdet")
def _(matrix, name=None):
    if matrix.is_positive_definite and matrix.is_self_adjoint:
        return matrix.log_abs_determinant(**_named(name))
    raise ValueError("Expected matrix to be self-adjoint positive definite.")


@_serves("matrix_solve")
def _(matrix, rhs, adjoint=False, name=None):
    if not isinstance(matrix, LinearOperator):
        raise ValueError(
            "Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported."
        )
    return matrix.solve(rhs, adjoint=adjoint, **_named(name))


@_serves("matmul")
def _(
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    name=None,
):
    if transpose_a or transpose_b:
        raise ValueError("Transposing not supported at this time.")
    if a_is_sparse or b_is_sparse:
        raise ValueError("Sparse methods not supported at this time.")
    if isinstance(a, LinearOperator):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, **_named(name))
    found = b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, **_named(name))
    return tf.linalg.adjoint(found)
