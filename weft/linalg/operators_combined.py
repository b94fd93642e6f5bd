"""Operators made of several others: their composition, blocks along a diagonal, and the Kronecker product."""

from __future__ import annotations

import functools
import operator as arithmetic
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import errors
from weft.framework.export import export
from weft.linalg.broadcasting import (
    broadcast_batch_shape,
    broadcast_batch_shape_tensor,
    broadcast_matrix_batch_dims,
)
from weft.linalg.operator import LinearOperator, adjoint_if
from weft.linalg.operator_checks import listed, parents_of, same_dtype


class _Combined(LinearOperator):
    """An operator made of several."""

    _joint = ""  # what stands between the names of the operators
    _what = ""

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None,
        is_self_adjoint: bool | None,
        is_positive_definite: bool | None,
        is_square: bool | None,
        name: str | None,
        inherited: tuple[str, ...],
    ):
        operators = self._operators = listed(operators)
        dtype = same_dtype(operators)
        hints = {
            "non_singular": is_non_singular,
            "self_adjoint": is_self_adjoint,
            "positive_definite": is_positive_definite,
        }
        for hint in inherited:
            if all(getattr(o, f"is_{hint}") for o in operators):
                if hints[hint] is False:
                    words = hint.replace("_", " " if hint == "positive_definite" else "-")
                    raise ValueError(f"The {self._what} of {words} operators is always {words}.")
                hints[hint] = True
        name = self._joint.join(o.name for o in operators) if name is None else name
        parents = parents_of(operators)
        with tf.name_scope(name, values=parents):
            super().__init__(
                dtype,
                parents,
                hints["non_singular"],
                hints["self_adjoint"],
                hints["positive_definite"],
                is_square,
                name,
            )

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators that this one is made of."""
        return self._operators

    def _sizes(self) -> tuple[Any, Any]:
        """(range, domain) dimension."""
        raise NotImplementedError

    def _sizes_tensor(self) -> tuple[Any, Any]:
        raise NotImplementedError

    def _shape(self) -> Any:
        batch = broadcast_batch_shape([o.batch_shape for o in self.operators])
        return batch.concatenate(tf.TensorShape(list(self._sizes())))

    def _shape_tensor(self) -> Any:
        batch = broadcast_batch_shape_tensor([o.batch_shape_tensor() for o in self.operators])
        return tf.concat([batch, tf.stack(list(self._sizes_tensor()))], 0)

    def _reduced(self, combine: Callable, values: Any) -> Any:
        return functools.reduce(combine, values)


@export("linalg.LinearOperatorComposition")
class LinearOperatorComposition(_Combined):
    """The product of operators, the last of which acts first."""

    _joint, _what = "_o_", "composition"

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ):
        super().__init__(
            operators,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
            ("non_singular",),
        )
        for left, right in zip(self._operators, self._operators[1:]):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)

    def _sizes(self) -> tuple[Any, Any]:
        return self.operators[0].range_dimension, self.operators[-1].domain_dimension

    def _sizes_tensor(self) -> tuple[Any, Any]:
        first, last = self.operators[0], self.operators[-1]
        return first.range_dimension_tensor(), last.domain_dimension_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        for o in self.operators if adjoint else reversed(self.operators):
            x = o.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
            adjoint_arg = False
        return x

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        for o in reversed(self.operators) if adjoint else self.operators:
            rhs = o.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
            adjoint_arg = False
        return rhs

    def _determinant(self) -> Any:
        return self._reduced(arithmetic.mul, [o.determinant() for o in self.operators])

    def _log_abs_determinant(self) -> Any:
        return self._reduced(arithmetic.add, [o.log_abs_determinant() for o in self.operators])


@export("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(_Combined):
    """Square operators along the diagonal, zero elsewhere."""

    _joint, _what = "_ds_", "direct sum"

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ):
        operators = listed(operators)
        same_dtype(operators)
        if not (is_square and all(o.is_square for o in operators)):
            raise ValueError("Can only represent a block diagonal of square matrices.")
        super().__init__(
            operators,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            ("non_singular", "self_adjoint", "positive_definite"),
        )

    def _sizes(self) -> tuple[Any, Any]:
        return (
            self._reduced(arithmetic.add, [o.range_dimension for o in self.operators]),
            self._reduced(arithmetic.add, [o.domain_dimension for o in self.operators]),
        )

    def _sizes_tensor(self) -> tuple[Any, Any]:
        return (
            self._reduced(arithmetic.add, [o.range_dimension_tensor() for o in self.operators]),
            self._reduced(arithmetic.add, [o.domain_dimension_tensor() for o in self.operators]),
        )

    def _by_blocks(self, method: str, x: Any, adjoint: bool, adjoint_arg: bool) -> Any:
        known = [tf.compat.dimension_value(o.domain_dimension) for o in self.operators]
        if None in known:
            sizes: Any = [o.domain_dimension_tensor() for o in self.operators]
        else:
            sizes = known
        parts = tf.split(x, sizes, axis=-1 if adjoint_arg else -2)
        found = [
            getattr(o, method)(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for o, part in zip(self.operators, parts)
        ]
        return tf.concat(broadcast_matrix_batch_dims(found), axis=-2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._by_blocks("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._by_blocks("solve", rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Any:
        return self._reduced(arithmetic.mul, [o.determinant() for o in self.operators])

    def _log_abs_determinant(self) -> Any:
        return self._reduced(arithmetic.add, [o.log_abs_determinant() for o in self.operators])

    def _trace(self) -> Any:
        return self._reduced(arithmetic.add, [o.trace() for o in self.operators])

    def _diag_part(self) -> Any:
        columns = [o.diag_part()[..., tf.newaxis] for o in self.operators]
        return tf.squeeze(tf.concat(broadcast_matrix_batch_dims(columns), axis=-2), axis=-1)

    def _to_dense(self) -> Any:
        blocks = broadcast_matrix_batch_dims([o.to_dense() for o in self.operators])
        total = self.domain_dimension_tensor()
        rows, before = [], 0
        for block in blocks:
            lead = tf.shape(block)[:-1]
            left = tf.zeros(tf.concat([lead, [before]], 0), block.dtype)
            before = before + tf.shape(block)[-1]
            right = tf.zeros(tf.concat([lead, [total - before]], 0), block.dtype)
            rows.append(tf.concat([left, block, right], axis=-1))
        dense = tf.concat(rows, axis=-2)
        dense.set_shape(self.shape)
        return dense

    def _assert_non_singular(self) -> Any:
        return tf.group([o.assert_non_singular() for o in self.operators])

    def _assert_self_adjoint(self) -> Any:
        return tf.group([o.assert_self_adjoint() for o in self.operators])

    def _assert_positive_definite(self) -> Any:
        return tf.group([o.assert_positive_definite() for o in self.operators])


@export("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(_Combined):
    """The Kronecker product of operators, each of which acts on one of as many axes."""

    _joint, _what = "_x_", "Kronecker product"

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ):
        super().__init__(
            operators,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
            ("non_singular", "self_adjoint", "positive_definite"),
        )

    def _sizes(self) -> tuple[Any, Any]:
        return (
            self._reduced(arithmetic.mul, [o.range_dimension for o in self.operators]),
            self._reduced(arithmetic.mul, [o.domain_dimension for o in self.operators]),
        )

    def _sizes_tensor(self) -> tuple[Any, Any]:
        return (
            self._reduced(arithmetic.mul, [o.range_dimension_tensor() for o in self.operators]),
            self._reduced(arithmetic.mul, [o.domain_dimension_tensor() for o in self.operators]),
        )

    def _by_axes(self, method: str, x: Any, adjoint: bool, adjoint_arg: bool) -> Any:
        """Applies each operator along its axis.

        With the rows of `x` as axes n1 ... nk, and its columns behind: the first axis is taken, and what
        comes of it put last; after k turns the columns are first.
        """
        x = adjoint_if(x, adjoint_arg)
        columns = tf.shape(x)[-1]
        rows_given = adjoint if method == "matmul" else not adjoint
        turned = x
        for o in self.operators:
            size = o.range_dimension_tensor() if rows_given else o.domain_dimension_tensor()
            turned = tf.reshape(turned, tf.concat([tf.shape(turned)[:-2], [size, -1]], 0))
            turned = getattr(o, method)(turned, adjoint=adjoint)
            turned = tf.linalg.matrix_transpose(turned)
        turned = tf.reshape(turned, tf.concat([tf.shape(turned)[:-2], [columns, -1]], 0))
        found = tf.linalg.matrix_transpose(turned)
        if x.shape.ndims is not None and self.shape.ndims is not None:
            batch = tf.broadcast_static_shape(x.shape[:-2], self.batch_shape)
            rows = self.domain_dimension if rows_given else self.range_dimension
            found.set_shape(batch.concatenate([rows, x.shape[-1]]))
        return found

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._by_axes("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._by_axes("solve", rhs, adjoint, adjoint_arg)

    def _copies(self, o: LinearOperator) -> Any:
        """How often the operator appears in the whole."""
        count = self.domain_dimension_tensor() // o.domain_dimension_tensor()
        return tf.cast(count, self.dtype)

    def _determinant(self) -> Any:
        powers = [o.determinant() ** self._copies(o) for o in self.operators]
        return self._reduced(arithmetic.mul, powers)

    def _log_abs_determinant(self) -> Any:
        logs = [o.log_abs_determinant() * self._copies(o) for o in self.operators]
        return self._reduced(arithmetic.add, logs)

    def _trace(self) -> Any:
        return self._reduced(arithmetic.mul, [o.trace() for o in self.operators])

    def _diag_part(self) -> Any:
        if not all(o.is_square for o in self.operators):
            return super()._diag_part()
        found = self.operators[0].diag_part()
        for o in self.operators[1:]:
            pairs = found[..., :, tf.newaxis] * o.diag_part()[..., tf.newaxis, :]
            found = tf.reshape(pairs, tf.concat([tf.shape(pairs)[:-2], [-1]], 0))
        found.set_shape(self.shape[:-1])
        return found

    def _to_dense(self) -> Any:
        found = self.operators[0].to_dense()
        for o in self.operators[1:]:
            pairs = (
                found[..., :, tf.newaxis, :, tf.newaxis]
                * o.to_dense()[..., tf.newaxis, :, tf.newaxis, :]
            )
            size = tf.shape(pairs)
            sizes = [size[-4] * size[-3], size[-2] * size[-1]]
            found = tf.reshape(pairs, tf.concat([size[:-4], sizes], 0))
        found.set_shape(self.shape)
        return found

    def _assert_of_factors(self, method: str, what: str) -> Any:
        if not all(o.is_square for o in self.operators):
            raise errors.InvalidArgumentError(
                None, None, f"All Kronecker factors must be square for the product to be {what}."
            )
        return tf.group([getattr(o, method)() for o in self.operators])

    def _assert_non_singular(self) -> Any:
        return self._assert_of_factors("assert_non_singular", "invertible")

    def _assert_self_adjoint(self) -> Any:
        return self._assert_of_factors("assert_self_adjoint", "self adjoint")
