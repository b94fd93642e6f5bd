"""Fills messages with values that follow from the names of their fields.

Two sides that describe a message alike, name, number, kind, presence and packing of each field,
write the same bytes. Run by TensorFlow's Python, this file prints the digests that the test
compares with:

    python tests/proto/fill.py > tests/proto/tensorflow_1_15_digests.txt

It runs on Python 3.7 too.
"""

import hashlib

DEPTH = 3


def digest(message_class):
    """Returns a short hash of filled messages: one for each choice within oneofs."""
    choices = 1
    for oneof in message_class.DESCRIPTOR.oneofs:
        choices = max(choices, len(oneof.fields))
    sha = hashlib.sha256()
    for choice in range(choices):
        message = message_class()
        fill(message, choice, DEPTH)
        sha.update(message.SerializeToString(deterministic=True))
    return sha.hexdigest()[:16]


def fill(message, choice, depth):
    """Sets every field; of a oneof, the field whose turn it is by the number `choice`."""
    for field in sorted(message.DESCRIPTOR.fields, key=lambda f: f.number):
        oneof = field.containing_oneof
        if oneof is not None:
            members = sorted(oneof.fields, key=lambda f: f.number)
            if members[choice % len(members)].number != field.number:
                continue
        seed = int(hashlib.sha256(field.full_name.encode()).hexdigest()[:4], 16)
        value = getattr(message, field.name)
        if field.message_type is None:
            scalars = [scalar(field, seed), scalar(field, seed + 1)]
            if hasattr(value, "extend"):
                value.extend(scalars)
            else:
                setattr(message, field.name, scalars[0])
        elif depth == 0:
            continue
        elif field.message_type.GetOptions().map_entry:
            fill_map(value, field.message_type, seed, choice, depth)
        elif hasattr(value, "add"):
            fill(value.add(), choice, depth - 1)
            fill(value.add(), choice + 1, depth - 1)
        else:
            value.SetInParent()
            fill(value, choice, depth - 1)


def fill_map(value, entry, seed, choice, depth):
    key = scalar(entry.fields_by_name["key"], seed)
    value_field = entry.fields_by_name["value"]
    if value_field.message_type is None:
        value[key] = scalar(value_field, seed)
    else:
        fill(value[key], choice, depth - 1)


def scalar(field, seed):
    """Returns a value for the field that is large enough to tell kinds of numbers apart."""
    if field.cpp_type == field.CPPTYPE_ENUM:
        values = field.enum_type.values
        return values[seed % len(values)].number
    if field.type == field.TYPE_BYTES:
        return b"%d\0" % seed
    if field.cpp_type == field.CPPTYPE_STRING:
        return f"{field.name} {seed}"
    if field.cpp_type == field.CPPTYPE_BOOL:
        return True
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return seed + 0.5
    unsigned = field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64)
    return seed + 1 if unsigned else -seed - 1


def print_digests():
    """Prints the digest of each message in TensorFlow's generated modules."""
    import importlib
    import pkgutil

    import tensorflow.core

    modules = [m.name for m in pkgutil.walk_packages(tensorflow.core.__path__, "tensorflow.core.")]
    others = [
        "tensorflow.python.training.checkpoint_state_pb2",
        "tensorflow.contrib.training.python.training.hparam_pb2",
    ]
    for module in [*modules, *others]:
        if module.endswith("_pb2"):
            generated = importlib.import_module(module)
            for name in sorted(generated.DESCRIPTOR.message_types_by_name):
                message_class = getattr(generated, name)
                print(message_class.DESCRIPTOR.full_name, digest(message_class))


if __name__ == "__main__":
    print_digests()
