"""One side of an exchange of graphs; runs on every Python that a peer needs.

    python side.py write weft|tf1|tf2 FOLDER     builds and runs each program
    python side.py read weft|tf1|tf2 FOLDER      loads and runs each graph, compares

Both print a line of JSON: for each program null, or what went wrong.
"""

import importlib
import json
import os
import pkgutil
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = sorted(module.name for module in pkgutil.iter_modules([os.path.join(HERE, "programs")]))
# Written with layers, cells and contrib, which TensorFlow 2 has no more: it only reads these.
OF_TENSORFLOW_1 = {"dynamic_rnn", "layers_cnn"}


def writes(implementation, name):
    """Whether a program is in an implementation's vocabulary."""
    return implementation != "tf2" or name not in OF_TENSORFLOW_1


def exchanges(writer, reader, name):
    """Whether one side can read what the other one writes of a program."""
    if (writer, reader, name) == ("tf1", "tf2", "layers_cnn"):
        return False  # of the gradient of FusedBatchNorm TensorFlow 2 refuses the shapes that TensorFlow 1 wrote
    return writes(writer, name)


def vocabulary(implementation):
    if implementation == "weft":
        import weft

        return weft
    if implementation == "tf1":
        import tensorflow

        return tensorflow
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    return tensorflow


def write(tf, name, path):
    """Builds a program, runs it, and leaves its graph and what it gave."""
    import exchange

    tf.reset_default_graph()
    program = importlib.import_module("programs." + name)
    with tf.Graph().as_default() as graph:
        plan = program.build(tf)
        if plan.get("frozen") is not None:
            graph_def = plan["frozen"]
        elif plan.get("meta"):
            graph_def = tf.train.export_meta_graph(graph=graph)
        else:
            graph_def = graph.as_graph_def()
        with tf.Session(graph=graph) as session:
            results = run(session, plan)
    with open(path + ".pb", "wb") as file:
        file.write(graph_def.SerializeToString())
    exchange.save(path + ".json", plan, results)


def read(tf, name, path):
    """Loads a graph that the other side left and checks that it gives the same."""
    import exchange

    plan, expected = exchange.load(path + ".json")
    with open(path + ".pb", "rb") as file:
        content = file.read()
    with tf.Graph().as_default() as graph:
        if plan["meta"]:
            meta = tf.MetaGraphDef()
            meta.ParseFromString(content)
            tf.train.import_meta_graph(meta)
            tf.global_variables_initializer()
            names = [variable.name for variable in tf.trainable_variables()]
            assert names == plan["trainable"], names
        else:
            graph_def = tf.GraphDef()
            graph_def.ParseFromString(content)
            tf.import_graph_def(graph_def, name="")
        with tf.Session(graph=graph) as session:
            results = run(session, plan)
    exchange.compare(plan, results, expected)


def run(session, plan):
    """Initialises and takes every run of a plan; gives the fetched values of each."""
    if plan.get("init"):
        session.run(plan["init"])
    return [session.run(list(fetches), feeds) for feeds, fetches in plan["runs"]]


def main():
    verb, implementation, folder = sys.argv[1:]
    sys.path.insert(0, HERE)
    tf = vocabulary(implementation)
    outcome = {}
    for name in PROGRAMS:
        path = os.path.join(folder, name)
        if verb == "write" and not writes(implementation, name):
            continue
        if verb == "read" and not os.path.exists(path + ".json"):
            outcome[name] = "the other side did not write it"
            continue
        try:
            (write if verb == "write" else read)(tf, name, path)
            outcome[name] = None
        except Exception:
            outcome[name] = traceback.format_exc(limit=-6)
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
