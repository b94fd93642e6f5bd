"""The op library, one file for a family.

Importing it declares the ops that most programs use; the others (`weft.ops.rest`) are declared once an op or a
public name is asked for that is not there yet.
"""

import importlib

import weft.ops.takers  # isort: skip  before what is exported
import weft.ops.array.broadcast
import weft.ops.array.concat
import weft.ops.array.constant
import weft.ops.array.diagonal
import weft.ops.array.fill
import weft.ops.array.gather
import weft.ops.array.gather_gradient
import weft.ops.array.getitem
import weft.ops.array.grid
import weft.ops.array.identity
import weft.ops.array.inplace
import weft.ops.array.numerics
import weft.ops.array.pad
import weft.ops.array.partition
import weft.ops.array.patches
import weft.ops.array.placeholders
import weft.ops.array.repeat
import weft.ops.array.reshape
import weft.ops.array.reverse
import weft.ops.array.scatter
import weft.ops.array.search
import weft.ops.array.select
import weft.ops.array.shape_of
import weft.ops.array.slice
import weft.ops.array.sort
import weft.ops.array.space_batch
import weft.ops.array.sparse_rows
import weft.ops.array.split
import weft.ops.array.strided_slice
import weft.ops.array.transpose
import weft.ops.array.unique
import weft.ops.flow.branch_gradient
import weft.ops.flow.case
import weft.ops.flow.cond
import weft.ops.flow.function_gradient
import weft.ops.flow.functional
import weft.ops.flow.grouping
import weft.ops.flow.list_gradients
import weft.ops.flow.list_ops
import weft.ops.flow.logging_ops
import weft.ops.flow.loop_gradient
import weft.ops.flow.print_function
import weft.ops.flow.py_func
import weft.ops.flow.sequence_functions
import weft.ops.flow.stack
import weft.ops.flow.switch_merge
import weft.ops.flow.tensor_array
import weft.ops.flow.tensor_array_ops
import weft.ops.flow.while_loop
import weft.ops.linalg.svd
import weft.ops.math.argmax
import weft.ops.math.arithmetic
import weft.ops.math.bits
import weft.ops.math.cast
import weft.ops.math.clip
import weft.ops.math.comparison
import weft.ops.math.complex_numbers
import weft.ops.math.counting
import weft.ops.math.division
import weft.ops.math.einsum
import weft.ops.math.elementary
import weft.ops.math.matmul
import weft.ops.math.norm
import weft.ops.math.of_sparse
import weft.ops.math.operators
import weft.ops.math.ranges
import weft.ops.math.reduce
import weft.ops.math.reduce_functions
import weft.ops.math.rounding
import weft.ops.math.scans
import weft.ops.math.segments
import weft.ops.math.sparse_operators
import weft.ops.math.sparse_segments
import weft.ops.math.special
import weft.ops.math.sums
import weft.ops.math.tensordot
import weft.ops.math.vectors
import weft.ops.nn.activations
import weft.ops.nn.batch_norm
import weft.ops.nn.bias
import weft.ops.nn.conv
import weft.ops.nn.conv_functions
import weft.ops.nn.conv_padded
import weft.ops.nn.data_formats
import weft.ops.nn.depthwise
import weft.ops.nn.embedding
import weft.ops.nn.fractional_pool
import weft.ops.nn.functions_v2
import weft.ops.nn.losses
import weft.ops.nn.lrn
import weft.ops.nn.moments
import weft.ops.nn.morphology
import weft.ops.nn.pool
import weft.ops.nn.pool_functions
import weft.ops.nn.softmax
import weft.ops.nn.space_to_batch
import weft.ops.nn.top_k
import weft.ops.ops_for_tests
import weft.ops.random.categories
import weft.ops.random.generator
import weft.ops.random.plain
import weft.ops.random.sampling
import weft.ops.random.stateless
import weft.ops.state.gather
import weft.ops.state.reference
import weft.ops.state.resource
import weft.ops.state.scatter
import weft.ops.state.training_rules  # noqa: F401
from weft.framework import export, registry


def _load_rest() -> None:
    importlib.import_module("weft.ops.rest")


registry.on_unknown_op(_load_rest)
export.lazy(export.ANYWHERE, "weft.ops.rest")
