"""Draws digits with characters, for those who watch a program in a terminal."""

import numpy as np

SHADES = np.array(list(" .:-=+*#%@"))


def drawn(images):
    """Images of 28 by 28 with values from 0 to 1, side by side."""
    rows = np.hstack(
        [image.reshape(28, 28)[::2] for image in images]
    )  # a character is a tall pixel
    picked = SHADES[np.clip(rows * len(SHADES), 0, len(SHADES) - 1).astype(int)]
    return "\n".join("".join(row).rstrip() for row in picked)
