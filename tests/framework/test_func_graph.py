"""Bodies of functions, and what leaves them."""

import weft as tf


def test_variables_leave_a_graph_that_a_program_calls_a_functions():
    inner = tf.Graph()
    inner._building_function = True
    with tf.Graph().as_default() as outer, inner.as_default(), tf.init_scope():
        v = tf.get_variable("v", [])
    assert v.graph is outer
