"""The ops that TensorFlow 1.15 carries for tests of graph construction and import: signatures, no kernels.

They are declared when an op type is asked for that the library does not know.
"""

from __future__ import annotations

from weft.framework import registry
from weft.framework.registry import op

# name | inputs -> outputs | attributes | flags
_TABLE = """
A |  -> out: float |
Attr |  ->  | a: int
AttrBool |  ->  | a: bool
AttrBoolList |  ->  | a: list(bool)
AttrDefault |  ->  | a: string = 'banana'
AttrEmptyListDefault |  ->  | a: list(float) = []
AttrEnum |  ->  | a: string in {apples, oranges}
AttrEnumList |  ->  | a: list(string) in {apples, oranges}
AttrFloat |  ->  | a: float
AttrListDefault |  ->  | a: list(int) = [5, 15]
AttrListMin |  ->  | a: list(int) >= 2
AttrListTypeDefault | a: N*T, b: N*T ->  | T: type = int32; N: int >= 1
AttrMin |  ->  | a: int >= 5
AttrPartialShape |  ->  | a: shape
AttrPartialShapeList |  ->  | a: list(shape)
AttrShape |  ->  | a: shape
AttrShapeList |  ->  | a: list(shape)
AttrTypeDefault | a: T ->  | T: type = int32
B |  -> out: float |
Binary | a: T, b: T -> out: T | T: type
ComplexStruct |  -> a: n_a*int32, b: n_b*int64, c: t_c | n_a: int >= 0; n_b: int >= 0; t_c: list(type) >= 0
ConstructionFails |  ->  |
CopyOp | a: T -> b: T | T: type
tensor_shape {
}
int_val: 1
; tensor_list_val: list(tensor) = []
DevicePlacementOp |  -> device: string |  | stateful
FiveFloatOutputs |  -> a: float, b: float, c: float, d: float, e: float |
FloatInput | a: float ->  |
FloatOutput |  -> a: float |
FloatOutputStringOutput |  -> a: float, b: string |
Foo1 | a: float, b: int32, c: int32 -> d: float, e: int32 |
Foo2 | a: float, b: string, c: string -> d: float, e: int32 |
Foo3 | a: float, b: string, c: float -> d: float, e: int32 |
FuncAttr |  ->  | f: func
FuncListAttr |  ->  | f: list(func)
GraphDefVersion |  -> version: int32 |  | stateful
InPolymorphicTwice | a: N*T, b: M*T ->  | T: type; N: int >= 0; M: int >= 0
Int64Output |  -> out: int64 |
IntAttr |  -> out: int64 | foo: int = 1
IntInput | a: int32 ->  |
IntInputFloatInput | a: int32, b: float ->  |
IntInputIntOutput | a: int32 -> b: int32 |
IntOutput |  -> a: int32 |
IntOutputFloatOutput |  -> a: int32, b: float |
KernelLabel |  -> result: string |
KernelLabelRequired | input: int32 -> result: string |
ListInput | a: N*T ->  | N: int >= 1; T: type
ListOutput |  -> a: T | T: list(type) >= 1
MixedStruct |  -> a: n_a*int32, b: float | n_a: int >= 0
NInPolymorphicTwice | a: N*T, b: N*T ->  | T: type; N: int >= 0
NInTwice | a: N*int32, b: N*string ->  | N: int >= 0
NInTwoTypeVariables | a: N*S, b: N*T ->  | S: type; T: type; N: int >= 0
NIntsIn | a: N*int32 ->  | N: int >= 2
NIntsOut |  -> a: N*int32 | N: int >= 2
NIntsOutDefault |  -> a: N*int32 | N: int >= 2 = 3
NPolymorphicIn | a: N*T ->  | T: type; N: int >= 2
NPolymorphicOut |  -> a: N*T | T: type; N: int >= 2
NPolymorphicOutDefault |  -> a: N*T | T: type = bool; N: int >= 2 = 2
NPolymorphicRestrictIn | a: N*T ->  | T: type in {string, bool}; N: int >= 2
NPolymorphicRestrictOut |  -> a: N*T | T: type in {string, bool}; N: int >= 2
None |  ->  |
Old |  ->  |
OpWithDefaultAttr |  -> a: int32 | default_float: float = 123.0
OpWithFutureDefaultAttr |  ->  |
OutT |  -> a: T | T: type
OutTypeList |  -> out: T | T: list(type) >= 0
OutTypeListRestrict |  -> out: t | t: list(type) in {string, bool} >= 1
Polymorphic | a: T -> out: T | T: type
PolymorphicDefaultOut |  -> out: T | T: type = string
PolymorphicOut |  -> out: T | T: type
RefIn | ref a: T ->  | T: type
RefInputFloatInput | ref a: float, b: float ->  |
RefInputFloatInputIntOutput | ref a: float, b: float -> c: int32 |
RefInputIntInput | ref a: int32, b: int32 ->  |
RefOut |  -> ref a: T | T: type
RefOutput |  -> ref a: int32 |
RefOutputFloatOutput |  -> ref a: float, b: float |
RequiresOlderGraphVersion |  -> version: int32 |  | stateful
ReservedAttr |  ->  | range: int
ReservedInput | input: int32 ->  |
ResourceCreateOp | resource: resource ->  |  | stateful
ResourceInitializedOp | resource: resource -> initialized: bool |  | stateful
ResourceUsingOp | resource: resource ->  |  | stateful
Restrict | a: T -> out: T | T: type in {string, bool}
Simple | a: int32 -> out: float |
SimpleStruct |  -> a: n_a*int32 | n_a: int >= 0
StringListAttr |  ->  | a: list(string); b: string
StubResourceHandleOp |  -> resource: resource | container: string = ''; shared_name: string = '' | stateful
TestAttr |  -> out: T | T: type in {float, double}
TestStringOutput | input: float -> output1: float, output2: string |
TwoFloatInputs | a: float, b: float ->  |
TwoFloatInputsFloatOutput | a: float, b: float -> c: float |
TwoFloatInputsIntOutput | a: float, b: float -> c: int32 |
TwoFloatOutputs |  -> a: float, b: float |
TwoIntInputs | a: int32, b: int32 ->  |
TwoIntOutputs |  -> a: int32, b: int32 |
TwoRefsIn | ref a: T, ref b: T ->  | T: type
TypeList | a: T ->  | T: list(type) >= 0
TypeListRestrict | a: T ->  | T: list(type) in {string, bool} >= 1
TypeListTwice | a: T, b: T ->  | T: list(type) >= 0
Unary | a: T -> b: T | T: type
"""


def declare() -> None:
    """Declares the ops of the table."""
    for line in _TABLE.strip().splitlines():
        name, args, attrs, flags, *_ = [*(part.strip() for part in line.split("|")), "", "", ""]
        decl = op(name, args, attrs, stateful=flags == "stateful", host=True)(None)
        decl.not_differentiable()


registry.on_unknown_op(declare)
