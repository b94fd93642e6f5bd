"""`tf.contrib.staging`: areas where a step leaves tensors for the next one."""

from weft.contrib.staging.area import StagingArea  # noqa: F401
