"""RaggedTensor: values, and the splits that say where each row of them begins and ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes
from weft.framework.composite_tensor import CompositeTensor
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, dimension_at_index
from weft.ops.array import shape_of
from weft.ops.array.concat import concat, stack
from weft.ops.array.fill import ones
from weft.ops.array.gather import gather
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.counting import bincount
from weft.ops.math.reduce_functions import reduce_sum
from weft.ops.ragged import dense, sparse, variant
from weft.ops.ragged.splits import (
    INTEGERS,
    after,
    count_rows,
    lengths_of,
    required,
    required_vector,
    row_of_each,
    splits_of,
)
from weft.ops.ragged.value import RaggedTensorValue, nested_value


@export("RaggedTensor")
class RaggedTensor(CompositeTensor):
    """A tensor some of whose dimensions have rows of different lengths.

    Row i is `values[row_splits[i]:row_splits[i + 1]]`. Where `values` is ragged itself there are several ragged
    dimensions; where it has more than one dimension the inner ones are uniform.
    """

    __array_priority__ = 100

    def __init__(
        self,
        values: Any,
        row_splits: Any,
        cached_row_lengths: Any = None,
        cached_value_rowids: Any = None,
        cached_nrows: Any = None,
        internal: bool = False,
    ):
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods instead (e.g., "
                "RaggedTensor.from_row_lengths())"
            )
        if not isinstance(row_splits, Tensor):
            raise TypeError(f"Row-partitioning argument must be a Tensor, got {row_splits!r}")
        if not isinstance(values, (RaggedTensor, Tensor)):
            raise TypeError(f"values must be a Tensor or RaggedTensor, got {values!r}")
        if row_splits.dtype.base_dtype not in INTEGERS:
            raise ValueError("Row-partitioning argument must be int32 or int64")
        row_splits.shape.assert_has_rank(1)
        values.shape.with_rank_at_least(1)
        if not context.executing_eagerly():
            row_splits.set_shape([None])
        if isinstance(values, RaggedTensor) and row_splits.dtype != values.row_splits.dtype:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        for cached in (cached_row_lengths, cached_value_rowids, cached_nrows):
            if cached is None:
                continue
            if not isinstance(cached, Tensor):
                raise TypeError("Cached value must be a Tensor or None.")
            if cached.dtype.base_dtype not in INTEGERS:
                raise TypeError("Cached value must be int32 or int64.")
        self._values: Any = values
        self._row_splits: Any = row_splits
        # What the rows were given by, so that nobody has to compute it from the splits again.
        self._cached_row_lengths = cached_row_lengths
        self._cached_value_rowids = cached_value_rowids
        self._cached_nrows = cached_nrows

    # -- made of values and a partition ------------------------------------------------------------------

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Returns the ragged tensor of which `value_rowids`, which ascend, say the row of each value."""
        _check_validate(validate)
        with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            values, rowids = _converted(values, value_rowids, "value_rowids")
            known_rowids: Any = constant_value(rowids)
            known: Any
            if nrows is not None:
                nrows = conversion.convert_to_tensor(nrows, rowids.dtype, "nrows")
                known = constant_value(nrows)
                _check_nrows(known, known_rowids)
            elif known_rowids is not None:
                known = int(known_rowids[-1]) + 1 if known_rowids.size else 0
                nrows = conversion.convert_to_tensor(known, rowids.dtype, name="nrows")
            else:
                known = None
                nrows = concat([rowids[-1:], [-1]], 0)[0] + 1
            rowids.shape.assert_has_rank(1)
            nrows.shape.assert_has_rank(0)
            values.shape[:1].assert_is_compatible_with(rowids.shape)
            if validate:
                what = "Arguments to from_value_rowids do not form a valid RaggedTensor"
                checks = [
                    required_vector(rowids, what),
                    required(raw.Equal(rows_of(values), rows_of(rowids)), what),
                    required(rowids[:1] >= 0, what),
                    required(rowids[1:] >= rowids[:-1], what),
                    required(rowids[-1:] < nrows, what),
                ]
                rowids = after(checks, rowids)
            count = cast(nrows, dtypes.int32)
            lengths = bincount(
                cast(rowids, dtypes.int32),
                minlength=count,
                maxlength=count,
                dtype=rowids.dtype.base_dtype,
            )
            splits = splits_of(lengths)
            if known is not None and not context.executing_eagerly():
                lengths.set_shape([int(known)])
                splits.set_shape([int(known) + 1])
            return cls(values, splits, lengths, rowids, nrows, internal=True)

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns the ragged tensor whose row i is `values[row_splits[i]:row_splits[i + 1]]`."""
        _check_validate(validate)
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values, splits = _converted(values, row_splits, "row_splits")
            splits.shape.assert_has_rank(1)
            if validate:
                what = "Arguments to from_row_splits do not form a valid RaggedTensor"
                checks = [
                    required_vector(splits, what),
                    required(raw.Equal(splits[0], splits.dtype.np.type(0)), what),
                    required(splits[1:] >= splits[:-1], what),
                    required(raw.Equal(splits[-1], rows_of(values, splits.dtype)), what),
                ]
                splits = after(checks, splits)
            return cls(values, splits, internal=True)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns the ragged tensor with rows of these lengths."""
        _check_validate(validate)
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            values, lengths = _converted(values, row_lengths, "row_lengths")
            lengths.shape.assert_has_rank(1)
            if validate:
                what = "Arguments to from_row_lengths do not form a valid RaggedTensor"
                total = reduce_sum(lengths)
                checks = [
                    required_vector(lengths, what),
                    required(lengths >= 0, what),
                    required(raw.Equal(total, rows_of(values, lengths.dtype)), what),
                ]
                lengths = after(checks, lengths)
            return cls(values, splits_of(lengths), lengths, internal=True)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns the ragged tensor whose rows begin at these positions."""
        _check_validate(validate)
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = _converted(values, row_starts, "row_starts")
            starts.shape.assert_has_rank(1)
            count: Any = rows_of(values, starts.dtype)
            if validate:
                what = "Arguments to from_row_starts do not form a valid RaggedTensor"
                checks = [
                    required_vector(starts, what),
                    required(raw.Equal(starts[:1], starts.dtype.np.type(0)), what),
                    required(starts[1:] >= starts[:-1], what),
                    required(raw.LessEqual(starts[-1:], count), what),
                ]
                starts = after(checks, starts)
            return cls(values, concat([starts, [count]], 0), internal=True)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns the ragged tensor whose rows end before these positions."""
        _check_validate(validate)
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            values, limits = _converted(values, row_limits, "row_limits")
            limits.shape.assert_has_rank(1)
            if validate:
                what = "Arguments to from_row_limits do not form a valid RaggedTensor"
                checks = [
                    required_vector(limits, what),
                    required(limits[:1] >= 0, what),
                    required(limits[1:] >= limits[:-1], what),
                    required(raw.Equal(limits[-1:], rows_of(values, limits.dtype)), what),
                ]
                limits = after(checks, limits)
            zero = np.zeros(1, limits.dtype.base_dtype.np)
            return cls(values, concat([zero, limits], 0), internal=True)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Any,
        nested_nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Returns the tensor with a ragged dimension for each of `nested_value_rowids`, the outermost first."""
        _check_validate(validate)
        _check_list(nested_value_rowids, "nested_value_rowids")
        if nested_nrows is None:
            nested_nrows = [None] * len(nested_value_rowids)
        else:
            _check_list(nested_nrows, "nested_nrows")
            if len(nested_nrows) != len(nested_value_rowids):
                raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        with name_scope(name, "RaggedFromNestedValueRowIds", [flat_values]):
            result = flat_values
            for rowids, nrows in reversed(list(zip(nested_value_rowids, nested_nrows))):
                result = cls.from_value_rowids(result, rowids, nrows, validate=validate)
            return result

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Returns the tensor with a ragged dimension for each of `nested_row_splits`, the outermost first."""
        _check_validate(validate)
        _check_list(nested_row_splits, "nested_row_splits")
        with name_scope(name, "RaggedFromNestedRowSplits", [flat_values]):
            result = flat_values
            for splits in reversed(nested_row_splits):
                result = cls.from_row_splits(result, splits, validate=validate)
            return result

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Returns the tensor with a ragged dimension for each of `nested_row_lengths`, the outermost first."""
        _check_validate(validate)
        _check_list(nested_row_lengths, "nested_row_lengths")
        with name_scope(name, "RaggedFromNestedRowlengths", [flat_values]):
            result = flat_values
            for lengths in reversed(nested_row_lengths):
                result = cls.from_row_lengths(result, lengths, validate=validate)
            return result

    # -- of other kinds of tensors -----------------------------------------------------------------------

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = dtypes.int64,
    ) -> RaggedTensor:
        """Returns the rows of a tensor without what is padding.

        `lengths` says how long each row is (or, as a list of vectors, those of several dimensions); `padding`
        is the value that is left out at the end of rows.
        """
        return dense.from_tensor(
            cls, tensor, lengths, padding, ragged_rank, name, dtypes.as_dtype(row_splits_dtype)
        )

    def to_tensor(self, default_value: Any = None, name: str | None = None) -> Tensor:
        """Returns a tensor that has room for the longest rows; the shorter end with `default_value`."""
        return dense.to_tensor(self, default_value, name)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64
    ) -> RaggedTensor:
        """Returns the rows of a sparse matrix, whose elements must leave no gaps in them."""
        return sparse.from_sparse(cls, st_input, name, dtypes.as_dtype(row_splits_dtype))

    def to_sparse(self, name: str | None = None) -> Any:
        """Returns the SparseTensor with the same elements."""
        return sparse.to_sparse(self, name)

    @classmethod
    def _from_variant(
        cls,
        encoded: Any,
        dtype: Any,
        output_ragged_rank: int,
        input_ragged_rank: int | None = None,
        name: str | None = None,
    ) -> RaggedTensor:
        return variant.from_variant(
            cls, encoded, dtype, output_ragged_rank, input_ragged_rank, name
        )

    def _to_variant(self, batched_input: bool = False, name: str | None = None) -> Tensor:
        return variant.to_variant(self, batched_input, name)

    # -- what it is like ---------------------------------------------------------------------------------

    @property
    def dtype(self) -> dtypes.DType:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape as the graph is built; ragged dimensions have size None."""
        rows = dimension_at_index(self._row_splits.shape, 0) - 1
        return TensorShape([rows, None]).concatenate(self._values.shape[1:])

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def graph(self) -> Any:
        return self._row_splits.graph

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are ragged."""
        return len(self.nested_row_splits)

    @property
    def values(self) -> Any:
        """All rows, one after another: a Tensor or a RaggedTensor."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        """Where the rows begin, and where the last one ends."""
        return self._row_splits

    @property
    def flat_values(self) -> Tensor:
        """The innermost values."""
        values = self._values
        while isinstance(values, RaggedTensor):
            values = values._values
        return values

    @property
    def nested_row_splits(self) -> tuple:
        """The splits of all ragged dimensions, the outermost first."""
        return tuple(level._row_splits for level in self._levels())

    def _levels(self) -> list[RaggedTensor]:
        """This tensor, its values, and so on as far as they are ragged."""
        levels: list[RaggedTensor] = []
        at: Any = self
        while isinstance(at, RaggedTensor):
            levels.append(at)
            at = at._values
        return levels

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Returns the row of each value."""
        if self._cached_value_rowids is not None:
            return self._cached_value_rowids
        with name_scope(name, "RaggedValueRowIds", [self._row_splits]):
            return row_of_each(self._row_splits, rows_of(self._values, self._row_splits.dtype))

    def nested_value_rowids(self, name: str | None = None) -> tuple:
        """Returns the row of each value, for all ragged dimensions."""
        with name_scope(name, "RaggedNestedValueRowIds", [self._row_splits]):
            return tuple(level.value_rowids() for level in self._levels())

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """Returns the number of rows."""
        out_type = (
            self._row_splits.dtype.base_dtype if out_type is None else dtypes.as_dtype(out_type)
        )
        if self._cached_nrows is not None:
            return cast(self._cached_nrows, out_type)
        with name_scope(name, "RaggedNRows", [self._row_splits]):
            return count_rows(self._row_splits, out_type) - 1

    def row_starts(self, name: str | None = None) -> Tensor:
        """Returns where each row begins."""
        with name_scope(name, "RaggedRowStarts", [self._row_splits]):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Returns where each row ends."""
        with name_scope(name, "RaggedRowLimits", [self._row_splits]):
            return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Returns the lengths of the rows along `axis`."""
        if axis == 1 and self._cached_row_lengths is not None:
            return self._cached_row_lengths
        with name_scope(name, "RaggedRowLengths", [self._row_splits]):
            axis = axis_from_start(axis, self.shape.rank)
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return lengths_of(self._row_splits)
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            dtype = self._row_splits.dtype.base_dtype
            sizes = shape_of.shape(self._values, out_type=dtype)
            return self.with_values(ones(sizes[: axis - 1], dtype) * sizes[axis - 1])

    def nested_row_lengths(self, name: str | None = None) -> tuple:
        """Returns the lengths of the rows, for all ragged dimensions."""
        with name_scope(name, "RaggedNestedRowLengths", [self._row_splits]):
            return tuple(level.row_lengths() for level in self._levels())

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Tensor:
        """Returns the shape that a tensor needs for all elements; of some dimensions if `axis` is given."""
        own = self._row_splits.dtype.base_dtype
        out_type = own if out_type is None else dtypes.as_dtype(out_type)
        with name_scope(name, "RaggedBoundingBox", [self._row_splits, axis]):
            if isinstance(axis, int) and axis == 0:
                return self.nrows(out_type)
            if isinstance(axis, int) and axis == 1:
                return cast(_longest(self._row_splits), out_type)
            sizes = [self.nrows(out_type)]
            sizes += [cast(_longest(splits), out_type) for splits in self.nested_row_splits]
            inner = shape_of.shape(self.flat_values, out_type=out_type)[1:]
            box = concat([stack(sizes), inner], 0)
            return box if axis is None else gather(box, axis)

    # -- with other parts --------------------------------------------------------------------------------

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Returns a ragged tensor with the same rows and other values."""
        new_values.shape.with_rank_at_least(1)
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        if (
            isinstance(new_values, RaggedTensor)
            and self._row_splits.dtype != new_values.row_splits.dtype
        ):
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use "
                "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
            )
        return RaggedTensor(
            new_values,
            self._row_splits,
            self._cached_row_lengths,
            self._cached_value_rowids,
            self._cached_nrows,
            internal=True,
        )

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Returns a ragged tensor with the same rows and other innermost values."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """Returns this tensor with the splits of all dimensions as int32 or int64."""
        dtype = dtypes.as_dtype(dtype)
        if dtype not in INTEGERS:
            raise ValueError("dtype must be int32 or int64")
        if self._row_splits.dtype.base_dtype is dtype:
            return self
        values = self._values
        if isinstance(values, RaggedTensor):
            values = values.with_row_splits_dtype(dtype)
        parts: Any = (self._cached_row_lengths, self._cached_value_rowids, self._cached_nrows)
        lengths, rowids, nrows = [None if p is None else cast(p, dtype) for p in parts]
        splits = cast(self._row_splits, dtype)
        return RaggedTensor(values, splits, lengths, rowids, nrows, internal=True)

    # -- as a value --------------------------------------------------------------------------------------

    def _is_eager(self) -> bool:
        return all(hasattr(part, "numpy") for part in self._nest_components())

    def to_list(self) -> list[Any]:
        """Returns the rows as nested lists, under eager execution."""
        if not self._is_eager():
            raise ValueError(
                "RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate the "
                "RaggedTensor first and then use RaggedTensorValue.to_list()."
            )
        return self._eager_value().to_list()

    def _eager_value(self) -> RaggedTensorValue:
        return self._fetched([part.numpy() for part in self._nest_components()])

    def _nest_components(self) -> list[Any]:
        return [self.flat_values, *self.nested_row_splits]

    def _nest_from_components(self, parts: list[Any]) -> RaggedTensor:
        return nested(parts[0], parts[1:])

    def _fetched(self, arrays: list[Any]) -> RaggedTensorValue:
        return nested_value(arrays[0], arrays[1:])

    def _fed(self, value: Any) -> list[Any]:
        return [value.flat_values, *value.nested_row_splits]

    def _as_graph_element(self) -> Tensor:
        return self.flat_values

    @property
    def _type_spec(self) -> Any:
        from weft.ops.ragged.spec import RaggedTensorSpec

        return RaggedTensorSpec.from_value(self)

    def _shape_invariant_to_type_spec(self, shape: Any) -> Any:
        from weft.ops.ragged.spec import RaggedTensorSpec

        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def __repr__(self) -> str:
        if self._is_eager():
            return f"<tf.RaggedTensor {self.to_list()}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    __str__ = __repr__

    def __iter__(self) -> Any:
        if not self._is_eager():
            raise TypeError("RaggedTensor is iterable only when eager execution is on.")
        return (self[i] for i in range(int(self.nrows())))  # type: ignore[index]

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")


# -- what else others need -----------------------------------------------------------------------------------


def nested(flat_values: Any, nested_splits: Any) -> Any:
    """The ragged tensor that has these innermost values and splits; the values where there are none."""
    result = flat_values
    for splits in reversed(list(nested_splits)):
        result = RaggedTensor(result, splits, internal=True)
    return result


def is_ragged(value: Any) -> bool:
    """Whether a value is a RaggedTensor or the value of one."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def takes(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call is for a ragged tensor: as an argument, or in a list that is one."""
    for value in (*args, *kwargs.values()):
        if is_ragged(value) or isinstance(value, (list, tuple)) and any(map(is_ragged, value)):
            return True
    return False


