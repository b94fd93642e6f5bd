"""tf.TensorArray: an array of tensors that loops read and write."""

from __future__ import annotations

from typing import Any

from weft.framework import context, conversion, dtypes
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.shape_rules import Shape, compatible, merge
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, as_shape
from weft.framework.type_spec import TensorSpec, TypeSpec, register_type_spec_from_value_converter
from weft.ops.by_name import raw
from weft.ops.flow.tensor_array_eager import EagerArray
from weft.ops.flow.tensor_array_handles import HandleArray
from weft.ops.flow.tensor_array_lists import ListArray


@export("TensorArray")
class TensorArray:
    """An array of tensors, each of which is written once, for use with `while_loop` and `map_fn`.

    Every write gives a new TensorArray, whose `flow` stands for all writes so far. In graphs the flow is the
    list of the tensors itself; an array that wraps a `handle` of another one has TensorFlow 1's ops, which
    change what is behind the handle. Eagerly it is a Python list.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ):
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._dynamic_size = bool(dynamic_size)
        self._clear_after_read = clear_after_read is None or bool(clear_after_read)
        self._array_name = tensor_array_name or ""
        self._infer_shape = infer_shape
        self._colocate_with_first_write_call = colocate_with_first_write_call
        # Shared by all versions of an array: what is written to one tells the shape of the others' elements.
        self._element_shape_ref: list[Shape] = [as_shape(element_shape).dims_tuple]
        is_list = isinstance(flow, Tensor) and flow.dtype is dtypes.variant
        self._implementation: Any
        if context.executing_eagerly() and not is_list:
            if handle is not None:
                raise ValueError(
                    "TensorArray handles are not supported when eager execution is enabled."
                )
            if size is None:
                raise ValueError(
                    "Size must be declared for TensorArrays when eager execution is enabled."
                )
            self._implementation = EagerArray(self, size)
            return
        _check_arguments(
            size, handle, flow, tensor_array_name, element_shape, dynamic_size, clear_after_read
        )
        if handle is not None:
            self._implementation = HandleArray(self, handle, flow)
        else:
            self._implementation = ListArray.made(self, size, flow, name)

    # -- what it is

    @property
    def flow(self) -> Tensor:
        """The flow `Tensor` forcing ops leading to this TensorArray state."""
        return self._implementation.flow

    @property
    def dtype(self) -> dtypes.DType:
        """The data type of this TensorArray."""
        return self._dtype

    @property
    def handle(self) -> Any:
        """The reference to the TensorArray; None where its flow holds the tensors."""
        return self._implementation.handle

    @property
    def element_shape(self) -> TensorShape:
        """The `tf.TensorShape` of elements in this TensorArray."""
        return TensorShape.from_tuple(self._element_shape_ref[0])

    @property
    def dynamic_size(self) -> bool:
        """Whether the array may grow."""
        return self._dynamic_size

    @property
    def op(self) -> Any:
        return self.flow.op

    @property
    def graph(self) -> Any:
        return self.flow.graph

    def __repr__(self) -> str:
        return f"<TensorArray dtype={self._dtype.name} element_shape={self.element_shape}>"

    def _with(self, implementation: Any) -> TensorArray:
        new = TensorArray.__new__(TensorArray)
        new.__dict__.update(self.__dict__)
        new._implementation = implementation
        return new

    def _with_flow(self, flow: Tensor) -> TensorArray:
        """The array after what `flow` stands for."""
        return self._with(self._implementation.with_flow(flow))

    def _note_element(self, dims: Shape) -> None:
        """Checks the shape of an element that is written, and remembers it."""
        known = self._element_shape_ref[0]
        if not compatible(dims, known):
            raise ValueError(
                f"Inconsistent shapes: saw {TensorShape.from_tuple(dims)} but expected {self.element_shape} "
            )
        if self._infer_shape:
            self._element_shape_ref[0] = merge(known, dims)

    def _value(self, value: Any) -> Tensor:
        value = conversion.convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if value.dtype.base_dtype is not self._dtype:
            raise TypeError(
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                f"{value.dtype.base_dtype.name}"
            )
        return value

    # -- what it does

    def identity(self) -> TensorArray:
        """Returns a TensorArray with the same content and properties."""
        return self._with(self._implementation.identity())

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> TensorArray:
        """Returns the array of the gradients of this one, for the gradient calculation `source`."""
        self._implementation = self._implementation.with_handle()
        return self._with(self._implementation.grad(source, flow, name))

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Reads the value at location `index`."""
        return self._implementation.read(index, name)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Writes `value` into index `index`, and returns the array after that."""
        return self._with(self._implementation.write(index, value, name))

    def stack(self, name: str | None = None) -> Tensor:
        """Returns the values as a stacked tensor."""
        return self._implementation.stack(name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Returns selected values as a packed tensor."""
        return self._implementation.gather(indices, name)

    def concat(self, name: str | None = None) -> Tensor:
        """Returns the values as a concatenated tensor."""
        return self._implementation.concat(name)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Writes the rows of a tensor, and returns the array after that."""
        return self._with(self._implementation.unstack(value, name))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Writes the rows of a tensor at the given places, and returns the array after that."""
        return self._with(self._implementation.scatter(indices, value, name))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Writes pieces of a tensor, of these lengths, and returns the array after that."""
        return self._with(self._implementation.split(value, lengths, name))

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements."""
        return self._implementation.size(name)

    def close(self, name: str | None = None) -> Any:
        """Closes the array: what is behind a handle is given back."""
        return self._implementation.close(name)

    def _note_pieces(self, value: Tensor, lengths: Tensor) -> None:
        """Remembers the shape of pieces that are all of one length."""
        known = constant_value(lengths)
        if value._dims is not None and known is not None and known.ndim == 1 and known.size:
            if known.max() == known.min():
                self._note_element((int(known[0]), *value._dims[1:]))


