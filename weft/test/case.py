"""TestCase and the helpers around it."""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
import unittest
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from absl.testing import absltest, parameterized

from weft.framework import context, errors
from weft.framework.context import get_default_graph, reset_default_graph
from weft.framework.random_seed import set_random_seed
from weft.framework.tensor import Tensor
from weft.runtime.session import Session

_SEED = 87654321


class TestCase(parameterized.TestCase):
    """A test case with sessions, and with assertions for arrays and errors of ops."""

    def __init__(self, methodName: str = "runTest"):
        super().__init__(methodName)
        self._session: Any = None
        self._session_key: Any = None
        self._temporary: str | None = None

    def setUp(self) -> None:
        super().setUp()
        self._close_session()
        random.seed(_SEED)
        np.random.seed(_SEED)
        if not context.executing_eagerly():
            reset_default_graph()
        set_random_seed(_SEED)

    def tearDown(self) -> None:
        self._close_session()
        super().tearDown()

    def _close_session(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def get_temp_dir(self) -> str:
        """Returns a directory of this test's own."""
        if self._temporary is None:
            self._temporary = tempfile.mkdtemp(dir=get_temp_dir())
        return self._temporary

    # -- sessions

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """A new session that is the default inside."""
        if context.executing_eagerly():
            yield None
            return
        with Session(graph=graph, config=config) as sess, self._on(sess, use_gpu, force_gpu):
            yield sess

    @contextlib.contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """The test's one session, which lives until the test ends."""
        if context.executing_eagerly():
            yield None
            return
        key = (graph, config, force_gpu)
        if self._session is None:
            self._session, self._session_key = Session(graph=graph, config=config), key
        elif self._session_key != key:
            raise ValueError("The cached session was made with another graph, config or force_gpu.")
        sess = self._session
        with sess.graph.as_default(), sess.as_default(), self._on(sess, use_gpu, force_gpu):
            yield sess

    @contextlib.contextmanager
    def test_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """Deprecated: `cached_session`, or with a graph `session`."""
        if graph is None:
            if self._session is not None:
                self._session_key = (graph, config, force_gpu)
            with self.cached_session(graph, config, use_gpu, force_gpu) as sess:
                yield sess
        else:
            with self.session(graph, config, use_gpu, force_gpu) as sess:
                yield sess

    def _on(self, sess: Any, use_gpu: bool, force_gpu: bool) -> Any:
        if force_gpu:
            return sess.graph.device(gpu_device_name() or "/device:GPU:0")
        return contextlib.nullcontext() if use_gpu else sess.graph.device("/device:CPU:0")

    def evaluate(self, tensors: Any) -> Any:
        """Returns the values of tensors, in graph mode by the default session."""
        if context.executing_eagerly():
            from weft.framework import nest

            return nest.map_structure(lambda t: t.numpy() if hasattr(t, "numpy") else t, tensors)
        sess = context.get_default_session()
        if sess is None:
            with self.test_session() as sess:
                return sess.run(tensors)
        return sess.run(tensors)

    # -- assertions

    def _array(self, a: Any) -> np.ndarray:
        if isinstance(a, Tensor) or hasattr(a, "_as_graph_element"):
            a = self.evaluate(a)
        return a if isinstance(a, np.ndarray) else np.array(a)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1} != {f2} +/- {err}{msg or ''}")

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        self.assertEqual(len(farray1), len(farray2), msg=msg)
        for f1, f2 in zip(farray1, farray2):
            self.assertNear(float(f1), float(f2), err, msg=msg)

    def assertNDArrayNear(self, a: Any, b: Any, err: float, msg: str | None = None) -> None:
        self.assertTrue(np.linalg.norm(np.asarray(a) - np.asarray(b)) < err, msg=msg)

    def _close(self, a: Any, b: Any, rtol: float, atol: float, msg: Any, path: str) -> None:
        a = a._asdict() if hasattr(a, "_asdict") else a
        b = b._asdict() if hasattr(b, "_asdict") else b
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
                raise ValueError(f"Can't compare dict to non-dict, a{path} vs b{path}. {msg or ''}")
            self.assertCountEqual(a.keys(), b.keys(), msg)
            for k in a:
                self._close(a[k], b[k], rtol, atol, msg, f"{path}[{k}]")
            return
        if isinstance(a, (list, tuple)) and any(
            isinstance(x, (list, tuple, dict, np.ndarray)) for x in a
        ):
            if not _is_rectangular(a) or not _is_rectangular(b):
                self.assertEqual(
                    len(a), len(b), f"a{path} and b{path} differ in length. {msg or ''}"
                )
                for i, (x, y) in enumerate(zip(a, b)):
                    self._close(x, y, rtol, atol, msg, f"{path}[{i}]")
                return
        x, y = self._array(a), self._array(b)
        self.assertEqual(x.shape, y.shape, f"Shape mismatch: a{path} and b{path}. {msg or ''}")
        np.testing.assert_allclose(
            x,
            y,
            rtol=rtol,
            atol=atol,
            equal_nan=True,
            err_msg=f"a{path} is different from b{path}. {msg or ''}",
        )

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Asserts that two structures of arrays have near values."""
        self._close(a, b, rtol, atol, msg, "")

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """As `assertAllClose`, with a tolerance that fits the less precise of the two."""
        x, y = self._array(a), self._array(b)
        names = {x.dtype.name, y.dtype.name}
        if names & {"float32", "complex64"}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if "float16" in names:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if "bfloat16" in names:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
            x, y = x.astype(np.float32), y.astype(np.float32)
        self.assertAllClose(x, y, rtol=rtol, atol=atol, msg=msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Asserts that two arrays have the same values; NaN equals NaN."""
        x, y = self._array(a), self._array(b)
        self.assertEqual(
            x.shape, y.shape, f"Shape mismatch: expected {x.shape}, got {y.shape}. {msg or ''}"
        )
        same = x == y
        if x.dtype.kind in "fc" and y.dtype.kind in "fc":
            same = np.logical_or(same, np.logical_and(np.isnan(x), np.isnan(y)))
        if not np.all(same):
            where = np.argwhere(~np.atleast_1d(same))
            raise AssertionError(
                f"{msg or ''} arrays differ at {where[:10].tolist()}: {np.atleast_1d(x)[~np.atleast_1d(same)][:10]} "
                f"and {np.atleast_1d(y)[~np.atleast_1d(same)][:10]}"
            )

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        self.assertGreater(np.min(self._array(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        self.assertLess(np.max(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertGreaterEqual(np.min(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertLessEqual(np.max(self._array(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        x = self._array(target)
        low = x <= lower_bound if open_lower_bound else x < lower_bound
        high = x >= upper_bound if open_upper_bound else x > upper_bound
        if np.any(low | high | np.isnan(x)):
            raise AssertionError(f"values out of range: {x[low | high | np.isnan(x)][:10]}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        self.assertEqual(set(np.unique(self._array(target)).tolist()) - set(expected_set), set())

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        self.assertEqual(self._array(target).dtype, expected_dtype)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: Any = None) -> None:
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list(), msg=msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: Any = None) -> None:
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r}. {msg or ''}")

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        from weft.framework.device_names import canonical_device

        self.assertEqual(canonical_device(device1), canonical_device(device2), msg)

    def assertProtoEquals(
        self, expected_message_maybe_ascii: Any, message: Any, msg: Any = None
    ) -> None:
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)):
            from google.protobuf import text_format

            text, expected = expected, type(message)()
            text_format.Parse(text, expected)
        self.assertEqual(str(expected), str(message), msg)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]  # as TensorFlow has it
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """Asserts that an error is raised whose text, op and creation site match."""
        expected = expected_err_re_or_predicate
        try:
            yield
        except exception_type as e:
            if callable(expected):
                ok = expected(e)
            else:
                import re

                text = e.message if isinstance(e, errors.OpError) else str(e)
                if isinstance(e, errors.OpError) and e.op is not None:
                    text += f"\nCaused by op: {e.op.name}"
                ok = re.search(expected, text) is not None
            if not ok:
                raise AssertionError(f"Exception of type {type(e)}: {e} is not as expected") from e
            return
        self.fail(f"{exception_type} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    # names that Python's unittest has dropped since 2019
    assertEquals = unittest.TestCase.assertEqual
    assertItemsEqual = unittest.TestCase.assertCountEqual
    assertRaisesRegexp = unittest.TestCase.assertRaisesRegex
    assertRegexpMatches = unittest.TestCase.assertRegex
    assertNotEquals = unittest.TestCase.assertNotEqual
    assertAlmostEquals = unittest.TestCase.assertAlmostEqual
    assert_ = unittest.TestCase.assertTrue


def _is_rectangular(x: Any) -> bool:
    try:
        return np.array(x).dtype != object
    except ValueError:
        return False


class Benchmark:
    """A benchmark: methods called `benchmark...`, which report what they measured."""

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Any = None,
        name: str | None = None,
    ) -> None:
        """Prints one measurement."""
        name = name or type(self).__name__
        print(
            f"benchmark {name}: iters={iters} wall_time={wall_time} cpu_time={cpu_time} throughput={throughput} "
            f"extras={extras or {}}"
        )

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: Any = None,
        mbs: int = 0,
    ) -> dict[str, Any]:
        """Times a fetch in a session, reports the median and returns the figures."""
        import time

        del store_trace, store_memory_usage
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            times.append(time.perf_counter() - start)
        median = float(np.median(times))
        throughput = mbs / median if mbs else None
        self.report_benchmark(
            iters=min_iters, wall_time=median, throughput=throughput, extras=extras, name=name
        )
        return {"iters": min_iters, "wall_time": median, "name": name, "extras": extras or {}}


def main(argv: Any = None) -> None:
    """Runs the tests of the calling module."""
    absltest.main(argv=argv)


def get_temp_dir() -> str:
    """Returns a directory for files of tests."""
    where = os.environ.get("TEST_TMPDIR") or os.path.join(tempfile.gettempdir(), "weft_tests")
    os.makedirs(where, exist_ok=True)
    return where


def test_src_dir_path(relative_path: str) -> str:
    """Returns the path of a file in the directory of test sources."""
    return os.path.join(os.environ.get("TEST_SRCDIR", os.getcwd()), relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]  # not a test itself


def gpu_device_name() -> str:
    """Returns the name of a GPU, or "" where there is none."""
    from weft.runtime.devices import gpu_count

    return "/device:GPU:0" if gpu_count() else ""


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Returns whether there is a GPU."""
    del cuda_only, min_cuda_compute_capability
    return bool(gpu_device_name())


def is_built_with_cuda() -> bool:
    """Returns whether GPUs can be used at all: they come through JAX's plugin."""
    return bool(gpu_device_name())


is_built_with_gpu_support = is_built_with_cuda


def is_built_with_rocm() -> bool:
    return False


def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Raises AssertionError unless two GraphDefs have the same nodes and versions."""
    del checkpoint_v2, hash_table_shared_name
    a = {n.name: n for n in actual.node}
    b = {n.name: n for n in expected.node}
    for name in sorted(a.keys() | b.keys()):
        if name not in a or name not in b:
            raise AssertionError(
                f"Node {name} is only in the {'expected' if name in b else 'actual'} graph."
            )
        if a[name] != b[name]:
            raise AssertionError(f"Node {name} differs:\n{a[name]}\n{b[name]}")
    if actual.versions != expected.versions:
        raise AssertionError(f"Versions differ: {actual.versions} and {expected.versions}")


__all__ = ["TestCase", "get_default_graph", "main"]
