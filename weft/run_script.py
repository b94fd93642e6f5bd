"""Runs a program as plain `python` does, with `import tensorflow` giving weft."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
import types
from typing import Any

from weft.compatibility import install_as_tensorflow


def end_with_launcher() -> None:
    """Ends this process, and what it starts, when the process that has launched it is gone, however it went."""
    launcher = os.environ.pop("WEFT_LAUNCHER", "")
    if not launcher.isdigit() or os.getppid() != int(launcher):
        return

    def watch() -> None:
        while os.getppid() == int(launcher):
            time.sleep(1.0)
        os.killpg(0, signal.SIGKILL)  # the launcher has given it a group of its own

    threading.Thread(target=watch, daemon=True, name="weft-launcher").start()


def run_script(path: str, args: list[str]) -> None:
    """Runs a file as `__main__` with these arguments; ends the process as the program does."""
    if os.path.isdir(path):
        inner = os.path.join(path, "__main__.py")
        if not os.path.exists(inner):
            sys.exit(f"weft run: can't find '__main__' module in {path!r}")
        first, path = path, inner
    else:
        first = os.path.dirname(os.path.abspath(path))
    try:
        with io.open_code(os.path.abspath(path)) as f:
            source = f.read()
    except OSError as e:
        print(
            f"weft run: can't open file {path!r}: [Errno {e.errno}] {e.strerror}", file=sys.stderr
        )
        sys.exit(2)
    install_as_tensorflow()
    _execute(source, path, args, first, None)


def run_module(name: str, args: list[str]) -> None:
    """Runs a module as `python -m` does."""
    import runpy

    install_as_tensorflow()
    sys.argv = [name, *args]
    sys.path.insert(0, os.getcwd())
    _guarded(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True))


def _execute(source: bytes, path: str, args: list[str], first: str, spec: Any) -> None:
    sys.argv = [path, *args]
    if sys.path and sys.path[0] in ("", os.path.dirname(os.path.abspath(sys.executable))):
        sys.path[0] = first
    else:
        sys.path.insert(0, first)
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__, __spec__=spec, __cached__=None)
    sys.modules["__main__"] = main

    def go() -> None:
        exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)

    _guarded(go)


def _guarded(go: Any) -> None:
    """Runs the program; a traceback shows its own calls only."""
    try:
        go()
    except SystemExit:
        raise
    except BaseException as e:
        trace = e.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename in (
            __file__,
            "<frozen runpy>",
        ):
            trace = trace.tb_next
        sys.excepthook(type(e), e.with_traceback(trace), trace)
        if isinstance(e, KeyboardInterrupt):
            sys.exit(130)
        sys.exit(1)
