"""A text that every machine has: the source of Python's own library."""

import glob
import os
import sysconfig


def read(characters):
    """The beginning of the library's modules, one after another in the alphabet's order."""
    text, length = [], 0
    for path in sorted(glob.glob(os.path.join(sysconfig.get_path("stdlib"), "*.py"))):
        with open(path, encoding="utf-8") as file:
            text.append(file.read())
        length += len(text[-1])
        if length >= characters:
            break
    return "".join(text)[:characters]
