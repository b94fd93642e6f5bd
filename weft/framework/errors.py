"""The errors of a run: a class for each status code; each tells the op and where it was created."""

import os
import warnings
from typing import Any

# Status codes, as they travel between master, workers and clients.
OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

_CLASS_OF_CODE: dict[int, Any] = {}
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class InaccessibleTensorError(ValueError):
    """A tensor was used outside the function or loop that it belongs to."""


class OperatorNotAllowedInGraphError(TypeError):
    """A symbolic tensor was used where Python needs a value, as in `if tensor:`."""


class OpError(Exception):
    """Running an op failed; the subclasses tell why.

    `op` is the `Operation` and `node_def` its `NodeDef`, where they are known. The text of the
    error names the op and shows where the program created it.
    """

    def __init_subclass__(cls, code=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if code is None:
            return

        def __init__(self, node_def, op, message):
            OpError.__init__(self, node_def, op, message, code)

        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = __init__
        _CLASS_OF_CODE[code] = cls

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int = UNKNOWN):
        super().__init__()
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code
        self._origin: str | None = None

    @property
    def node_def(self) -> Any:
        """The `NodeDef` of the op that failed, or None."""
        return self._node_def

    @property
    def op(self) -> Any:
        """The `Operation` that failed, or None where it is no op of the program's graph."""
        return self._op

    @property
    def message(self) -> str:
        """What went wrong, without the place where the op was created."""
        return self._message

    @property
    def error_code(self) -> int:
        """The status code, an int such as `tf.errors.NOT_FOUND`."""
        return self._error_code

    def _describe_origin(self):
        if self._origin is None:
            self._origin = _origin_of(self._op) if self._op is not None else ""
        return self._origin

    def __str__(self):
        return f"{self._message}{self._describe_origin()}"

    def __repr__(self):
        return f"{type(self).__name__}({self._message!r})"

    def __reduce__(self):
        # An op belongs to its graph and stays in its process; its description travels as text.
        values = {"op": None, "node_def": self._node_def, "message": self._message}
        values["error_code"] = self._error_code
        code = type(self).__init__.__code__
        parameters = code.co_varnames[1 : code.co_argcount]
        arguments = [values[p] if p in values else getattr(self, p) for p in parameters]
        return type(self), tuple(arguments), {"_origin": self._describe_origin()}


def _origin_of(op):
    """Returns the name and type of `op` and the program's lines that made it, as text."""
    text = [f"\n\nOriginal stack trace for {op.name!r} ({op.type}):\n", *_program_frames(op)]
    original = getattr(op, "_original_op", None)
    while original is not None:
        text.append(
            f"\n...which was originally created as op {original.name!r} ({original.type}), "
            "defined at:\n"
        )
        text += _program_frames(original)
        original = getattr(original, "_original_op", None)
    return "".join(text)


def _program_frames(op):
    """Returns the formatted frames of the op's creation, without those inside weft itself."""
    import traceback

    frames = list(getattr(op, "traceback", None) or ())
    outside = [frame for frame in frames if not str(frame[0]).startswith(_PACKAGE)]
    return traceback.format_list([tuple(frame)[:4] for frame in outside or frames])


class UnknownError(OpError):
    """Something failed for which no code tells the reason."""

    def __init__(self, node_def, op, message, error_code=UNKNOWN):
        super().__init__(node_def, op, message, error_code)


class CancelledError(OpError, code=CANCELLED):
    """The step or op was cancelled, for instance by closing its queue."""


class InvalidArgumentError(OpError, code=INVALID_ARGUMENT):
    """An op received a value that it cannot work with."""


class DeadlineExceededError(OpError, code=DEADLINE_EXCEEDED):
    """The step did not finish in the time it was given."""


class NotFoundError(OpError, code=NOT_FOUND):
    """A file, a checkpoint's tensor, a resource or a device is missing."""


class AlreadyExistsError(OpError, code=ALREADY_EXISTS):
    """What should be created exists already."""


class PermissionDeniedError(OpError, code=PERMISSION_DENIED):
    """The program may not do this, say, write that file."""


class UnauthenticatedError(OpError, code=UNAUTHENTICATED):
    """The caller is not known to the other side."""


class ResourceExhaustedError(OpError, code=RESOURCE_EXHAUSTED):
    """Memory or another resource is used up."""


class FailedPreconditionError(OpError, code=FAILED_PRECONDITION):
    """Something else must be done first: a variable was read before it was initialised."""


class AbortedError(OpError, code=ABORTED):
    """The step was given up; trying it again may succeed."""


class OutOfRangeError(OpError, code=OUT_OF_RANGE):
    """The input has ended: a closed queue or an iterator is empty."""


class UnimplementedError(OpError, code=UNIMPLEMENTED):
    """The op cannot do this for these arguments or this device."""


class InternalError(OpError, code=INTERNAL):
    """A rule that weft itself keeps was broken: a defect of weft."""


class UnavailableError(OpError, code=UNAVAILABLE):
    """A task of the cluster does not answer; it may come back."""


class DataLossError(OpError, code=DATA_LOSS):
    """Stored data is damaged or incomplete."""


_CLASS_OF_CODE[UNKNOWN] = UnknownError
_CODE_OF_CLASS = {error_class: code for code, error_class in _CLASS_OF_CODE.items()}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Returns the error class of a status code; `KeyError` if there is none."""
    return _CLASS_OF_CODE[error_code]


def error_code_from_exception_type(cls: Any) -> Any:
    """Returns the status code of an error class.

    For another class it warns and returns an `UnknownError` object, as TensorFlow does.
    """
    if cls in _CODE_OF_CLASS:
        return _CODE_OF_CLASS[cls]
    warnings.warn("Unknown class exception", stacklevel=2)
    return UnknownError(None, None, "Unknown class exception", None)


def error_from_code(node_def: Any, op: Any, message: str, error_code: int) -> OpError:
    """Returns an error of the class that belongs to `error_code`, else an `UnknownError`."""
    error_class = _CLASS_OF_CODE.get(error_code)
    if error_class is not None:
        return error_class(node_def, op, message)
    warnings.warn(f"Unknown error code: {error_code}", stacklevel=2)
    return UnknownError(node_def, op, message, error_code)


class Status:
    """What a call reports: a status code and a message. A new one is OK."""

    def __init__(self):
        self.code = OK
        self.message = ""

    def set(self, code: int, message: str) -> None:
        """Reports `message` under the status code `code`."""
        self.code = code
        self.message = message


class raise_exception_on_not_ok_status:
    """Gives a `Status` to the block; raises the error that the block reported in it, if any."""

    def __enter__(self):
        self._status = Status()
        return self._status

    def __exit__(self, error_class, error, trace):
        status, self._status = self._status, None
        if error is None and status.code != OK:
            raise error_from_code(None, None, status.message, status.code)
        return False
