"""slim.nets: published networks with the names of their checkpoints; HParams."""

import numpy as np
import pytest

import weft as tf

slim = tf.contrib.slim
nets = slim.nets
HParams = tf.contrib.training.HParams


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def names():
    return [v.op.name for v in slim.get_model_variables()]


@pytest.mark.parametrize("kind", ["v1", "v2"])
def test_residual_networks(kind):
    module = getattr(nets, "resnet_" + kind)
    x = tf.placeholder(tf.float32, [2, 33, 33, 3])
    with slim.arg_scope(module.resnet_arg_scope()):
        block = getattr(module, f"resnet_{kind}_block")
        blocks = [block("b1", base_depth=2, num_units=2, stride=2), block("b2", 3, 1, 1)]
        y, ends = getattr(module, "resnet_" + kind)(
            x, blocks, 5, is_training=False, global_pool=False, scope="r"
        )
    unit = f"r/b1/unit_1/bottleneck_{kind}"
    norm = ["gamma", "beta", "moving_mean", "moving_variance"]
    assert y.shape.as_list() == [2, 5, 5, 5] and "predictions" in ends
    assert ends["r/b1"].shape.as_list() == [2, 5, 5, 8]
    assert names()[0] == "r/conv1/weights"
    first = [n for n in names() if n.startswith(unit)]
    if kind == "v1":
        assert names()[1] == "r/conv1/BatchNorm/gamma"
        assert first[0] == f"{unit}/shortcut/weights"
    else:
        assert names()[1] == "r/conv1/biases"
        assert first[:4] == [f"{unit}/preact/{n}" for n in norm]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        out = session.run(ends["predictions"], {x: np.ones([2, 33, 33, 3])})
    np.testing.assert_allclose(out.sum(-1), 1, rtol=1e-5)


def test_dilated_instead_of_strided():
    x = tf.ones([1, 65, 65, 3])
    with slim.arg_scope(nets.resnet_v2.resnet_arg_scope()):
        y, _ = nets.resnet_v2.resnet_v2_50(x, global_pool=False, output_stride=8)
    assert y.shape.as_list() == [1, 9, 9, 2048]
    assert names()[-1] == "resnet_v2_50/postnorm/moving_variance" and len(names()) == 270
    with pytest.raises(ValueError, match="multiple of 4"):
        nets.resnet_v1.resnet_v1_50(x, output_stride=9)


def test_vgg():
    with slim.arg_scope(nets.vgg.vgg_arg_scope()):
        y, ends = nets.vgg.vgg_16(tf.ones([1, 224, 224, 3]), 7)
    assert y.shape.as_list() == [1, 7] and nets.vgg.vgg_16.default_image_size == 224
    assert names()[:2] == ["vgg_16/conv1/conv1_1/weights", "vgg_16/conv1/conv1_1/biases"]
    assert names()[-2:] == ["vgg_16/fc8/weights", "vgg_16/fc8/biases"] and len(names()) == 32
    assert list(ends)[-1] == "vgg_16/fc8"


def test_hyperparameters_keep_their_types():
    h = HParams(rate=0.1, units=[3, 4], name="a", train=True)
    assert h.parse("rate=2,units=[5, 6],name=b c,train=false") is h
    assert h.values() == {"rate": 2.0, "units": [5, 6], "name": "b c", "train": False}
    assert isinstance(h.rate, float) and "rate" in h and h.get("none", 3) == 3
    assert HParams(a=1).parse_json(HParams(a=2).to_json()).a == 2
    assert str(HParams(a=1, b="x")) == "a=1,b=x" and repr(HParams(a=1)) == "HParams([('a', 1)])"
    for text, message in (
        ("rate=x", "Could not parse hparam 'rate'"),
        ("rate=1,rate=2", "Multiple assignments"),
        ("what=1", "Unknown hyperparameter type for what"),
        ("units=[1],=", "Malformed"),
        ("units=1", "Must pass a list"),
    ):
        with pytest.raises(ValueError, match=message):
            h.parse(text)
    with pytest.raises(ValueError, match="Could not cast hparam 'units'"):
        h.set_hparam("units", [1.5])
    with pytest.raises(ValueError, match="reserved"):
        h.add_hparam("rate", 1)
    assert tf.contrib.training.parse_values("a[1]=2,a[3]=4", {"a": int}) == {"a": {1: 2, 3: 4}}


def test_inception():
    with slim.arg_scope(nets.inception.inception_v3_arg_scope()):
        y, ends = nets.inception.inception_v3(tf.ones([1, 107, 107, 3]), 7, depth_multiplier=0.1)
    assert y.shape.as_list() == [1, 7] and ends["Mixed_7c"].shape.as_list()[1:3] == [2, 2]
    assert ends["AuxLogits"].shape.as_list() == [1, 7]
    assert "InceptionV3/Mixed_5c/Branch_1/Conv_1_0c_5x5/weights" in names()
    assert names()[-1] == "InceptionV3/Logits/Conv2d_1c_1x1/biases"
    assert len(tf.get_collection("moving_vars")) == 2 * 96
    net, ends = nets.inception.inception_v1_base(tf.ones([1, 64, 64, 3]), "MaxPool_2a_3x3")
    assert net is ends["MaxPool_2a_3x3"] and net.shape.as_list() == [1, 16, 16, 64]
    with pytest.raises(ValueError, match="Unknown final endpoint what"):
        nets.inception.inception_v2_base(tf.ones([1, 64, 64, 3]), "what", scope="other")
    with pytest.raises(ValueError, match="not greater than zero"):
        nets.inception.inception_v2(tf.ones([1, 64, 64, 3]), depth_multiplier=0)


def test_alexnet_and_overfeat():
    for make, side, scope in (
        (nets.alexnet.alexnet_v2, 224, nets.alexnet.alexnet_v2_arg_scope),
        (nets.overfeat.overfeat, 231, nets.overfeat.overfeat_arg_scope),
    ):
        with slim.arg_scope(scope()):
            y, ends = make(tf.placeholder(tf.float32, [2, side, side, 3]), 7)
        assert y.shape.as_list() == [2, 7] and len(ends) == 11
        assert names()[-1] == make.__name__ + "/fc8/biases"
