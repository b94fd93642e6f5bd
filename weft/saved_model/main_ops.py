"""Operations that run when a SavedModel has been loaded."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export


@export("saved_model.main_op.main_op")
def main_op() -> Any:
    """Initialises all variables, local variables and tables."""
    return tf.group(
        tf.global_variables_initializer(),
        tf.local_variables_initializer(),
        tf.tables_initializer(),
    )


@export("saved_model.main_op_with_restore", "saved_model.main_op.main_op_with_restore")
def main_op_with_restore(restore_op_name: Any) -> Any:
    """Initialises everything, and then runs the operation that restores."""
    with tf.control_dependencies([main_op()]):
        return tf.group(restore_op_name)
