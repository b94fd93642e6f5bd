"""TensorArrays in graphs: the flow is a variant tensor that holds the list of the elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes, function_tracing
from weft.framework.context import get_default_graph
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw
from weft.ops.flow.list_gradients import element_shape_input


class ListArray:
    """A TensorArray whose flow is a list of tensors."""

    handle = None

    def __init__(self, owner: Any, flow: Tensor, size: Any, once: bool):
        self.owner, self.flow = owner, flow
        self._size = size  # of an array that was never written to, else None
        # Under TensorFlow 1's rules an element is written once, and errors read as its ops' errors.
        self._once = once

    @staticmethod
    def made(owner: Any, size: Any, flow: Any, name: str | None) -> ListArray:
        once = not (
            function_tracing.control_flow_v2 or function_tracing.in_function(get_default_graph())
        )
        if flow is not None:
            return ListArray(owner, flow, None, once)
        values = [size] if isinstance(size, Tensor) else None
        with name_scope(name, "TensorArray" if once else "TensorArrayV2", values) as scope:
            size = conversion.convert_to_tensor(size, dtype=dtypes.int32, name="size")
            flow = raw.TensorListReserve(
                element_shape_input(owner._element_shape_ref[0]),
                size,
                element_dtype=owner._dtype,
                name=scope,
            )
        return ListArray(owner, flow, size, once)

    def with_flow(self, flow: Tensor) -> ListArray:
        return ListArray(self.owner, flow, None, self._once)

    def with_handle(self) -> Any:
        """The same array with a handle; only one that nothing was written to can have one."""
        from weft.ops.flow.tensor_array_handles import HandleArray

        if self._size is None or not self._once:
            raise NotImplementedError(
                "TensorArray.grad needs an array with a handle: call it on the array that nothing has been "
                "written to yet. tf.gradients needs no such array."
            )
        return HandleArray.made(self.owner, self._size)

    def _shape(self) -> np.ndarray:
        return element_shape_input(self.owner._element_shape_ref[0])

    def _marked(self, flow: Tensor) -> Tensor:
        if self._once:
            flow.op._attrs["_tensor_array"] = self.owner._array_name.encode()
        return flow

    def identity(self) -> ListArray:
        return self.with_flow(raw.Identity(self.flow))

    def grad(self, source: str, flow: Any, name: str | None) -> Any:
        raise NotImplementedError("TensorArray.grad is for arrays with a handle; use tf.gradients.")

    def read(self, index: Any, name: str | None) -> Tensor:
        with name_scope(name, "TensorArrayReadV3", [self.flow]):
            value = raw.TensorListGetItem(
                self.flow, index, self._shape(), element_dtype=self.owner._dtype, name=name
            )
        return self._marked(value)

    def write(self, index: Any, value: Any, name: str | None) -> ListArray:
        owner = self.owner
        with name_scope(name, "TensorArrayWrite", [self.flow]):
            value = owner._value(value)
            owner._note_element(value._dims)
            handle = self.flow
            if owner._dynamic_size:
                index = conversion.convert_to_tensor(index, dtype=dtypes.int32)
                needed = raw.AddV2(index, np.asarray(1, np.int32))
                size = raw.Maximum(raw.TensorListLength(handle), needed)
                handle = raw.TensorListResize(handle, size)
            flow = raw.TensorListSetItem(handle, index, value, name=name)
        return self.with_flow(self._marked(flow))

    def stack(self, name: str | None) -> Tensor:
        with name_scope(name, "TensorArrayStack", [self.flow]):
            return raw.TensorListStack(
                self.flow, self._shape(), element_dtype=self.owner._dtype, num_elements=-1
            )

    def gather(self, indices: Any, name: str | None) -> Tensor:
        return raw.TensorListGather(
            self.flow, indices, self._shape(), element_dtype=self.owner._dtype, name=name
        )

    def concat(self, name: str | None) -> Tensor:
        dims = self.owner._element_shape_ref[0]
        if dims and not self._once:
            dims = (None, *dims[1:])
        joined = raw.TensorListConcatV2(
            self.flow,
            element_shape_input(dims),
            np.zeros(0, np.int64),
            element_dtype=self.owner._dtype,
            name=name,
        )
        return joined[0]

    def unstack(self, value: Any, name: str | None) -> ListArray:
        owner = self.owner
        with name_scope(name, "TensorArrayUnstack", [self.flow]):
            value = owner._value(value)
            dims = None if value._dims is None else value._dims[1:]
            owner._note_element(dims)
            return self.with_flow(raw.TensorListFromTensor(value, element_shape_input(dims)))

    def scatter(self, indices: Any, value: Any, name: str | None) -> ListArray:
        owner = self.owner
        with name_scope(name, "TensorArrayScatter", [self.flow]):
            value = owner._value(value)
            owner._note_element(None if value._dims is None else value._dims[1:])
            flow = raw.TensorListScatterIntoExistingList(self.flow, value, indices, name=name)
        return self.with_flow(flow)

    def split(self, value: Any, lengths: Any, name: str | None) -> ListArray:
        owner = self.owner
        with name_scope(name, "TensorArraySplit", [self.flow]):
            value = owner._value(value)
            lengths = raw.Cast(conversion.convert_to_tensor(lengths), DstT=dtypes.int64)
            owner._note_pieces(value, lengths)
            flow = raw.TensorListSplit(value, self._shape(), lengths, name=name)
        return self.with_flow(self._marked(flow))

    def size(self, name: str | None) -> Tensor:
        return raw.TensorListLength(self.flow, name=name)

    def close(self, name: str | None) -> Any:
        return raw.NoOp(name=name)
