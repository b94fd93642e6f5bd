"""tf.function: traces, signatures, variables, gradients, tiers."""

import functools

import numpy as np
import pytest

import weft as tf
from weft import testing


def test_one_trace_for_each_kind_of_arguments():
    traces = []

    @tf.function
    def f(x, flag=True):
        traces.append((x.dtype.name, x.shape.as_list(), flag))
        return x + 1 if flag else x

    f(tf.constant(1)), f(tf.constant(2)), f(x=tf.constant(3))
    f(tf.constant(1.0)), f(np.ones(2, np.float32)), f(tf.constant(1), False)
    assert traces == [
        ("int32", [], True),
        ("float32", [], True),
        ("float32", [2], True),
        ("int32", [], False),
    ]


def test_structures_go_in_and_out():
    @tf.function
    def f(pair, *, scale):
        return {"sum": pair[0] + pair[1]["b"] * scale, "none": None}

    out = f([tf.constant(1.0), {"b": tf.constant(2.0)}], scale=3.0)
    assert out["sum"].numpy() == 7.0 and out["none"] is None

    @tf.function
    def slices(x):
        return tf.IndexedSlices(x.values * 2.0, x.indices)

    got = slices(tf.IndexedSlices(tf.ones([2, 2]), tf.constant([0, 1])))
    assert isinstance(got, tf.IndexedSlices) and got.values.numpy()[0, 0] == 2.0


def test_a_signature_holds():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x):
        return tf.reduce_sum(x)

    assert f([1.0, 2.0]).numpy() == 3.0 and f(tf.ones([5])).numpy() == 5.0
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(ValueError, match="incompatible with input_signature"):
        f(tf.ones([2, 2]))
    with pytest.raises(TypeError, match="only pass arguments covered by it"):
        f([1.0], 2)
    with pytest.raises(TypeError, match="must be either a tuple or a list"):
        tf.function(lambda x: x, input_signature=tf.TensorSpec([], tf.float32))


def test_shapes_are_relaxed_on_request():
    f = tf.function(lambda x: x * 2.0, experimental_relax_shapes=True)
    for n in range(1, 6):
        assert f(tf.ones([n])).shape == [n]
    assert f.experimental_get_tracing_count() == 2


def test_concrete_functions():
    @tf.function
    def f(a, b):
        return a + b, a * b

    concrete = f.get_concrete_function(
        tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32, name="second")
    )
    assert [t.op.name for t in concrete.inputs] == ["a", "second"]
    assert concrete.structured_outputs[0] == tf.TensorSpec([None], tf.float32)
    total, product = concrete(a=tf.constant([1.0]), second=tf.constant(2.0))
    assert total.numpy() == [3.0] and product.numpy() == [2.0]
    with pytest.raises(TypeError, match="Missing: .'second'."):
        concrete(tf.constant([1.0]))
    with pytest.raises(ValueError, match="must be Tensors"):
        concrete(1.0, tf.constant(1.0))


def test_variables_are_created_once():
    class Layer:
        def __init__(self):
            self.v = None

        @tf.function
        def __call__(self, x):
            if self.v is None:
                self.v = tf.Variable(tf.ones([2]) * 3.0)
            return x * self.v

    one, two = Layer(), Layer()
    assert one(tf.constant(2.0)).numpy().tolist() == [6.0, 6.0]
    assert one(tf.ones([2])).numpy().tolist() == [3.0, 3.0]
    two(tf.constant(1.0))
    assert one.v is not two.v

    @tf.function
    def always(x):
        return tf.Variable(1.0) + x

    always(tf.constant(1.0))
    with pytest.raises(ValueError, match="non-first call"):
        always(tf.constant([1.0]))


def test_effects_happen_in_order_and_always():
    v, log = tf.Variable(1.0), []

    @tf.function
    def f():
        v.assign_add(1.0)
        a = v.read_value()
        v.assign(v * 10.0)
        tf.py_func(lambda x: log.append(float(x)), [v.read_value()], [], stateful=True)
        v.assign_sub(5.0)
        return a

    assert f().numpy() == 2.0 and v.numpy() == 15.0 and log == [20.0]
    f()
    assert v.numpy() == 155.0 and log == [20.0, 160.0]


def test_captured_values_are_those_of_the_call():
    big = tf.constant(np.arange(1000, dtype=np.float32))
    v = tf.Variable(1.0)
    f = tf.function(lambda: tf.reduce_sum(big) * v)
    assert f().numpy() == pytest.approx(499500.0)
    v.assign(2.0)
    assert f().numpy() == pytest.approx(999000.0)
    assert len(f.get_concrete_function().captured_inputs) == 2


