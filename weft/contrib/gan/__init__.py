"""`tf.contrib.gan`: generators and discriminators that train each other.

TensorFlow 1.15 has left it to a package of its own, TF-GAN; the names here are those that programs know.
"""

from weft.contrib.gan import eval as eval
from weft.contrib.gan import features as features
from weft.contrib.gan import losses as losses
from weft.contrib.gan import model_losses as _model_losses  # noqa: F401
from weft.contrib.gan import models as _models  # noqa: F401
from weft.contrib.gan import namedtuples as namedtuples
from weft.contrib.gan import train as train
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.gan")
