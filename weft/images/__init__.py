"""`tf.image`: functions on images, composed of ops."""

import weft.images.adjust
import weft.images.boxes
import weft.images.files
import weft.images.geometry
import weft.images.measures
import weft.images.randomized
import weft.images.resizing
import weft.images.spaces
import weft.ops.image.boxes
import weft.ops.image.codecs
import weft.ops.image.colors
import weft.ops.image.combined_suppression
import weft.ops.image.distorted_box
import weft.ops.image.glimpse
import weft.ops.image.resize
import weft.ops.image.scale_translate
import weft.ops.image.suppression  # noqa: F401
