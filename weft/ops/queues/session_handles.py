"""Tensors that stay in a session between steps, behind handles that a program holds instead of their values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.export import export
from weft.framework.graph import colocate_with, device
from weft.framework.registry import op
from weft.framework.shape_rules import scalar
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw
from weft.ops.queues.handles import kept

_numbers = itertools.count(1)
_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def _values(ctx: Any) -> dict[str, Any]:
    return ctx.resources.get_or_create("session tensors", "", "", dict)


class TensorHandle:
    """A tensor that stays in the session; it goes when the handle goes, or at `delete`."""

    def __init__(self, handle: str, dtype: dtypes.DType, values: dict[str, Any]):
        self._handle, self._dtype, self._values = handle, dtype, values
        self._owns = True

    def __del__(self) -> None:
        if self._owns:
            self._values.pop(self._handle, None)

    def __str__(self) -> str:
        return self._handle

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        # Fed for a string it is its name, for anything else the tensor itself.
        if dtype is None or np.dtype(dtype).kind == "O":
            out = np.empty((), object)
            out[()] = self._handle.encode()
            return out
        return _found(self._values, self._handle)

    @property
    def handle(self) -> str:
        """The name of the tensor in the session, as `get_session_tensor` takes it."""
        return self._handle

    def _check(self) -> None:
        if not self._owns:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")

    def eval(self) -> Any:
        """Returns the value."""
        self._check()
        value = _found(self._values, self._handle)
        return value[()] if value.ndim == 0 else value.copy()

    def delete(self) -> None:
        """Forgets the tensor."""
        self._check()
        self._owns = False
        _delete(self._values, self._handle)

    def get_raw_handle(self) -> str:
        """Returns the name of the tensor, which from now on stays until it is deleted."""
        self._owns = False
        return self._handle


def _name(handle: Any) -> str:
    value = handle.item() if isinstance(handle, np.ndarray) else handle
    return value.decode() if isinstance(value, bytes) else str(value)


def _found(values: dict[str, Any], name: str) -> np.ndarray:
    value = values.get(name)
    if value is None:
        raise errors.InvalidArgumentError(
            None, None, f"The tensor with handle '{name}' is not in the session store."
        )
    return value


def _delete(values: dict[str, Any], name: str) -> None:
    if values.pop(name, None) is None:
        raise errors.InvalidArgumentError(
            None, None, f"Failed to delete a tensor with handle '{name}' in the session store."
        )


def _keep(ctx: Any, value: Any, dtype: dtypes.DType) -> Any:
    values = _values(ctx)
    name = f"{ctx.op.name};{next(_numbers)};{ctx.op.device or _DEVICE}"
    values[name] = kept(ctx, value)
    out = np.empty((), object)
    out[()] = TensorHandle(name, dtype, values)
    return out


@op("GetSessionHandle", "value: T -> handle: string", "T: type", stateful=True, host=True)
def get_session_handle_op(ctx, value, *, T):
    """Keeps a tensor in the session; gives its handle."""
    return _keep(ctx, value, T)


@op("GetSessionHandleV2", "value: T -> handle: resource", "T: type", stateful=True, host=True)
def get_session_handle_v2_op(ctx, value, *, T):
    """Keeps a tensor in the session; gives its handle."""
    return _keep(ctx, value, T)


@op("GetSessionTensor", "handle: string -> value: dtype", "dtype: type", stateful=True, host=True)
def get_session_tensor_op(ctx, handle, *, dtype):
    """The tensor that is kept behind a handle."""
    value = _found(_values(ctx), _name(handle))
    if value.dtype != dtype.np:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"The tensor with handle '{_name(handle)}' is of {value.dtype}, not of {dtype.name}.",
        )
    return value


@op("DeleteSessionTensor", "handle: string", stateful=True, host=True)
def delete_session_tensor_op(ctx, handle):
    """Forgets a tensor of the session."""
    _delete(_values(ctx), _name(handle))


get_session_handle_op.shape(lambda value: ())
get_session_handle_v2_op.shape(lambda value: ())


@get_session_tensor_op.shape
def _(handle):
    scalar(handle)
    return None


delete_session_tensor_op.shape(lambda handle: scalar(handle) and None)
for _decl in (
    get_session_handle_op,
    get_session_handle_v2_op,
    get_session_tensor_op,
    delete_session_tensor_op,
):
    _decl.not_differentiable()


@export("get_session_handle")
def get_session_handle(data: Any, name: str | None = None) -> Any:
    """Returns a tensor that, when it is fetched, keeps `data` in the session and is a handle of it."""
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with colocate_with(data):
        return get_session_handle_op(data, name=name)


def _on_device(handle: Any) -> Any:
    """Places operations where a handle says that its tensor is."""
    return device(_name(handle).split(";")[-1])


@export("get_session_tensor")
def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Any, Any]:
    """Returns a placeholder for handles such as this one, and the tensor that is kept behind what is fed."""
    with _on_device(handle):
        holder = raw.Placeholder(dtype=dtypes.string, shape=None)
        return holder, get_session_tensor_op(holder, dtype=dtype, name=name)


@export("delete_session_tensor")
def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Any, Any]:
    """Returns a placeholder for handles such as this one, and the operation that forgets what is fed."""
    with _on_device(handle):
        holder = raw.Placeholder(dtype=dtypes.string, shape=None)
        return holder, delete_session_tensor_op(holder, name=name)
