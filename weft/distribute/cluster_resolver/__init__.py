"""`tf.distribute.cluster_resolver`: who is in the cluster, asked of whatever has started it."""

from weft.distribute.cluster_resolver.gce import GCEClusterResolver as GCEClusterResolver
from weft.distribute.cluster_resolver.kubernetes import (
    KubernetesClusterResolver as KubernetesClusterResolver,
)
from weft.distribute.cluster_resolver.resolver import ClusterResolver as ClusterResolver
from weft.distribute.cluster_resolver.simple import SimpleClusterResolver as SimpleClusterResolver
from weft.distribute.cluster_resolver.slurm import SlurmClusterResolver as SlurmClusterResolver
from weft.distribute.cluster_resolver.tf_config import (
    TFConfigClusterResolver as TFConfigClusterResolver,
)
from weft.distribute.cluster_resolver.tpu import TPUClusterResolver as TPUClusterResolver
from weft.distribute.cluster_resolver.union import UnionResolver as UnionResolver
