"""SavedModels: `tf.saved_model`, models in directories with all that serving them takes."""

import weft.saved_model.builder_class
import weft.saved_model.loading
import weft.saved_model.loading_objects
import weft.saved_model.main_ops
import weft.saved_model.saving_objects
import weft.saved_model.signatures
import weft.saved_model.simple
import weft.saved_model.tensor_infos
import weft.saved_model.words  # noqa: F401
from weft.framework import export as _export

_export.as_namespace(__name__)