def test_gradients_of_all_orders():
    v = tf.Variable(2.0)
    f = tf.function(lambda x: tf.sin(x) * v)
    g = tf.function(lambda x: f(x) * x)
    x = tf.constant(0.5)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = g(x)
        dx, dv = inner.gradient(y, [x, v])
    second = outer.gradient(dx, x)
    s, c = np.sin(0.5), np.cos(0.5)
    np.testing.assert_allclose(dx.numpy(), 2 * (c * 0.5 + s), rtol=1e-6)
    np.testing.assert_allclose(dv.numpy(), s * 0.5, rtol=1e-6)
    np.testing.assert_allclose(second.numpy(), 2 * (2 * c - s * 0.5), rtol=1e-6)


def test_tapes_inside_see_loops_and_calls():
    inner = tf.function(lambda x: x * x)

    @tf.function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            _, looped = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (0, 1.0))
            called = inner(x)
        return tape.gradient(looped, x), tape.gradient(called, x)

    assert [t.numpy() for t in f(tf.constant(2.0))] == [12.0, 4.0]


def test_dropout_keeps_its_mask_in_the_gradient():
    f = tf.function(lambda x: tf.nn.dropout(x, rate=0.5))
    x = tf.ones([1000])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), y.numpy())


def test_a_training_step_becomes_one_compiled_call():
    v = tf.Variable(tf.ones([4, 1]))
    optimizer = tf.train.AdamOptimizer(0.1)

    @tf.function(jit_compile=True)
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.matmul(x, v) - y) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])
        return loss

    x, y = tf.random.normal([8, 4]), tf.zeros([8, 1])
    losses = [step(x, y).numpy() for _ in range(20)]
    assert losses[-1] < losses[0]
    plan = step.get_concrete_function(x, y)._runner.call.plan
    assert len(plan.steps) == 1 and plan.steps[0].ready


def test_what_cannot_be_compiled_is_named():
    f = tf.function(lambda x: tf.py_func(lambda v: v, [x], tf.float32), jit_compile=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="runs on the host only"):
        f(tf.constant(1.0))


def test_both_tiers_agree():
    f = tf.function(lambda x: tf.nn.softmax(tf.matmul(x, x)))
    x = tf.constant(np.random.RandomState(0).rand(4, 4).astype(np.float32))
    with testing.tier("interpret"):
        a = f(x).numpy()
    with testing.tier("compile"):
        b = f(x).numpy()
    np.testing.assert_allclose(a, b, rtol=1e-5)


def test_in_a_graph():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(5.0, use_resource=True)
        f = tf.function(lambda x: x * v)
        x = tf.constant(2.0)
        y = f(x)
        grads = tf.gradients(y, [x, v])
        sess.run(v.initializer)
        assert sess.run([y, *grads]) == [10.0, 5.0, 2.0]


def test_partial_functions_and_methods():
    f = tf.function(functools.partial(lambda a, b, c=3: (a, b, c), 1, c=4))
    assert [t.numpy() for t in f(2)] == [1, 2, 4]


def test_bad_arguments():
    f = tf.function(lambda x: x.append(1))
    with pytest.raises(ValueError, match="should not modify structure of input arguments"):
        f([tf.constant(1)])
    with pytest.raises(TypeError, match="zero or more Tensors"):
        tf.function(lambda: object())()
    with pytest.raises(ValueError, match="must be hashable"):
        tf.function(lambda x: 1)(set())


def test_wrapped_functions_are_pruned():
    v = tf.Variable(2.0)

    def code(x):
        y = tf.identity(x * v, name="y")
        v.assign_add(1.0, name="increment", read_value=False)
        return y

    wrapped = tf.wrap_function(code, [tf.TensorSpec([], tf.float32)])
    assert wrapped(tf.constant(3.0)).numpy() == 6.0 and v.numpy() == 2.0
    bump = wrapped.prune([], wrapped.graph.get_operation_by_name("increment"))
    bump()
    assert v.numpy() == 3.0


def test_a_variable_passed_on_from_function_to_function_has_one_gradient():
    v = tf.Variable([1.0, 2.0])
    inner = tf.function(lambda x, v: x + tf.reduce_sum(v))

    def loop(v):
        total = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, inner(x, v)), [0, 0.0])[1]
        return tf.gradients(total, v)[0]

    assert tf.function(lambda v: tf.gradients(inner(0.0, v), v)[0])(v).numpy().tolist() == [1, 1]
    assert tf.function(loop)(v).numpy().tolist() == [2, 2]


def test_gradients_of_concrete_tensors_in_a_function():
    c = tf.constant(3.0)

    def loop():
        total = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x * c), [0, 1.0])[1]
        return tf.gradients(total, [c])[0]

    assert tf.function(loop)().numpy() == 6.0
