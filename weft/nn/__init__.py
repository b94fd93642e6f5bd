"""`tf.nn`: the ops on arrays of the op library, and libraries made of them, which load when they are first named."""

from weft.framework.export import public as _public

__getattr__, __dir__ = _public("nn")
