"""What makes a cluster: its description, and servers."""

from weft.distributed import cluster_spec as cluster_spec
from weft.distributed import server as server
from weft.distributed.credentials import Credentials as Credentials
from weft.distributed.limits import Limits as Limits
