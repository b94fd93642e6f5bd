"""The op library, one file for a family. Importing it declares every op."""

import weft.ops.array.concat
import weft.ops.array.constant
import weft.ops.array.fill
import weft.ops.array.gather
import weft.ops.array.identity
import weft.ops.array.reshape
import weft.ops.array.shape_of
import weft.ops.array.slice
import weft.ops.array.strided_slice
import weft.ops.array.getitem
import weft.ops.array.split
import weft.ops.array.broadcast
import weft.ops.array.gather_gradient
import weft.ops.array.grid
import weft.ops.array.pad
import weft.ops.array.scatter
import weft.ops.array.select
import weft.ops.array.transpose
import weft.ops.math.arithmetic
import weft.ops.math.bits
import weft.ops.math.cast
import weft.ops.math.comparison
import weft.ops.math.complex_numbers
import weft.ops.math.division
import weft.ops.math.elementary
import weft.ops.math.matmul
import weft.ops.math.operators
import weft.ops.math.reduce
import weft.ops.math.reduce_functions
import weft.ops.math.rounding
import weft.ops.state.gather
import weft.ops.state.reference
import weft.ops.state.resource
import weft.ops.state.scatter  # noqa: F401
