"""Writes which public names the modules of `tensorflow.python` hold, for programs that import from there.

    python3.7 tools/internal_names.py

Run it with a Python that has TensorFlow 1.15; it writes weft/platform/internal_names.txt.gz.
"""

import gzip
import importlib
import inspect
import os
import pkgutil
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(os.path.dirname(HERE), "weft", "platform", "internal_names.txt.gz")
SKIPPED = (
    "test",
    "_pb2",
    "tpu",
    "tensorrt",
    "debug",
    "autograph.pyct",
    "compiler",
    "profiler",
    "tools",
)


def public_names(tf):
    """Object -> its shortest public name, for what can be told apart by identity."""
    found, seen, modules = {}, set(), [("", tf)]
    while modules:
        space, module = modules.pop(0)
        if id(module) in seen or space.startswith(("compat", "raw_ops", "contrib", "pywrap")):
            continue
        seen.add(id(module))
        for name in sorted(dir(module)):
            if name.startswith("_"):
                continue
            try:
                item = getattr(module, name)
            except Exception:
                continue
            full = space + "." + name if space else name
            if inspect.ismodule(item):
                if "tensorflow" in item.__name__:
                    modules.append((full, item))
            elif callable(item) or type(item).__name__ in ("DType", "EnumMeta"):
                found.setdefault(id(item), (full, item))
    return found


def main():
    warnings.simplefilter("ignore")
    import tensorflow as tf
    import tensorflow.python as inside

    public = public_names(tf)
    lines = []
    prefix = "tensorflow.python."  # not where the package lies: its modules would be imported twice
    for info in pkgutil.walk_packages(inside.__path__, prefix, onerror=lambda name: None):
        short = info.name[len(prefix) :]
        if any(part in short for part in SKIPPED):
            continue
        try:
            module = importlib.import_module(info.name)
        except Exception:
            continue
        spaces = {}
        for name, item in sorted(vars(module).items()):
            known = public.get(id(item))
            if name.startswith("__") or known is None or known[1] is not item:
                continue
            space, _, last = known[0].rpartition(".")
            spaces.setdefault(space, []).append(name if name == last else name + "=" + last)
        held = ["%s:%s" % (space, ",".join(names)) for space, names in sorted(spaces.items())]
        lines.append("\t".join([short, *held]))
    text = "\n".join(sorted(lines)) + "\n"
    with open(TARGET, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as f:
        f.write(text.encode())
    sys.stdout.write("%s: %d modules\n" % (TARGET, len(lines)))


if __name__ == "__main__":
    main()
