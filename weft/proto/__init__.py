"""TensorFlow's wire formats: `weft.proto.GraphDef` is the class of `tensorflow.GraphDef` messages.

Every top-level message and enum of the files under `weft/proto/tensorflow` is an attribute of this
module, and so is every value of a top-level enum (`weft.proto.DT_FLOAT`). protobuf is imported, and
the types are registered, when the first of them is asked for.
"""

import copyreg
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
    """Returns the pool, and the kind of each top-level type by file and full name."""
    global _loaded
    if _loaded is None:
        with _loading:
            if _loaded is None:
                # `from weft.proto import loading` would ask `__getattr__` first.
                _loaded = importlib.import_module("weft.proto.loading").load()
    return _loaded


@functools.cache
def _attributes():
    """Returns the function that makes each attribute of this module."""
    pool, files = _types()
    kinds = {name: kind for names in files.values() for name, kind in names.items()}
    found: dict[str, Any] = {}
    # Names of nested packages (tensorflow.error.Code) come first, so that those of tensorflow win.
    for full_name in sorted(kinds, key=lambda name: -name.count(".")):
        package, _, name = full_name.rpartition(".")
        if kinds[full_name] == "message":
            found[name] = functools.partial(message, full_name)
        elif kinds[full_name] == "enum":
            found[name] = functools.partial(enum, full_name)
            if package == _PACKAGE:
                for value in pool.FindEnumTypeByName(full_name).values:
                    found[value.name] = functools.partial(int, value.number)
    return found


def __getattr__(name: str) -> Any:
    make = None if name.startswith("_") else _attributes().get(name)
    if make is None:
        raise AttributeError(f"module {__name__!r} has no message, enum or enum value {name!r}")
    value = globals()[name] = make()
    return value


def __dir__():
    return sorted({*globals(), *_attributes()})


def enum(full_name: str) -> Any:
    """Returns the wrapper of the enum of this full name, such as `tensorflow.DataType`."""
    from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

    pool, _ = _types()
    try:
        return EnumTypeWrapper(pool.FindEnumTypeByName(full_name))
    except KeyError:
        raise ValueError(f"There is no enum {full_name!r} in weft.proto.") from None


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
    """Gives a new class its place in this module, and makes its messages fit for pickle.

    A class that came as that of a field, before anybody asked for it, thinks that it is of the module that saw it.
    """
    if cls not in copyreg.dispatch_table:
        cls.__module__ = __name__
        cls.__qualname__ = descriptor.full_name.removeprefix(f"{descriptor.file.package}.")
        copyreg.pickle(cls, _reduce)
        for nested in descriptor.nested_types:
            if not nested.GetOptions().map_entry:
                _named(getattr(cls, nested.name), nested)
    return cls


def _reduce(instance):
    return _restore, (instance.DESCRIPTOR.full_name, instance.SerializeToString())


def _restore(full_name, serialized):
    # protobuf's own way fails in a process that has not asked for the type before.
    return message(full_name).FromString(serialized)


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
    types = files[path]
    module.DESCRIPTOR = pool.FindFileContainingSymbol(next(iter(types)))  # type: ignore[attr-defined]
    for full_name, kind in types.items():
        if kind == "message":
            setattr(module, full_name.rpartition(".")[2], message(full_name))
        elif kind == "enum":
            wrapper = enum(full_name)
            setattr(module, full_name.rpartition(".")[2], wrapper)
            for name, value in wrapper.items():
                setattr(module, name, value)
    return module
