"""Variables of both kinds: assignment in order, scatter, counting, tensors that depend on order."""


def build(tf):
    runs = []
    for kind, use_resource in (("reference", False), ("resource", True)):
        with tf.variable_scope(kind):
            v = tf.get_variable(
                "v", initializer=tf.constant([1.0, 2.0, 3.0]), use_resource=use_resource
            )
            before = v + 0.0
            with tf.control_dependencies([before]):
                with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0, 1.0])]):
                    after = tf.identity(v.read_value(), name="after")
            before = tf.identity(before, name="before")
            scattered = tf.scatter_update(v, [0, 2], [10.0, 30.0])
            added = tf.scatter_add(v, [1, 1], [5.0, 5.0])
            with tf.control_dependencies([tf.assign_sub(v, v * 0.5)]):
                tf.identity(v.read_value(), name="halved")
            for name, op in (("scattered", scattered), ("added", added)):
                with tf.control_dependencies([op]):
                    tf.identity(v.read_value(), name=name)
        runs.append(({}, [before.name, after.name]))
        runs += [({}, [kind + "/" + name + ":0"]) for name in ("scattered", "added", "halved")]
    counter = tf.Variable(0, name="counter", use_resource=False)
    tf.count_up_to(counter, 3, name="counted")
    runs += [({}, ["counted:0"])] * 2
    tf.global_variables_initializer()
    return {"init": "init", "runs": runs}