def tensor_or_ragged(
    value: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None
) -> Any:
    """The value as a Tensor, or as a RaggedTensor if it is ragged."""
    if isinstance(value, RaggedTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for RaggedTensor with "
                f"dtype {value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, RaggedTensorValue):
        with name_scope(name, "ConvertToTensorOrRaggedTensor", []):
            flat = conversion.convert_to_tensor(
                value.flat_values, dtype, "flat_values", preferred_dtype
            )
            return RaggedTensor.from_nested_row_splits(
                flat, value.nested_row_splits, validate=False
            )
    return conversion.convert_to_tensor(value, dtype, name, preferred_dtype)


def with_same_splits_dtype(*tensors: Any) -> tuple[Any, list[Any]]:
    """The dtype of the splits of all tensors that are ragged, which must be one, and the tensors."""
    found = {t.row_splits.dtype.base_dtype for t in tensors if isinstance(t, RaggedTensor)}
    if len(found) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use "
            "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
        )
    return (found.pop() if found else dtypes.int64), list(tensors)


def axis_from_start(axis: int, rank: int | None) -> int:
    """An axis as a number from 0."""
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if rank is not None:
        if -rank <= axis < rank:
            return axis % rank
        raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
    if axis < 0:
        raise ValueError("axis may only be negative if ndims is statically known.")
    return axis


