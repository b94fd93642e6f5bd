"""What files, collections, tags and signatures of a SavedModel are called, by TensorFlow's names."""

from __future__ import annotations

from weft.framework.export import export_all

ASSETS_DIRECTORY = "assets"
ASSETS_KEY = "saved_model_assets"
LEGACY_INIT_OP_KEY = "legacy_init_op"
MAIN_OP_KEY = "saved_model_main_op"
SAVED_MODEL_FILENAME_PB = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT = "saved_model.pbtxt"
SAVED_MODEL_SCHEMA_VERSION = 1
VARIABLES_DIRECTORY = "variables"
VARIABLES_FILENAME = "variables"

SERVING = "serve"
TRAINING = "train"
GPU = "gpu"
TPU = "tpu"

CLASSIFY_INPUTS = "inputs"
CLASSIFY_METHOD_NAME = "tensorflow/serving/classify"
CLASSIFY_OUTPUT_CLASSES = "classes"
CLASSIFY_OUTPUT_SCORES = "scores"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
PREDICT_INPUTS = "inputs"
PREDICT_METHOD_NAME = "tensorflow/serving/predict"
PREDICT_OUTPUTS = "outputs"
REGRESS_INPUTS = "inputs"
REGRESS_METHOD_NAME = "tensorflow/serving/regress"
REGRESS_OUTPUTS = "outputs"

for _name, _value in dict(globals()).items():
    if not _name.isupper():
        continue
    if _name in ("SERVING", "TRAINING", "GPU", "TPU"):
        _space = "tag_constants"
    elif _name.startswith(("CLASSIFY", "DEFAULT", "PREDICT", "REGRESS")):
        _space = "signature_constants"
    else:
        _space = "constants"
    export_all("saved_model", **{_name: _value})
    export_all(f"saved_model.{_space}", **{_name: _value})

# Without a public name: keys of signatures that stand for one operation.
INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"
TRAIN_OP_SIGNATURE_KEY = "__saved_model_train_op"
