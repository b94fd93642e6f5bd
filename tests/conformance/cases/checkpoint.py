"""Saving to files and restoring, in both formats of checkpoints."""

from __future__ import annotations

import os
import shutil
import tempfile

from ..case import Family, script

scripts = []


def declare(*ops):
    def keep(function):
        scripts.append(script(*ops)(function))
        return function

    return keep


def folder(name):
    """A new folder, of the same name for everybody who is asked for it in one process."""
    path = os.path.join(tempfile.gettempdir(), "weft_conformance_%s_%d" % (name, os.getpid()))
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def tensors(g):
    tf = g.tf
    values = [
        g.feed([[1.5, -2.0], [0.25, 3.0], [1e30, 0.0]]),
        g.feed([1, 2**40, -3], "int64"),
        g.feed([b"", b"a\0b", b"\xff" * 300], "string"),
        g.feed([True, False], "bool"),
        g.feed([0.5, -1.25], "float16"),
        g.feed([], "float64"),
        g.feed(7, "int32"),
    ]
    types = [tf.float32, tf.int64, tf.string, tf.bool, tf.float16, tf.float64, tf.int32]
    return values, types, ["m/a", "m/b", "s", "t", "h", "empty", "scalar"]


@declare("SaveV2", "RestoreV2")
def bundle(g):
    prefix = os.path.join(folder("bundle"), "model")
    values, types, names = tensors(g)
    whole = [""] * len(names)
    yield g.run(
        g.raw.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=whole, tensors=values)
    )
    back = g.raw.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=whole, dtypes=types)
    yield g.run(*back)

    def one(name, part, dtype):
        return g.raw.RestoreV2(
            prefix=prefix, tensor_names=[name], shape_and_slices=[part], dtypes=[dtype]
        )[0]

    tf = g.tf
    yield g.run(one("m/a", "3 2 1,2:-", tf.float32), one("m/b", "3 0,1", tf.int64))
    yield g.run(one("nothing", "", tf.float32), error="NotFoundError")
    yield g.run(one("m/a", "", tf.int32), error="InvalidArgumentError")
    yield g.run(one("m/a", "4 2 1,2:-", tf.float32), error="InvalidArgumentError")


@declare("SaveV2", "RestoreV2")
def parts_of_a_bundle(g):
    prefix = os.path.join(folder("parts"), "model")
    first, second = g.feed([[1.0, 2.0]]), g.feed([[3.0, 4.0], [5.0, 6.0]])
    yield g.run(
        g.raw.SaveV2(
            prefix=prefix,
            tensor_names=["p", "p"],
            shape_and_slices=["3 2 0,1:-", "3 2 1,2:-"],
            tensors=[first, second],
        )
    )
    for part in ("", "3 2 0,2:1,1", "3 2 -:0,1"):
        yield g.run(
            g.raw.RestoreV2(
                prefix=prefix, tensor_names=["p"], shape_and_slices=[part], dtypes=[g.tf.float32]
            )[0]
        )
    save = g.raw.SaveV2(
        prefix=prefix,
        tensor_names=["p"],
        shape_and_slices=["3 2 0,1:-"],
        tensors=[second],
    )
    yield g.run(save, error="InvalidArgumentError")


@declare("SaveV2", "RestoreV2", "MergeV2Checkpoints")
def merged_bundles(g):
    place = folder("merged")
    merged = os.path.join(place, "model")
    shards = [os.path.join(place, "temp", "part%d" % i) for i in range(2)]
    for i, shard in enumerate(shards):
        yield g.run(
            g.raw.SaveV2(
                prefix=shard,
                tensor_names=["v%d" % i, "p"],
                shape_and_slices=["", "4 %d,2" % (2 * i)],
                tensors=[g.feed([float(i)]), g.feed([2.0 * i, 2.0 * i + 1])],
            )
        )
    yield g.run(g.raw.MergeV2Checkpoints(checkpoint_prefixes=shards, destination_prefix=merged))
    yield g.run(
        *g.raw.RestoreV2(
            prefix=merged,
            tensor_names=["p", "v0", "v1"],
            shape_and_slices=["", "", ""],
            dtypes=[g.tf.float32] * 3,
        )
    )


@declare("Save", "Restore", "RestoreSlice", "SaveSlices", "RestoreV2")
def older_format(g):
    tf = g.tf
    place = folder("older")
    path, parts = os.path.join(place, "model"), os.path.join(place, "parts")
    values, types, names = tensors(g)
    yield g.run(g.raw.Save(filename=path, tensor_names=names, data=values))
    for name, dtype in zip(names, types):
        yield g.run(g.raw.Restore(file_pattern=path, tensor_name=name, dt=dtype))
    yield g.run(
        g.raw.RestoreSlice(
            file_pattern=path, tensor_name="m/a", shape_and_slice="3 2 0,2:1,1", dt=tf.float32
        )
    )
    yield g.run(
        *g.raw.RestoreV2(
            prefix=path, tensor_names=names, shape_and_slices=[""] * len(names), dtypes=types
        )
    )
    yield g.run(
        g.raw.Restore(file_pattern=path, tensor_name="nothing", dt=tf.float32),
        error="NotFoundError",
    )
    yield g.run(
        g.raw.Restore(file_pattern=path + ".gone", tensor_name="m/a", dt=tf.float32),
        error="NotFoundError",
    )
    yield g.run(
        g.raw.SaveSlices(
            filename=parts,
            tensor_names=["p", "p"],
            shapes_and_slices=["2 2 0,1:-", "2 2 1,1:-"],
            data=[g.feed([[1.0, 2.0]]), g.feed([[3.0, 4.0]])],
        )
    )
    yield g.run(
        g.raw.RestoreSlice(
            file_pattern=parts, tensor_name="p", shape_and_slice="2 2 -:0,1", dt=tf.float32
        )
    )


FAMILY = Family("checkpoint", [], scripts)
