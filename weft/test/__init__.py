"""`tf.test`: what tests of programs use."""

from unittest import mock as mock

from weft.test.case import Benchmark as Benchmark
from weft.test.case import TestCase as TestCase
from weft.test.case import assert_equal_graph_def as assert_equal_graph_def
from weft.test.case import get_temp_dir as get_temp_dir
from weft.test.case import gpu_device_name as gpu_device_name
from weft.test.case import is_built_with_cuda as is_built_with_cuda
from weft.test.case import is_built_with_gpu_support as is_built_with_gpu_support
from weft.test.case import is_built_with_rocm as is_built_with_rocm
from weft.test.case import is_gpu_available as is_gpu_available
from weft.test.case import main as main
from weft.test.case import test_src_dir_path as test_src_dir_path
from weft.test.gradients import compute_gradient as compute_gradient
from weft.test.gradients import compute_gradient_error as compute_gradient_error
