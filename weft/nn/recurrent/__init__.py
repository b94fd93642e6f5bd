"""Recurrent networks: cells over the steps of sequences."""

import weft.nn.recurrent.dynamic
import weft.nn.recurrent.raw
import weft.nn.recurrent.static  # noqa: F401
