"""The op library, one file for a family. Importing it declares every op."""

# The order matters only for `arithmetic`, which gives Tensor its operators.
import weft.ops.array.constant
import weft.ops.math.elementwise  # noqa: F401
