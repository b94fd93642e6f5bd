"""`tf.contrib.cudnn_rnn`: recurrent networks of several layers with all their parameters in one variable.

They compute on every device what cuDNN computes on a GPU. In checkpoints they are what networks of the compatible cells
are, so that either can go on with what the other has learnt.
"""

from weft.contrib.cudnn_rnn.cells import CudnnCompatibleGRUCell as CudnnCompatibleGRUCell
from weft.contrib.cudnn_rnn.cells import CudnnCompatibleLSTMCell as CudnnCompatibleLSTMCell
from weft.contrib.cudnn_rnn.layers import CudnnGRU as CudnnGRU
from weft.contrib.cudnn_rnn.layers import CudnnLSTM as CudnnLSTM
from weft.contrib.cudnn_rnn.layers import CudnnRNNRelu as CudnnRNNRelu
from weft.contrib.cudnn_rnn.layers import CudnnRNNTanh as CudnnRNNTanh
from weft.contrib.cudnn_rnn.parameters import (
    CudnnParamsFormatConverterGRU as CudnnParamsFormatConverterGRU,
)
from weft.contrib.cudnn_rnn.parameters import (
    CudnnParamsFormatConverterLSTM as CudnnParamsFormatConverterLSTM,
)
from weft.contrib.cudnn_rnn.parameters import (
    CudnnParamsFormatConverterRelu as CudnnParamsFormatConverterRelu,
)
from weft.contrib.cudnn_rnn.parameters import (
    CudnnParamsFormatConverterTanh as CudnnParamsFormatConverterTanh,
)
from weft.contrib.cudnn_rnn.saveables import CudnnGRUSaveable as CudnnGRUSaveable
from weft.contrib.cudnn_rnn.saveables import CudnnLSTMSaveable as CudnnLSTMSaveable
from weft.contrib.cudnn_rnn.saveables import CudnnRNNReluSaveable as CudnnRNNReluSaveable
from weft.contrib.cudnn_rnn.saveables import CudnnRNNTanhSaveable as CudnnRNNTanhSaveable
