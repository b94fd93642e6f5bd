"""A task of a cluster, which serves until its input ends.

python task_server.py IMPLEMENTATION JOB INDEX CLUSTER_AS_JSON
"""

import json
import sys

if sys.argv[1] == "weft":
    import weft as tf
else:
    import tensorflow

    tf = tensorflow.compat.v1

server = tf.train.Server(json.loads(sys.argv[4]), sys.argv[2], int(sys.argv[3]))
print("serving")
sys.stdout.flush()
sys.stdin.read()
