"""`slim.nets`: networks for images that were published, with the names of their checkpoints."""

from weft.contrib.slim.nets import alexnet as alexnet
from weft.contrib.slim.nets import inception as inception
from weft.contrib.slim.nets import overfeat as overfeat
from weft.contrib.slim.nets import resnet_utils as resnet_utils
from weft.contrib.slim.nets import resnet_v1 as resnet_v1
from weft.contrib.slim.nets import resnet_v2 as resnet_v2
from weft.contrib.slim.nets import vgg as vgg
