"""A server that tells its target and serves until its input ends."""

import sys

if sys.argv[1] == "weft":
    import weft as tf
else:
    import tensorflow

    tf = tensorflow.compat.v1

server = tf.train.Server.create_local_server()
target = server.target
print(target if isinstance(target, str) else target.decode())
sys.stdout.flush()
sys.stdin.read()
