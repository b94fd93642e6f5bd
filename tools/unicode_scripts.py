"""Writes the table of UnicodeScript: the code points at which another script begins, by TensorFlow's ICU.

    python3.7 tools/unicode_scripts.py

with a Python that has TensorFlow 1.15.
"""

import pathlib

import numpy as np
import tensorflow as tf

TABLE = pathlib.Path(__file__).resolve().parent.parent / "weft/ops/strings/scripts.txt"
HEADER = "# The first code point of each run of one script, and ICU's number of the script.\n"

with tf.Session() as session:
    scripts = session.run(tf.strings.unicode_script(np.arange(0x110000, dtype=np.int32)))
firsts = np.flatnonzero(np.diff(scripts, prepend=-1))
TABLE.write_text(HEADER + "".join("%X %d\n" % (first, scripts[first]) for first in firsts))
