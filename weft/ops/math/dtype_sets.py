"""Sets of dtypes of the math ops, as TensorFlow's declarations list them."""

FLOATS = "type in {bfloat16, half, float, double}"
FLOATS_COMPLEX = "type in {bfloat16, half, float, double, complex64, complex128}"
SIGNED = "type in {bfloat16, half, float, double, int32, int64}"
SIGNED_COMPLEX = "type in {bfloat16, half, float, double, int32, int64, complex64, complex128}"
ARITHMETIC = (
    "type in {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, "
    "complex64, complex128}"
)
ADDABLE = "type in {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}"
INTEGERS = "type in {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"
NO_NAN = "type in {half, float, double, complex64, complex128}"
WIDE_FLOATS = "type in {float, double}"
COMPARABLE = (
    "type in {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, quint8, "
    "qint8, qint32, string, bool, complex128}"
)
NUMBERS = (
    "type in {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64}"
)
REAL_NUMBERS = "type in {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
INDEX = "type in {int32, int64}"
