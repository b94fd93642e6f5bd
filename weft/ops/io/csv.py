"""DecodeCSV: the fields of lines as columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import fail, rank_at_most
from weft.ops.strings.elements import as_bytes, invalid, of, shown
from weft.ops.strings.numbers import to_numbers

_UNTIL_LONE_QUOTE = re.compile(rb'(?:[^"]++|"")*+')
_LINE_END = re.compile(rb"[\r\n]")


def _fields(record: bytes, delimiter: bytes, quotes: bool, last: int) -> list[bytes]:
    """The fields of a line, with what is in quotes; not beyond the field number `last`."""
    fields: list[bytes] = []
    at, size = 0, len(record)
    while at < size:
        if record[at] in b"\r\n":
            at += 1
            continue
        if quotes and record[at] == ord('"'):
            found = _UNTIL_LONE_QUOTE.match(record, at + 1)
            assert found is not None  # it matches nothing, too
            end = found.end()
            if end >= size:
                raise ValueError("Quoted field has to end with quote followed by delim or end")
            if end < size - 1 and record[end + 1 : end + 2] != delimiter:
                raise ValueError("Quote inside a string has to be escaped by another quote")
            fields.append(found.group().replace(b'""', b'"'))
            at = end + 2
        else:
            end = record.find(delimiter, at)
            end = size if end < 0 else end
            field = record[at:end]
            if quotes and b'"' in field or _LINE_END.search(field):
                raise ValueError("Unquoted fields cannot have quotes/CRLFs inside")
            fields.append(field)
            at = end + 1
        if len(fields) > last:
            return fields
    if record.endswith(delimiter):
        fields.append(b"")
    return fields


def _columns(
    records: list[bytes], delimiter: bytes, quotes: bool, selected: list[int], count: int
) -> list[Sequence[bytes]]:
    """The columns of some lines: all, or those that are selected."""
    whole = b"".join(records)
    plain = not _LINE_END.search(whole) and not (quotes and b'"' in whole) and all(records)
    if plain:
        rows = list(map(bytes.split, records, repeat(delimiter)))
    else:
        last = selected[-1] if selected else len(whole)
        rows = []
        for i, record in enumerate(records):
            try:
                rows.append(_fields(record, delimiter, quotes, last))
            except ValueError as e:
                raise invalid(f"{e} (record {i}: '{shown(record[:200])}')") from None
    if selected:
        rows = [[row[i] for i in selected if i < len(row)] for row in rows]
    sizes = list(map(len, rows))
    if sizes.count(count) != len(sizes):
        i = next(i for i, size in enumerate(sizes) if size != count)
        raise invalid(f"Expect {count} fields but have {sizes[i]} in record {i}")
    return list(zip(*rows)) if rows else [()] * count


def _values(
    number: int, fields: Sequence[bytes], dtype: dtypes.DType, default: np.ndarray, missing: bytes
) -> np.ndarray:
    """One column: what is missing has the default."""
    gaps = b"" in fields or missing in fields
    is_missing = [field == b"" or field == missing for field in fields] if gaps else []
    if gaps and not default.size:
        raise invalid(f"Field {number} is required but missing in record {is_missing.index(True)}!")
    if dtype is dtypes.string:
        out = of(fields, (len(fields),))
    else:
        texts = [b"0" if m else f for m, f in zip(is_missing, fields)] if gaps else list(fields)
        out, bad = to_numbers(texts, dtype)
        if bad is not None:
            kind = {dtypes.float32: "float", dtypes.float64: "double"}.get(dtype, dtype.name)
            raise invalid(
                f"Field {number} in record {bad} is not a valid {kind}: {shown(texts[bad])}"
            )
    if gaps:
        out[is_missing] = default.reshape(-1)[0]
    return out


@op(
    "DecodeCSV",
    "records: string, record_defaults: OUT_TYPE -> output: OUT_TYPE",
    "OUT_TYPE: list(type) in {float, double, int32, int64, string} >= 1; field_delim: string = ','; "
    "use_quote_delim: bool = true; na_value: string = ''; select_cols: list(int) = []",
    host=True,
)
def decode_csv_op(
    xp, records, record_defaults, *, OUT_TYPE, field_delim, use_quote_delim, na_value, select_cols
):
    """The fields of lines as columns."""
    delimiter = as_bytes(field_delim)
    for i, default in enumerate(record_defaults):
        if default.size > 1:
            raise invalid(
                f"There should only be 1 default per field but field {i} has {default.size}"
            )
    lines = records.reshape(-1).tolist()
    columns = _columns(lines, delimiter, use_quote_delim, select_cols, len(OUT_TYPE))
    missing = as_bytes(na_value)
    return [
        _values(i, *column, missing).reshape(records.shape)
        for i, column in enumerate(zip(columns, OUT_TYPE, record_defaults))
    ]


@decode_csv_op.shape
def _(records, record_defaults, *, OUT_TYPE, field_delim, select_cols):
    for default in record_defaults:
        rank_at_most(default, 1)
        if default and default[0] is not None and default[0] > 1:
            fail("Shape of a default must be a length-0 or length-1 vector, or a scalar.", default)
    if len(as_bytes(field_delim)) != 1:
        raise invalid("field_delim should be only 1 char")
    if select_cols and len(select_cols) != len(OUT_TYPE):
        raise invalid("select_cols should match output size")
    if any(a >= b for a, b in zip(select_cols, select_cols[1:])):
        raise invalid("select_cols should be strictly increasing indices")
    if select_cols and select_cols[0] < 0:
        raise invalid("select_cols should be non-negative indices")
    return [records] * len(OUT_TYPE)


decode_csv_op.elementwise("records").not_differentiable()


@export("decode_csv", "io.decode_csv")
def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Any = None,
) -> Any:
    """Returns the columns of lines of comma-separated values (RFC 4180), one tensor for each of `record_defaults`.

    Args:
      records: the lines.
      record_defaults: for each column what stands in for a missing value; an empty vector where none may be missing.
      field_delim: the character between fields.
      use_quote_delim: whether quotes hold a field together.
      name: a name for the operation.
      na_value: what else says that a value is missing.
      select_cols: the numbers of the columns wanted, ascending; all by default.
    """
    if select_cols is not None:
        if any(a >= b for a, b in zip(select_cols, select_cols[1:])):
            raise ValueError("select_cols is not strictly increasing.")
        if select_cols[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select_cols) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    return decode_csv_op(
        records,
        record_defaults,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=select_cols,
        name=name,
    )


@export("compat.v2.io.decode_csv")
def decode_csv_v2(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
    name: str | None = None,
) -> Any:
    """Returns the columns of lines of comma-separated values, as `decode_csv`."""
    return decode_csv(
        records, record_defaults, field_delim, use_quote_delim, name, na_value, select_cols
    )
