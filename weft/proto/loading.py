"""Brings weft's message types into protobuf's default descriptor pool.

The types are compiled to `messages.binpb`, a serialized `FileDescriptorSet`, by `tools/protos.py`.
There is no generated Python code, so no code that asks for a certain version of protobuf.

TensorFlow itself, or a library with a copy of its formats, may have registered types of the same
full names before. Then those types are used, and only what is missing is added.
"""

import os
from types import MappingProxyType

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, wrappers_pb2

_COMPILED = os.path.join(os.path.dirname(__file__), "messages.binpb")
_IMPORTED = (any_pb2, wrappers_pb2)  # files of protobuf that ours import


def load():
    """Registers all types; returns the pool and, by file and name, the kinds of top-level types."""
    with open(_COMPILED, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file
    pool = descriptor_pool.Default()
    moved: dict[str, list[str]] = {}
    for file in files:  # each stands after the files that it imports
        _register(pool, file, moved)
    return pool, MappingProxyType({file.name: _kinds(file) for file in files})


def _kinds(file):
    kinds = {"message": file.message_type, "enum": file.enum_type, "service": file.service}
    return {f"{file.package}.{t.name}": kind for kind, types in kinds.items() for t in types}


def _register(pool, file, moved):
    """Adds `file`; `moved` tells where the types of a file are that came from elsewhere."""
    if not any(name in moved for name in file.dependency):
        try:
            pool.AddSerializedFile(file.SerializeToString())
            return
        except TypeError:
            pass  # a type or the file's name is taken
    elsewhere = {name: _find(pool, name) for name in _kinds(file)}
    holders = {holder for holder in elsewhere.values() if holder is not None}
    rest = descriptor_pb2.FileDescriptorProto()
    rest.CopyFrom(file)
    for types in (rest.message_type, rest.enum_type, rest.service):
        missing = [t for t in types if elsewhere[f"{file.package}.{t.name}"] is None]
        del types[:]
        types.extend(missing)
    if _kinds(rest):
        rest.name = f"weft/{file.name}"
        imports = dict.fromkeys(x for d in file.dependency for x in moved.get(d, [d]))
        rest.dependency[:] = [*imports, *sorted(holders - imports.keys())]
        pool.AddSerializedFile(rest.SerializeToString())
        holders.add(rest.name)
    moved[file.name] = sorted(holders)


def _find(pool, full_name):
    """Returns the name of the file that holds the type, or None."""
    try:
        return pool.FindFileContainingSymbol(full_name).name
    except KeyError:
        return None
