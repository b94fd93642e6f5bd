"""TensorArrays with a handle: TensorFlow 1's ops, which change what is behind the handle. The flow only says
what comes before what."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.context import get_default_graph
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw


class HandleArray:
    """A TensorArray behind a resource."""

    def __init__(self, owner: Any, handle: Tensor, flow: Tensor):
        self.owner, self.handle, self.flow = owner, handle, flow

    @staticmethod
    def made(owner: Any, size: Any, name: str | None = None) -> HandleArray:
        with name_scope(name, "TensorArray", None) as scope:
            handle, flow = raw.TensorArrayV3(
                size,
                dtype=owner._dtype,
                element_shape=owner._element_shape_ref[0],
                identical_element_shapes=owner._infer_shape,
                dynamic_size=owner._dynamic_size,
                clear_after_read=owner._clear_after_read,
                tensor_array_name=owner._array_name,
                name=scope,
            )
        return HandleArray(owner, handle, flow)

    def with_flow(self, flow: Tensor) -> HandleArray:
        return HandleArray(self.owner, self.handle, flow)

    def with_handle(self) -> HandleArray:
        return self

    def identity(self) -> HandleArray:
        return self.with_flow(raw.Identity(self.flow))

    def grad(self, source: str, flow: Any, name: str | None) -> HandleArray:
        flow = self.flow if flow is None else flow
        with name_scope(name, "TensorArrayGrad", [self.handle]):
            handle, _ = raw.TensorArrayGradV3(self.handle, flow, source=source, name=name)
            with get_default_graph().control_dependencies([handle]):
                flow = raw.Identity(flow, name="gradient_flow")
        return HandleArray(self.owner, handle, flow)

    def read(self, index: Any, name: str | None) -> Tensor:
        value = raw.TensorArrayReadV3(
            self.handle, index, self.flow, dtype=self.owner._dtype, name=name
        )
        value.set_shape(self.owner.element_shape)
        return value

    def write(self, index: Any, value: Any, name: str | None) -> HandleArray:
        owner = self.owner
        with name_scope(name, "TensorArrayWrite", [self.handle]):
            value = owner._value(value)
            owner._note_element(value._dims)
            flow = raw.TensorArrayWriteV3(self.handle, index, value, self.flow, name=name)
        return self.with_flow(flow)

    def stack(self, name: str | None) -> Tensor:
        with name_scope(name, "TensorArrayStack", [self.handle]):
            indices = raw.Range(np.asarray(0, np.int32), self.size(None), np.asarray(1, np.int32))
            return self.gather(indices, name)

    def gather(self, indices: Any, name: str | None) -> Tensor:
        return raw.TensorArrayGatherV3(
            self.handle,
            indices,
            self.flow,
            dtype=self.owner._dtype,
            element_shape=self.owner._element_shape_ref[0],
            name=name,
        )

    def concat(self, name: str | None) -> Tensor:
        dims = self.owner._element_shape_ref[0]
        value, _ = raw.TensorArrayConcatV3(
            self.handle,
            self.flow,
            dtype=self.owner._dtype,
            element_shape_except0=None if dims is None else dims[1:],
            name=name,
        )
        return value

    def unstack(self, value: Any, name: str | None) -> HandleArray:
        with name_scope(name, "TensorArrayUnstack", [self.handle]):
            value = self.owner._value(value)
            n = raw.StridedSlice(
                raw.Shape(value),
                np.asarray([0], np.int32),
                np.asarray([1], np.int32),
                np.asarray([1], np.int32),
                shrink_axis_mask=1,
            )
            indices = raw.Range(np.asarray(0, np.int32), n, np.asarray(1, np.int32))
            return self.scatter(indices, value, name)

    def scatter(self, indices: Any, value: Any, name: str | None) -> HandleArray:
        owner = self.owner
        with name_scope(name, "TensorArrayScatter", [self.handle]):
            value = owner._value(value)
            owner._note_element(None if value._dims is None else value._dims[1:])
            flow = raw.TensorArrayScatterV3(self.handle, indices, value, self.flow, name=name)
        return self.with_flow(flow)

    def split(self, value: Any, lengths: Any, name: str | None) -> HandleArray:
        owner = self.owner
        with name_scope(name, "TensorArraySplit", [self.handle]):
            value = owner._value(value)
            lengths = raw.Cast(conversion.convert_to_tensor(lengths), DstT=dtypes.int64)
            owner._note_pieces(value, lengths)
            flow = raw.TensorArraySplitV3(self.handle, value, lengths, self.flow, name=name)
        return self.with_flow(flow)

    def size(self, name: str | None) -> Tensor:
        return raw.TensorArraySizeV3(self.handle, self.flow, name=name)

    def close(self, name: str | None) -> Any:
        return raw.TensorArrayCloseV3(self.handle, name=name)
