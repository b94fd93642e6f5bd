"""Python functions as operations: py_func, numpy_function and py_function."""

from __future__ import annotations

import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import apply, context, conversion, dtypes, errors, registry
from weft.framework.export import export, find
from weft.framework.function_tracing import outermost
from weft.framework.registry import op
from weft.ops.by_name import raw

# -- the functions ------------------------------------------------------------------------------------------


class _Functions:
    """The Python functions that operations of this process name by token. A graph keeps its own alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0
        self._functions: weakref.WeakValueDictionary[str, _Registered] = (
            weakref.WeakValueDictionary()
        )

    def insert(self, function: Callable, owner: Any) -> str:
        with self._lock:
            token = f"pyfunc_{self._next}"
            self._next += 1
            registered = self._functions[token] = _Registered(function)
        owner.setdefault("python_functions", []).append(registered)
        return token

    def find(self, token: str) -> _Registered:
        registered = self._functions.get(token)
        if registered is None:
            raise errors.UnknownError(
                None,
                None,
                f"callback {token} is not found: the Python functions of a graph live in the process that built "
                "it.",
            )
        return registered


class _Registered:
    """A function, and what calls of it have recorded for their gradients."""

    def __init__(self, function: Callable):
        self.function = function
        self.tapes: list[Any] = []
        self.lock = threading.Lock()


functions = _Functions()
_eager_owner: dict[str, Any] = {}

_CLASSES = (
    (StopIteration, errors.OutOfRangeError),
    ((TypeError, ValueError), errors.InvalidArgumentError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
)


def _failed(e: Exception) -> errors.OpError:
    """The error of a step in which a Python function raised."""
    if isinstance(e, errors.OpError):
        return e
    cls = next((c for kinds, c in _CLASSES if isinstance(e, kinds)), errors.UnknownError)
    return cls(None, None, f"{type(e).__name__}: {e}\n{traceback.format_exc()}")


_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def _result(value: Any, dtype: dtypes.DType, i: int, token: str) -> np.ndarray:
    """What a function returned, as an array of the declared dtype."""
    if isinstance(value, (str, bytes)):
        out = np.empty((), object)
        out[()] = value.encode() if isinstance(value, str) else value
        array = out
    else:
        array = np.asarray(value)
    if array.dtype.kind in "US" or array.dtype == object:
        array = (
            np.vectorize(lambda x: x.encode() if isinstance(x, str) else x, otypes=[object])(
                array.astype(object)
            )
            if array.size
            else array.astype(object)
        )
    found = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
    if found is not dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{i}-th value returned by {token} is {_NAMES.get(found.name, found.name)}, but expects "
            f"{_NAMES.get(dtype.name, dtype.name)}",
        )
    return array.view()  # the function may keep the array itself


def _call(ctx: Any, input: list[Any], token: str, types: list[dtypes.DType]) -> list[np.ndarray]:
    registered = functions.find(token)
    # The function may write into its arguments, as NumPy code does.
    args = [_argument(x) for x in input]
    try:
        results = registered.function(*args)
    except Exception as e:
        raise _failed(e) from e
    if results is None:
        values: list[Any] = []
    elif isinstance(results, (list, tuple)):
        values = list(results)
    else:
        values = [results]
    if len(values) != len(types):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{token} returns {len(values)} values, but expects to see {len(types)} values.",
        )
    return [_result(v, t, i, token) for i, (v, t) in enumerate(zip(values, types))]


def _argument(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x[()] if x.ndim == 0 else x.copy()
    return x


_SIGNATURE = "token: string; Tin: list(type) >= 0; Tout: list(type) >= 0"


@op("PyFunc", "input: Tin -> output: Tout", _SIGNATURE, stateful=True, host=True)
def py_func_op(ctx, input, *, token, Tout):
    """Calls a Python function of NumPy arrays."""
    return _call(ctx, input, token, Tout)


@op("PyFuncStateless", "input: Tin -> output: Tout", _SIGNATURE, host=True)
def py_func_stateless_op(ctx, input, *, token, Tout):
    """Calls a Python function of NumPy arrays that always gives the same for the same arguments."""
    return _call(ctx, input, token, Tout)


@py_func_op.shape
@py_func_stateless_op.shape
def _(input, *, Tout):
    return [None] * len(Tout)


py_func_op.not_differentiable()
py_func_stateless_op.not_differentiable()


@op(
    "EagerPyFunc",
    "input: Tin -> output: Tout",
    "token: string; is_async: bool = false; Tin: list(type) >= 0; Tout: list(type) >= 0",
    stateful=True,
    host=True,
)
def eager_py_func_op(ctx, input, *, token, Tout):
    """Calls a Python function of concrete tensors, and records it for its gradient."""
    registered = functions.find(token)
    with context.execution_mode(True):
        tensors = [
            conversion.make_eager(x, t.dtype.base_dtype) for x, t in zip(input, ctx.op.inputs)
        ]
        try:
            results = registered.function(*tensors)
        except Exception as e:
            raise _failed(e) from e
        if results is None:
            values: list[Any] = []
        elif isinstance(results, (list, tuple)):
            values = list(results)
        else:
            values = [results]
        if len(values) != len(Tout):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{token} returns {len(values)} values, but expects to see {len(Tout)} values.",
            )
        arrays = []
        for v, t in zip(values, Tout):
            if v is None:
                raise errors.InvalidArgumentError(
                    None, None, f"{token} returned None where a value is declared."
                )
            try:
                array = conversion.convert_to_tensor(v, dtype=None if hasattr(v, "dtype") else t)
            except (TypeError, ValueError) as e:
                raise errors.InvalidArgumentError(None, None, str(e)) from None
            if array.dtype.base_dtype is not t:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"The value returned by {token} is {array.dtype.base_dtype.name}, but expects {t.name}",
                )
            arrays.append(array._host())
    return arrays


@eager_py_func_op.shape
def _(input, *, Tout):
    return [None] * len(Tout)


class _Recorded:
    """A function that keeps what a tape saw of its calls until their gradients are asked for."""

    _MOST = 64  # calls whose gradient nobody has asked for

    def __init__(self, function: Callable):
        self.function = function
        self.calls: list[tuple[Any, list[Any], list[Any]]] = []

    def __call__(self, *args: Any) -> Any:
        tape = find("", "GradientTape", "tf")(persistent=True)
        with tape:
            for t in args:
                if t.dtype.is_floating or t.dtype.is_complex:
                    tape.watch(t)
            results = self.function(*args)
        values = [] if results is None else results
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        values = [
            v
            if v is None or hasattr(v, "numpy") and hasattr(v, "_host")
            else conversion.convert_to_tensor(v)
            for v in values
        ]
        self.calls.append((tape, list(args), values))
        del self.calls[: -self._MOST]
        return results if results is None else values

    def gradient(self, *grads: Any) -> list[Any]:
        tape, inputs, outputs = self.calls.pop()
        ys = [(y, g) for y, g in zip(outputs, grads) if y.dtype.is_floating or y.dtype.is_complex]
        found = tape.gradient([y for y, _ in ys], inputs, output_gradients=[g for _, g in ys])
        return [raw.ZerosLike(x) if g is None else _dense(g) for x, g in zip(inputs, found)]


def _dense(grad: Any) -> Any:
    return conversion.convert_to_tensor(grad)


@eager_py_func_op.gradient
def _(op, *grads):
    token = op.get_attr("token").decode()
    recorded = functions.find(token).function
    grads = [raw.ZerosLike(t) if g is None else g for g, t in zip(grads, op.outputs)]
    with context.get_default_graph().control_dependencies(list(op.outputs)):
        _, results = _add(
            recorded.gradient, grads, [t.dtype.base_dtype for t in op.inputs], "EagerPyFunc", None
        )
    for r, t in zip(results, op.inputs):
        r._dims = t._dims
    return [
        r if t.dtype.is_floating or t.dtype.is_complex else None for r, t in zip(results, op.inputs)
    ]


# -- public functions ---------------------------------------------------------------------------------------


def _add(
    function: Callable, inp: Any, types: list[Any], kind: str, name: str | None
) -> tuple[Any, list[Any]]:
    """Adds an operation that calls a function; gives it and its outputs."""
    if context.executing_eagerly():
        owner = _eager_owner
    else:
        owner = outermost(context.get_default_graph())._extras
    token = functions.insert(function, owner)
    given = {"token": token, "Tout": types}
    operation, outputs, _ = apply.apply(registry.get(kind), [list(inp)], given, name)
    return operation, outputs


def _types(Tout: Any) -> tuple[list[dtypes.DType], bool]:
    is_list = isinstance(Tout, (list, tuple))
    return [dtypes.as_dtype(t) for t in (Tout if is_list else [Tout])], is_list


def _unpacked(added: tuple[Any, list[Any]], is_list: bool) -> Any:
    operation, outputs = added
    if not outputs:
        return operation
    return list(outputs) if is_list else outputs[0]


def _eager_results(results: Any, types: list[dtypes.DType], is_list: bool) -> Any:
    if results is None:
        return None
    values = list(results) if isinstance(results, (list, tuple)) else [results]
    tensors = [conversion.convert_to_tensor(v, dtype=t) for v, t in zip(values, types)]
    return tensors if is_list or len(tensors) != 1 else tensors[0]


@export("py_func")
def py_func(
    func: Callable, inp: Any, Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Returns what `func` makes of the values of `inp`, NumPy arrays, when the step runs.

    With `stateful=False` the function may be left out where its results are not needed anew.
    """
    types, is_list = _types(Tout)
    if context.executing_eagerly():
        args = [conversion.convert_to_tensor(x).numpy() for x in inp]
        return _eager_results(func(*args), types, is_list)
    kind = "PyFunc" if stateful else "PyFuncStateless"
    return _unpacked(_add(func, inp, types, kind, name), is_list)


@export("numpy_function")
def numpy_function(func: Callable, inp: Any, Tout: Any, name: str | None = None) -> Any:
    """Returns what `func` makes of the values of `inp`, NumPy arrays, when the step runs."""
    return py_func(func, inp, Tout, stateful=True, name=name)


@export("py_function", "contrib.eager.py_func")
def py_function(func: Callable, inp: Any, Tout: Any, name: str | None = None) -> Any:
    """Returns what `func` makes of the values of `inp`, concrete tensors, when the step runs; gradients flow
    through it."""
    types, is_list = _types(Tout)
    if context.executing_eagerly():
        args = [conversion.convert_to_tensor(x) for x in inp]
        return _eager_results(func(*args), types, is_list)
    return _unpacked(_add(_Recorded(func), inp, types, "EagerPyFunc", name), is_list)
