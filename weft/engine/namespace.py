"""`xp`: the array namespace that kernels are written in. The engine picks one per node.

It is NumPy's or jax.numpy's, by attribute, plus the few things on which the two differ. A kernel
that must tell them apart asks `xp.is_numpy`.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.engine.packing import Packed
from weft.framework import constant_value, errors
from weft.ops.flow.traced_list import TracedList


class NumpyNamespace:
    """NumPy, for cold work and for host constants."""

    is_numpy = True

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        setattr(self, name, value)
        return value

    @property
    def special(self) -> Any:
        """Special functions: erf, lgamma, digamma, ..."""
        import scipy.special

        self.__dict__["special"] = scipy.special
        return scipy.special

    @staticmethod
    def check(ok: Any, message: Callable[[], str], error: Any = None) -> None:
        """Raises an error (InvalidArgumentError by default) unless all of `ok` is true."""
        if not np.all(ok):
            raise (error or errors.InvalidArgumentError)(None, None, message())

    @staticmethod
    def constant(x: Any) -> Any:
        return x

    @staticmethod
    def settle(new: Any, old: Any) -> Any:
        """The new value of a variable, where more follows from it: XLA then computes it once."""
        return new

    # Indexed updates: of a copy, since kernels never write to their inputs.

    @staticmethod
    def scatter(array: Any, index: Any, updates: Any, how: str = "update") -> Any:
        """A copy of `array` in which the elements at `index` (a tuple, as for `array[index]`) are
        changed.

        Repeated positions take effect each: `how` is update (the last wins), add, sub, mul, div,
        min, max.
        """
        out = np.array(array)
        NumpyNamespace.scatter_into(out, index, updates, how)
        return out

    @staticmethod
    def scatter_into(array: np.ndarray, index: Any, updates: Any, how: str = "update") -> None:
        """Changes the elements of `array` itself; for arrays that the caller alone can see."""
        from weft.engine import scatter

        scatter.scatter_into(array, index, updates, how)

    @staticmethod
    def bitcast(x: Any, dtype: Any) -> Any:
        """The same bits as another dtype of the same width."""
        return np.ascontiguousarray(x).view(dtype)


class JaxNamespace:
    """jax.numpy, while a segment is traced."""

    is_numpy = False

    def __init__(self) -> None:
        jax = load_jax()
        self.jax = jax
        self.lax = jax.lax
        self.jnp = jax.numpy

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.jnp, name)
        setattr(self, name, value)
        return value

    @property
    def special(self) -> Any:
        import jax.scipy.special

        self.__dict__["special"] = jax.scipy.special
        return jax.scipy.special

    @staticmethod
    def check(ok: Any, message: Callable[[], str], error: Any = None) -> None:
        """Notes a condition of the traced step; where it fails the step is run again by the
        interpreter, which raises the exact error."""
        from weft.engine import tracing

        tracing.note_check(ok, message, error)

    @property
    def context(self) -> Any:
        """The context of the trace that is under way."""
        from weft.engine import tracing

        return tracing.current_context()

    def constant(self, x: Any) -> Any:
        return self.jnp.asarray(x)

    def settle(self, new: Any, old: Any) -> Any:
        """The new value of a variable as it will be kept: the old one where a condition has failed.

        What is computed from the value that is kept is computed after it, in place. Otherwise XLA
        would compute the new value a second time from the old one, and for that copy the old one.
        """
        return self.context.settled(new, old)

    def scatter(self, array: Any, index: Any, updates: Any, how: str = "update") -> Any:
        """As NumPy's; positions out of bounds are dropped."""
        array = self.jnp.asarray(array)
        at = array.at[index]
        if how == "update":
            return at.set(updates, mode="drop")
        if how == "sub":
            return at.add(-updates, mode="drop")
        if how == "add":
            return at.add(updates, mode="drop")
        if how == "mul":
            return at.multiply(updates, mode="drop")
        if how == "div":
            if array.dtype.kind in "iu":
                raise NotImplementedError("integer scatter_div is not compiled")
            return at.multiply(1 / updates, mode="drop")
        return (at.min if how == "min" else at.max)(updates, mode="drop")

    def bitcast(self, x: Any, dtype: Any) -> Any:
        return self.lax.bitcast_convert_type(x, dtype)


_XLA_FLAGS = "--xla_cpu_experimental_ynn_fusion_type=LIBRARY_FUSION_TYPE_DOT"
NVIDIA_DRIVER = "/dev/nvidiactl"  # is there where a GPU may be
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of glibc's mallopt
_lock = threading.RLock()
_jax: Any = None
_jax_namespace: JaxNamespace | None = None


def _keep_freed_memory() -> None:
    """Tells the C library to keep large freed blocks for the next call, in one arena for all
    threads.

    Otherwise each step maps fresh pages for its temporary arrays, and the kernel clears them
    (measured with XLA: ten million uniform numbers take 24 ms instead of 11, the gradient of a 3x3
    max-pool 54 ms of processor time instead of 16).
    """
    if any(name.startswith("MALLOC_") for name in os.environ):
        return  # the user has tuned it
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # not glibc
        return
    if not os.path.exists(NVIDIA_DRIVER):  # its many threads would wait for each other at one arena
        mallopt(_M_ARENA_MAX, 1)  # blocks of other arenas are mapped and unmapped each time
    mallopt(_M_MMAP_THRESHOLD, 1 << 30)
    mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)


_keep_freed_memory()  # before there are threads


def load_jax() -> Any:
    """Imports JAX, with 64-bit types and the flags under which XLA is quick on a CPU."""
    global _jax
    if _jax is None:
        with _lock:
            if _jax is None:
                flags = os.environ.get("XLA_FLAGS", "")
                if "ynn_fusion_type" not in flags:
                    os.environ["XLA_FLAGS"] = f"{flags} {_XLA_FLAGS}".strip()
                import jax

                # Which devices this machine lacks is no news to a program that shows what is logged.
                logging.getLogger("jax._src.xla_bridge").setLevel(logging.WARNING)
                jax.config.update("jax_enable_x64", True)
                trees: tuple[Any, ...] = (TracedList, Packed)
                for tree in trees:
                    jax.tree_util.register_pytree_node(tree, tree.flatten, tree.unflatten)
                _jax = jax
    return _jax


numpy_namespace = NumpyNamespace()


def jax_namespace() -> JaxNamespace:
    global _jax_namespace
    if _jax_namespace is None:
        with _lock:
            if _jax_namespace is None:
                _jax_namespace = JaxNamespace()
    return _jax_namespace


constant_value.array_namespace = numpy_namespace
