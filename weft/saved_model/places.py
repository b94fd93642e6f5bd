"""Where the parts of a SavedModel are in its directory."""

from __future__ import annotations

import os
from typing import Any

from weft.framework import file_system
from weft.saved_model import words


def variables_path(export_dir: Any) -> str:
    """The prefix of the checkpoint."""
    folder = os.path.join(file_system.path_text(export_dir), words.VARIABLES_DIRECTORY)
    return os.path.join(folder, words.VARIABLES_FILENAME)


def assets_directory(export_dir: Any) -> str:
    """The directory of the assets."""
    return os.path.join(file_system.path_text(export_dir), words.ASSETS_DIRECTORY)


def model_file(export_dir: Any, as_text: bool) -> str:
    """The file of the model's message."""
    name = words.SAVED_MODEL_FILENAME_PBTXT if as_text else words.SAVED_MODEL_FILENAME_PB
    return os.path.join(file_system.path_text(export_dir), name)
