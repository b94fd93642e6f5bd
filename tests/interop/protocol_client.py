"""A client's programs at a cluster of a worker and a parameter server, on every Python that a peer needs.

    python protocol_client.py weft|tf1|tf2 TARGET [TOPIC...]

Prints, as one line of JSON, for each topic null or what went wrong.
"""

import importlib
import json
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))

MODULES = ("basics", "flow", "resources", "scale", "edges")


def topics():
    """The topics' functions, by name."""
    sys.path.insert(0, HERE)
    found = {}
    for module in MODULES:
        module = importlib.import_module("topics." + module)
        found.update(
            (name, function)
            for name, function in sorted(vars(module).items())
            if callable(function)
            and getattr(function, "__module__", "") == module.__name__
            and not name.startswith("_")
            and isinstance(function, type(topics))
        )
    return found


def main():
    implementation, target, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
    if implementation == "weft":
        import weft as tf
    else:
        import tensorflow

        tf = tensorflow.compat.v1
        tf.disable_v2_behavior()
    outcome = {}
    for name, function in topics().items():
        if wanted and name not in wanted:
            continue
        tf.reset_default_graph()
        config = tf.ConfigProto(operation_timeout_in_ms=20000)
        try:
            with tf.Session(target, config=config) as session:
                function(tf, session)
            outcome[name] = None
        except BaseException:
            outcome[name] = traceback.format_exc(limit=-4)[-3000:]
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
