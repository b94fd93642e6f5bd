"""TensorFlow's wire formats: `weft.proto.GraphDef` is the class of `tensorflow.GraphDef` messages.

Every top-level message and enum of the files under `weft/proto/tensorflow` is an attribute of this
module, and so is every value of a top-level enum (`weft.proto.DT_FLOAT`). protobuf is imported, and
the types are registered, when the first of them is asked for.
"""

import functools
import importlib
import threading
from types import ModuleType
from typing import Any, NamedTuple

_PACKAGE = "tensorflow"
_loading = threading.Lock()
_loaded: Any = None


class Method(NamedTuple):
    """A method of a gRPC service: its name, the path of its calls, the classes of its messages."""

    name: str
    path: str
    request: Any
    response: Any


def _types():
    """Returns the pool, and the full names of the top-level types by file."""
    global _loaded
    if _loaded is None:
        with _loading:
            if _loaded is None:
                # `from weft.proto import loading` would ask `__getattr__` first.
                _loaded = importlib.import_module("weft.proto.loading").load()
    return _loaded


@functools.cache
def _attributes():
    """Returns what each attribute of this module stands for: a full name, or an enum value."""
    pool, files = _types()
    full_names = [name for names in files.values() for name in names]
    found: dict[str, Any] = {}
    # Names of nested packages (tensorflow.error.Code) come first, so that those of tensorflow win.
    for full_name in sorted(full_names, key=lambda name: -name.count(".")):
        found[full_name.rpartition(".")[2]] = full_name
    for full_name in full_names:
        if full_name.rpartition(".")[0] == _PACKAGE and _is_enum(pool, full_name):
            found.update(pool.FindEnumTypeByName(full_name).values_by_name)
    return found


def _is_enum(pool, full_name):
    try:
        return bool(pool.FindEnumTypeByName(full_name))
    except KeyError:
        return False


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    target = _attributes().get(name)
    if target is None:
        raise AttributeError(f"module {__name__!r} has no message, enum or enum value {name!r}")
    value = type_of(target) if isinstance(target, str) else target.number
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_attributes()})


def type_of(full_name: str) -> Any:
    """Returns the class of a message, or the wrapper of an enum, of this full name."""
    pool, _ = _types()
    if _is_enum(pool, full_name):
        from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

        return EnumTypeWrapper(pool.FindEnumTypeByName(full_name))
    return message(full_name)


def message(full_name: str) -> Any:
    """Returns the class of the messages of this full name, such as `tensorflow.GraphDef`."""
    from google.protobuf import message_factory

    pool, _ = _types()
    try:
        descriptor = pool.FindMessageTypeByName(full_name)
    except KeyError:
        raise ValueError(f"There is no message type {full_name!r} in weft.proto.") from None
    return _named(message_factory.GetMessageClass(descriptor), descriptor)


def _named(cls, descriptor):
    """Gives a new class its place in this module, so that its messages can be pickled."""
    if cls.__module__ is None:
        cls.__module__ = __name__
        cls.__qualname__ = descriptor.full_name.removeprefix(f"{descriptor.file.package}.")
        for nested in descriptor.nested_types:
            if not nested.GetOptions().map_entry:
                _named(getattr(cls, nested.name), nested)
    return cls


def service_methods(full_name: str) -> tuple[Method, ...]:
    """Returns the methods of a service, such as `tensorflow.WorkerService`."""
    pool, _ = _types()
    try:
        service = pool.FindServiceByName(full_name)
    except KeyError:
        raise ValueError(f"There is no service {full_name!r} in weft.proto.") from None
    return tuple(
        Method(
            method.name,
            f"/{full_name}/{method.name}",
            message(method.input_type.full_name),
            message(method.output_type.full_name),
        )
        for method in service.methods
    )


def file_module(path: str) -> ModuleType:
    """Returns a module with what TensorFlow's generated Python module for the file has.

    For "tensorflow/core/framework/types.proto" that is `tensorflow.core.framework.types_pb2`.
    """
    pool, files = _types()
    if path not in files:
        raise ValueError(f"There is no file {path!r} in weft.proto.")
    module = ModuleType(path.removesuffix(".proto").replace("/", ".") + "_pb2")
    module.DESCRIPTOR = pool.FindFileContainingSymbol(files[path][0])  # type: ignore[attr-defined]
    for full_name in files[path]:
        if full_name in module.DESCRIPTOR.services_by_name:
            continue
        wrapper = type_of(full_name)
        setattr(module, full_name.rpartition(".")[2], wrapper)
        if _is_enum(pool, full_name):
            for name, value in wrapper.items():
                setattr(module, name, value)
    return module
