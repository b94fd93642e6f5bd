"""`tf.logging`: the logger "tensorflow" with TensorFlow's levels and line format."""

from __future__ import annotations

import logging as _logging
import sys
import threading
import time
from typing import Any

from weft.framework.export import export_all

DEBUG, INFO, WARN, ERROR, FATAL = (
    _logging.DEBUG,
    _logging.INFO,
    _logging.WARNING,
    _logging.ERROR,
    _logging.CRITICAL,
)
_LETTERS = {FATAL: "F", ERROR: "E", WARN: "W", INFO: "I", DEBUG: "D"}
_lock = threading.Lock()
_logger: _logging.Logger | None = None
_counts: dict[Any, int] = {}


def get_logger() -> _logging.Logger:
    """Returns the logger of TensorFlow's messages."""
    global _logger
    if _logger is None:
        with _lock:
            if _logger is None:
                logger = _logging.getLogger("tensorflow")
                logger.setLevel(WARN if logger.level == _logging.NOTSET else logger.level)
                if not _logging.getLogger().handlers and not logger.handlers:
                    interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive)
                    if interactive:
                        logger.setLevel(INFO)
                    handler = _logging.StreamHandler(sys.stdout if interactive else sys.stderr)
                    handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT, None))
                    logger.addHandler(handler)
                _logger = logger
    return _logger


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs a message at a level."""
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().debug(msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().info(msg, *args, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().error(msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().critical(msg, *args, **kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().log(level, msg, *args, **kwargs)


def _count(token: Any) -> int:
    count = _counts.get(token, -1) + 1
    _counts[token] = count
    return count


def _caller() -> tuple[str, int]:
    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Logs every n-th call from one place, the first included."""
    count = _count(_caller())
    log_if(level, msg, not count % n, *args)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Logs the first n calls from one place."""
    count = _count(_caller())
    log_if(level, msg, count < n, *args)


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Logs where a condition holds."""
    if condition:
        log(level, msg, *args)


def TaskLevelStatusMessage(msg: Any) -> None:
    error(msg)


def flush() -> None:
    """Writes out what the handlers hold."""
    for handler in get_logger().handlers:
        handler.flush()


def get_verbosity() -> int:
    """Returns the level from which messages are shown."""
    return get_logger().getEffectiveLevel()


_NAMES = {
    "DEBUG": DEBUG,
    "INFO": INFO,
    "WARN": WARN,
    "WARNING": WARN,
    "ERROR": ERROR,
    "FATAL": FATAL,
}


def set_verbosity(v: Any) -> None:
    """Sets the level from which messages are shown."""
    get_logger().setLevel(_NAMES.get(v.upper(), v) if isinstance(v, str) else v)


def google2_log_prefix(
    level: int, timestamp: float | None = None, file_and_line: Any = None
) -> str:
    """Returns the prefix of a line of Google's log format."""
    now = timestamp or time.time()
    at = time.localtime(now)
    name, line = file_and_line or _caller()
    return (
        f"{_LETTERS.get(level, 'I')}{at.tm_mon:02d}{at.tm_mday:02d} {at.tm_hour:02d}:{at.tm_min:02d}:"
        f"{at.tm_sec:02d}.{int(1e6 * (now % 1)):06d} {threading.get_ident():5d} {name.rsplit('/', 1)[-1]}:{line}] "
    )


export_all(
    "logging",
    **{
        n: v
        for n, v in list(globals().items())
        if not n.startswith("_")
        and n not in ("annotations", "sys", "threading", "time", "Any", "export_all")
    },
)
export_all("", get_logger=get_logger)
