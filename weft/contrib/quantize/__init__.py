"""`tf.contrib.quantize`: graphs rewritten so that they are trained, or run, as if their numbers had few bits."""

from weft.contrib.quantize.graphs import create_eval_graph as create_eval_graph
from weft.contrib.quantize.graphs import create_training_graph as create_training_graph
from weft.contrib.quantize.graphs import (
    experimental_create_eval_graph as experimental_create_eval_graph,
)
from weft.contrib.quantize.graphs import (
    experimental_create_training_graph as experimental_create_training_graph,
)
