"""Which public functions take sparse and ragged tensors, or linear operators, as well. Imported before the
functions are exported."""

from __future__ import annotations

from weft.framework.dispatch import take_calls

_SPARSE_UNARY = "abs negative sign square sqrt erf tanh math.bessel_i0e math.bessel_i1e"
take_calls("weft.ops.math.of_sparse", "map_values", *_SPARSE_UNARY.split())

# -- ragged: functions of each element ----------------------------------------------------------------------

_UNARY = """
    abs acos acosh angle asin asinh atan atanh bitwise.invert cast ceil check_numerics clip_by_value conj cos cosh
    digamma erf erfc exp expm1 floor identity imag io.decode_base64 io.decode_compressed io.encode_base64
    is_finite is_inf is_nan lgamma log log1p logical_not math.log_sigmoid negative ones_like real reciprocal rint
    round rsqrt saturate_cast sign sin sinh sqrt square strings.as_string strings.length
    strings.regex_full_match strings.regex_replace strings.strip strings.substr strings.to_hash_bucket
    strings.to_hash_bucket_fast strings.to_hash_bucket_strong strings.to_number strings.unicode_script substr
    tan zeros_like
"""
_BINARY = """
    add bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift bitwise.right_shift
    atan2 complex div_no_nan divide equal floordiv floormod greater greater_equal less less_equal logical_and
    logical_or logical_xor maximum minimum multiply not_equal pow realdiv squared_difference subtract truediv
    truncatediv truncatemod
"""
take_calls("weft.ops.ragged.elementwise", "of_one", *_UNARY.split())
take_calls("weft.ops.ragged.elementwise", "of_list", "add_n", "strings.join")
take_calls("weft.ops.ragged.elementwise", "of_two", *_BINARY.split())

# -- ragged: functions with a form of their own ---------------------------------------------------------------

_OWN = {
    "concatenation": "concat stack",
    "dimensions": "expand_dims rank size squeeze",
    "gather": "batch_gather gather gather_nd",
    "grid": "one_hot tile",
    "map_rows": "map_fn",
    "partitions": "dynamic_partition",
    "reduce": "reduce_all reduce_any reduce_join reduce_max reduce_mean reduce_min reduce_prod reduce_sum",
    "segments": "unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod "
    "unsorted_segment_sqrt_n unsorted_segment_sum",
    "where": "where",
}
for _module, _names in _OWN.items():
    for _name in _names.split():
        take_calls(f"weft.ops.ragged.{_module}", _name, _name)

# -- linear operators in place of matrices --------------------------------------------------------------------

_OF_MATRICES = "linalg.adjoint cholesky linalg.det linalg.diag_part linalg.inv linalg.logdet matmul linalg.solve trace"
take_calls("weft.linalg.operator_calls", "call", *_OF_MATRICES.split())