def rows_of(tensor: Any, dtype: Any = dtypes.int32) -> Tensor:
    """The number of rows of a tensor, ragged or not."""
    if isinstance(tensor, RaggedTensor):
        return tensor.nrows(dtype.base_dtype)
    return count_rows(tensor, dtype.base_dtype)


def _longest(splits: Tensor) -> Tensor:
    lengths = lengths_of(splits)
    zero = np.zeros((), splits.dtype.base_dtype.np)
    return raw.Maximum(raw.Max(lengths, np.array([0], np.int32)), zero)


def _check_validate(validate: Any) -> None:
    if not isinstance(validate, bool):
        raise TypeError("validate must have type bool")


def _check_list(given: Any, name: str) -> None:
    if isinstance(given, Tensor):
        raise TypeError(f"{name} must be a list of Tensors")


def _check_nrows(count: Any, rowids: Any) -> None:
    if count is None:
        return
    if count < 0:
        raise ValueError(f"Expected nrows >= 0; got {count}")
    if rowids is not None and rowids.size and count < rowids[-1] + 1:
        raise ValueError(
            f"Expected nrows >= value_rowids[-1] + 1; got nrows={count}, value_rowids[-1]={rowids[-1]}"
        )


def _converted(values: Any, partition: Any, name: str) -> tuple[Any, Any]:
    """Values and a partition of their rows as tensors, whose splits have one dtype."""
    if isinstance(values, RaggedTensor):
        dtype = values.row_splits.dtype.base_dtype
        if not isinstance(partition, Tensor):
            return values, conversion.convert_to_tensor(partition, dtype, name)
        if partition.dtype.base_dtype not in INTEGERS:
            raise ValueError(f"{name} must have dtype int32 or int64")
        if partition.dtype.base_dtype is not dtype:
            raise ValueError(
                f"dtype mismatch: {name} ({partition.dtype!r}) vs values.row_splits ({dtype!r})"
            )
        return values, partition
    values = conversion.convert_to_tensor(values, name="values")
    if isinstance(partition, np.ndarray) and partition.dtype == np.int32:
        partition = conversion.convert_to_tensor(partition, name=name)
    else:
        partition = conversion.convert_to_tensor(partition, name=name, preferred_dtype=dtypes.int64)
    if partition.dtype.base_dtype not in INTEGERS:
        raise ValueError(f"{name} must have dtype int32 or int64")
    return values, partition


def _refuse(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    raise TypeError(
        f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}. Use its to_tensor(), "
        "or a function that takes ragged tensors."
    )


conversion.register_tensor_conversion_function((RaggedTensor, RaggedTensorValue), _refuse, 0)
