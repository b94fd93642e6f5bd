"""`tfgan.eval`: summaries of models, and how good what was generated is."""

import weft.contrib.gan.eval.classifier_metrics
import weft.contrib.gan.eval.images
import weft.contrib.gan.eval.summaries  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.gan.eval")
