"""Compiles the message definitions under weft/proto/tensorflow into weft/proto/messages.binpb.

    python tools/protos.py            write the file
    python tools/protos.py --check    say whether the file is up to date

protoc comes from the package grpcio-tools. Nothing else needs it, so it may live in an environment
of its own: `python -m venv protoc && protoc/bin/pip install grpcio-tools`, then run this script
with `protoc/bin/python`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

PROTO = Path(__file__).resolve().parent.parent / "weft" / "proto"
COMPILED = PROTO / "messages.binpb"


def compile_all() -> bytes:
    """Returns the serialized `FileDescriptorSet` of all definitions; imported files come first."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from grpc_tools import _proto, protoc

    sources = sorted(str(path.relative_to(PROTO)) for path in PROTO.glob("tensorflow/**/*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "all.binpb"
        status = protoc.main(
            [
                "protoc",
                f"--proto_path={PROTO}",
                f"--proto_path={Path(_proto.__path__[0])}",
                f"--descriptor_set_out={target}",
                *sources,
            ]
        )
        if status:
            sys.exit(f"protoc ended with status {status}.")
        compiled = FileDescriptorSet.FromString(target.read_bytes())
    for file in compiled.file:
        for message in file.message_type:
            drop_json_names(message)
    return compiled.SerializeToString(deterministic=True)


def drop_json_names(message) -> None:
    """Removes the names that protobuf derives anyway, a quarter of the file."""
    for field in message.field:
        field.ClearField("json_name")
    for nested in message.nested_type:
        drop_json_names(nested)


def main() -> None:
    """Writes or checks the compiled file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    check = parser.parse_args().check
    compiled = compile_all()
    if not check:
        COMPILED.write_bytes(compiled)
        print(f"{COMPILED.name}: {len(compiled):,} bytes")
    elif COMPILED.read_bytes() != compiled:
        sys.exit(f"{COMPILED.name} is not up to date. Run this script without --check.")


if __name__ == "__main__":
    main()
