"""The families of ops that few programs use: imported when one of their ops or names is first asked for."""
# ruff: noqa: F401

import weft.ops.audio.features
import weft.ops.flow.optional
import weft.ops.image.boxes
import weft.ops.image.codecs
import weft.ops.image.colors
import weft.ops.image.combined_suppression
import weft.ops.image.distorted_box
import weft.ops.image.glimpse
import weft.ops.image.resize
import weft.ops.image.scale_translate
import weft.ops.image.suppression
import weft.ops.linalg.batch_forms
import weft.ops.linalg.cholesky
import weft.ops.linalg.eigen
import weft.ops.linalg.least_squares
import weft.ops.linalg.matrix_functions
import weft.ops.linalg.qr
import weft.ops.linalg.solve
import weft.ops.linalg.triangular
import weft.ops.linalg.tridiagonal
import weft.ops.queues.queue_base
import weft.ops.queues.queue_ops
import weft.ops.state.checkpoint  # noqa: F401
import weft.ops.sparse.arithmetic
import weft.ops.sparse.conversions
import weft.ops.sparse.embedding
import weft.ops.sparse.functions
import weft.ops.sparse.serialize
import weft.ops.sparse.tensors_map
import weft.ops.strings.base64_text
import weft.ops.strings.case
import weft.ops.strings.hashing
import weft.ops.strings.join
import weft.ops.strings.ngrams
import weft.ops.strings.numbers
import weft.ops.strings.regex
import weft.ops.strings.split
import weft.ops.strings.substring
import weft.ops.strings.unicode
