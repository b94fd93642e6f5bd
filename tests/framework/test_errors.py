"""Error classes: codes, texts, and what survives a trip to another process."""

import pickle
from types import SimpleNamespace

import pytest

from weft.framework import errors

CODES = {
    "CANCELLED": (1, errors.CancelledError),
    "UNKNOWN": (2, errors.UnknownError),
    "INVALID_ARGUMENT": (3, errors.InvalidArgumentError),
    "DEADLINE_EXCEEDED": (4, errors.DeadlineExceededError),
    "NOT_FOUND": (5, errors.NotFoundError),
    "ALREADY_EXISTS": (6, errors.AlreadyExistsError),
    "PERMISSION_DENIED": (7, errors.PermissionDeniedError),
    "UNAUTHENTICATED": (16, errors.UnauthenticatedError),
    "RESOURCE_EXHAUSTED": (8, errors.ResourceExhaustedError),
    "FAILED_PRECONDITION": (9, errors.FailedPreconditionError),
    "ABORTED": (10, errors.AbortedError),
    "OUT_OF_RANGE": (11, errors.OutOfRangeError),
    "UNIMPLEMENTED": (12, errors.UnimplementedError),
    "INTERNAL": (13, errors.InternalError),
    "UNAVAILABLE": (14, errors.UnavailableError),
    "DATA_LOSS": (15, errors.DataLossError),
}


def an_op(name="layer/add", original=None):
    frames = [("train.py", 12, "main", "build()"), (errors.__file__, 3, "inner", "pass")]
    return SimpleNamespace(name=name, type="Add", traceback=frames, _original_op=original)


@pytest.mark.parametrize("name", CODES)
def test_code_and_class_belong_together(name):
    code, error_class = CODES[name]
    assert getattr(errors, name) == code
    assert errors.exception_type_from_error_code(code) is error_class
    assert errors.error_code_from_exception_type(error_class) == code
    assert error_class.__bases__ == (errors.OpError,)
    error = errors.error_from_code(None, None, "it failed", code)
    assert type(error) is error_class
    assert (error.message, error.error_code, error.op, error.node_def) == (
        *("it failed", code),
        *(None, None),
    )
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is error_class
    assert (copied.message, copied.error_code, str(copied)) == ("it failed", code, "it failed")


def test_unknown_code_and_class():
    with pytest.warns(UserWarning, match="Unknown error code: 37"):
        error = errors.error_from_code(None, None, "odd", 37)
    assert type(error) is errors.UnknownError and error.error_code == 37
    with pytest.warns(UserWarning, match="Unknown class exception"):
        assert isinstance(errors.error_code_from_exception_type(KeyError), errors.UnknownError)
    with pytest.raises(KeyError):
        errors.exception_type_from_error_code(37)


def test_errors_are_no_python_value_errors():
    assert not issubclass(errors.OpError, (ValueError, TypeError, RuntimeError))


def test_text_tells_the_op_and_the_programs_line():
    error = errors.InvalidArgumentError(None, an_op(), "shapes differ")
    assert error.message == "shapes differ"
    assert str(error) == (
        "shapes differ\n\nOriginal stack trace for 'layer/add' (Add):\n"
        '  File "train.py", line 12, in main\n    build()\n'
    )
    assert repr(error) == "InvalidArgumentError('shapes differ')"


def test_text_tells_for_which_op_a_gradient_was_built():
    error = errors.InternalError(None, an_op("gradients/grad", an_op()), "bad")
    assert "'gradients/grad'" in str(error)
    assert "originally created as op 'layer/add' (Add), defined at:" in str(error)


def test_text_survives_where_the_op_cannot_follow():
    op = an_op()
    op.lock = open  # what cannot be pickled
    error = errors.NotFoundError(None, op, "no such file")
    copied = pickle.loads(pickle.dumps(error))
    assert copied.op is None
    assert copied.message == "no such file"
    assert str(copied) == str(error)


class OwnError(errors.OpError):
    def __init__(self, message, detail):
        super().__init__(None, None, message, errors.ABORTED)
        self.detail = detail


def test_programs_may_derive_errors():
    copied = pickle.loads(pickle.dumps(OwnError("m", 5)))
    assert (type(copied), copied.message, copied.detail) == (OwnError, "m", 5)


def test_wrong_call_names_the_class():
    with pytest.raises(TypeError, match=r"NotFoundError.__init__\(\) missing 2"):
        errors.NotFoundError("only a message")


def test_status_block():
    with errors.raise_exception_on_not_ok_status() as status:
        pass
    assert status.code == errors.OK
    with pytest.raises(errors.NotFoundError, match="gone"):
        with errors.raise_exception_on_not_ok_status() as status:
            status.set(errors.NOT_FOUND, "gone")
    with pytest.raises(KeyError):
        with errors.raise_exception_on_not_ok_status() as status:
            status.set(errors.NOT_FOUND, "hidden by the error of the block itself")
            raise KeyError("first")