def _check_arguments(
    size: Any,
    handle: Any,
    flow: Any,
    array_name: Any,
    element_shape: Any,
    dynamic_size: Any,
    clear_after_read: Any,
) -> None:
    if handle is not None:
        if array_name:
            raise ValueError("Cannot construct with both handle and tensor_array_name")
        if not isinstance(handle, Tensor):
            raise TypeError("Handle must be a Tensor")
        given = {
            "size": size,
            "element_shape": element_shape,
            "dynamic_size": dynamic_size,
            "clear_after_read": clear_after_read,
        }
        for what, value in given.items():
            if value is not None:
                raise ValueError(f"Cannot provide both a handle and {what} at the same time")
        if flow is None:
            raise ValueError("flow must not be None if handle is not None.")
        return
    if flow is not None:
        if not isinstance(flow, Tensor) or flow.dtype is not dtypes.variant:
            raise TypeError("flow must be a variant tensor")
        if size is not None:
            raise ValueError("Cannot provide both a flow and size at the same time")
        if element_shape is not None:
            raise ValueError("Cannot provide both a flow and element_shape at the same time")
    elif size is None:
        raise ValueError("Size must be provided if handle is not provided")


@export("TensorArraySpec")
class TensorArraySpec(TypeSpec):
    """What is known of a TensorArray: the shape and dtype of its elements, and whether it may grow."""

    value_type = property(lambda self: TensorArray)  # type: ignore[assignment]

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = dtypes.float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ):
        self._element_shape = as_shape(element_shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic_size, self._infer_shape = dynamic_size, infer_shape

    def _serialize(self) -> tuple:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape

    @property
    def _component_specs(self) -> list[Any]:
        return [TensorSpec([], dtypes.variant)]

    def _to_components(self, value: TensorArray) -> list[Tensor]:
        if value.flow is not None and value.flow.dtype is dtypes.variant:
            return [value.flow]
        from weft.ops.flow.tensor_array_lists import element_shape_input

        shape = element_shape_input(value.element_shape.dims_tuple)
        return [raw.TensorListFromTensor(value.stack(), shape)]

    def _from_components(self, components: list[Any]) -> TensorArray:
        array = TensorArray(
            self._dtype,
            flow=components[0],
            dynamic_size=self._dynamic_size,
            infer_shape=self._infer_shape,
        )
        array._element_shape_ref = [self._element_shape.dims_tuple]
        return array

    @staticmethod
    def from_value(value: TensorArray) -> TensorArraySpec:
        return TensorArraySpec(
            value.element_shape, value.dtype, value._dynamic_size, value._infer_shape
        )


register_type_spec_from_value_converter(
    TensorArray, TensorArraySpec.from_value, allow_subclass=True
)
