"""What a model function is called for."""

from __future__ import annotations

from weft.framework.export import export


@export("estimator.ModeKeys")
class ModeKeys:
    """What a model function is called for: to be trained, to be evaluated, or to predict."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"
