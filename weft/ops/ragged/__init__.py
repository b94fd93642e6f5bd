"""Ragged tensors: tensors some of whose dimensions have rows of different lengths.

A ragged tensor is its values, all rows one after another, and the splits, where each row begins and ends. The
functions here compute new splits and gather values; nothing goes through the rows one by one.
"""

# All of them, so that each takes its calls once there is a ragged tensor.
import weft.ops.ragged.concatenation
import weft.ops.ragged.constant
import weft.ops.ragged.dimensions
import weft.ops.ragged.elementwise
import weft.ops.ragged.gather
import weft.ops.ragged.grid
import weft.ops.ragged.map_rows
import weft.ops.ragged.operators
import weft.ops.ragged.partitions
import weft.ops.ragged.reduce
import weft.ops.ragged.segments
import weft.ops.ragged.spec
import weft.ops.ragged.where  # noqa: F401
