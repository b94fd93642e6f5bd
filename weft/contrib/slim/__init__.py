"""`tf.contrib.slim`: `tf.contrib.layers`, with the scopes of arguments and the variables of
`tf.contrib.framework`, and loops that train and evaluate."""

import weft.contrib.framework
import weft.contrib.layers  # noqa: F401
from weft.contrib import losses as losses
from weft.contrib import metrics as metrics
from weft.contrib.framework import variables as variables
from weft.contrib.layers import initializers as initializers
from weft.contrib.layers import regularizers as regularizers
from weft.contrib.layers import utils as utils
from weft.contrib.slim import evaluation as evaluation
from weft.contrib.slim import learning as learning
from weft.contrib.slim import model_analyzer as model_analyzer
from weft.contrib.slim import queues as queues
from weft.contrib.slim import summaries as summaries
from weft.contrib.slim.data import data_decoder as data_decoder
from weft.contrib.slim.data import data_provider as data_provider
from weft.contrib.slim.data import dataset as dataset
from weft.contrib.slim.data import dataset_data_provider as dataset_data_provider
from weft.contrib.slim.data import parallel_reader as parallel_reader
from weft.contrib.slim.data import prefetch_queue as prefetch_queue
from weft.contrib.slim.data import tfexample_decoder as tfexample_decoder
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.slim")
