"""Activation functions of networks."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import merge, same
from weft.ops.by_name import raw

REALS = "type in {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64"
FLOATS = "type in {half, bfloat16, float, double}"
_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


def _activation(name: str, types: str, kernel: Any, doc: str) -> OpDecl:
    decl = op(name, "features: T -> activations: T", f"T: {types}")(kernel)
    decl.__doc__ = doc
    decl.shape(same)
    return decl


def _grad_op(name: str, second: str, types: str, kernel: Any) -> OpDecl:
    decl = op(name, f"gradients: T, {second}: T -> backprops: T", f"T: {types}")(kernel)
    decl.__doc__ = f"The gradient of {name[:-4]}."
    decl.shape(lambda gradients, other: merge(gradients, other))
    return decl


def _one(xp: Any, x: Any) -> Any:
    return x.dtype.type(1) if hasattr(x.dtype, "type") else 1


def _where(xp: Any, condition: Any, x: Any, y: Any) -> Any:
    return xp.where(condition, x, y).astype(x.dtype)


# -- relu and its kin
# --------------------------------------------------------------------------------

relu = _activation(
    "Relu", REALS + ", qint8}", lambda xp, x: xp.maximum(x, x.dtype.type(0)), "max(x, 0)."
)
relu_grad = _grad_op(
    "ReluGrad", "features", REALS + "}", lambda xp, g, x: _where(xp, x > 0, g, g.dtype.type(0))
)
relu.gradient(lambda op, grad: relu_grad(grad, op.outputs[0]))
relu_grad.gradient(lambda op, grad: (relu_grad(grad, op.inputs[1]), raw.ZerosLike(op.inputs[1])))

relu6 = _activation(
    "Relu6",
    REALS + "}",
    lambda xp, x: xp.minimum(xp.maximum(x, x.dtype.type(0)), x.dtype.type(6)),
    "min(max(x, 0), 6).",
)
relu6_grad = _grad_op(
    "Relu6Grad",
    "features",
    REALS + "}",
    lambda xp, g, x: _where(xp, (x > 0) & (x < 6), g, g.dtype.type(0)),
)
relu6.gradient(lambda op, grad: relu6_grad(grad, op.outputs[0]))
relu6_grad.gradient(lambda op, grad: (relu6_grad(grad, op.inputs[1]), raw.ZerosLike(op.inputs[1])))


@op(
    "LeakyRelu",
    "features: T -> activations: T",
    f"alpha: float = 0.20000000298023224; T: {FLOATS} = float",
)
def leaky_relu_op(xp, features, *, alpha):
    """x where positive, else alpha * x."""
    return _where(xp, features > 0, features, features * features.dtype.type(alpha))


leaky_relu_op.shape(same)


@op(
    "LeakyReluGrad",
    "gradients: T, features: T -> backprops: T",
    f"alpha: float = 0.20000000298023224; T: {FLOATS} = float",
)
def leaky_relu_grad(xp, gradients, features, *, alpha):
    """The gradient of LeakyRelu."""
    return _where(xp, features > 0, gradients, gradients * gradients.dtype.type(alpha))


leaky_relu_grad.shape(lambda gradients, features: merge(gradients, features))
leaky_relu_op.gradient(
    lambda op, grad: leaky_relu_grad(grad, op.inputs[0], alpha=op.get_attr("alpha"))
)
leaky_relu_grad.gradient(
    lambda op, grad: (
        leaky_relu_grad(grad, op.inputs[1], alpha=op.get_attr("alpha")),
        raw.ZerosLike(op.inputs[1]),
    )
)

# -- exponential units
# -------------------------------------------------------------------------------

elu = _activation(
    "Elu",
    FLOATS,
    lambda xp, x: _where(xp, x < 0, xp.expm1(xp.minimum(x, x.dtype.type(0))), x),
    "exp(x) - 1 where negative, else x.",
)
elu_grad = _grad_op(
    "EluGrad", "outputs", FLOATS, lambda xp, g, y: _where(xp, y < 0, g * (y + y.dtype.type(1)), g)
)
elu.gradient(lambda op, grad: elu_grad(grad, op.outputs[0]))


@elu_grad.gradient
def _(op, grad):
    x = op.inputs[1]
    return (
        elu_grad(grad, x),
        raw.SelectV2(raw.Less(x, raw.ZerosLike(x)), raw.Mul(grad, op.inputs[0]), raw.ZerosLike(x)),
    )


selu = _activation(
    "Selu",
    FLOATS,
    lambda xp, x: _where(
        xp,
        x < 0,
        x.dtype.type(_SELU_SCALE_ALPHA) * xp.expm1(xp.minimum(x, x.dtype.type(0))),
        x.dtype.type(_SELU_SCALE) * x,
    ),
    "The scaled exponential unit.",
)
selu_grad = _grad_op(
    "SeluGrad",
    "outputs",
    FLOATS,
    lambda xp, g, y: _where(
        xp, y < 0, g * (y + y.dtype.type(_SELU_SCALE_ALPHA)), g * g.dtype.type(_SELU_SCALE)
    ),
)
selu.gradient(lambda op, grad: selu_grad(grad, op.outputs[0]))


@selu_grad.gradient
def _(op, grad):
    y = op.inputs[1]
    return (
        selu_grad(grad, y),
        raw.SelectV2(raw.Less(y, raw.ZerosLike(y)), raw.Mul(grad, op.inputs[0]), raw.ZerosLike(y)),
    )


softplus = _activation(
    "Softplus",
    FLOATS,
    lambda xp, x: xp.logaddexp(x, x.dtype.type(0)).astype(x.dtype),
    "log(exp(x) + 1).",
)
softplus_grad = _grad_op(
    "SoftplusGrad", "features", FLOATS, lambda xp, g, x: g / (xp.exp(-x) + x.dtype.type(1))
)
softplus.gradient(lambda op, grad: softplus_grad(grad, op.inputs[0]))


@softplus_grad.gradient
def _(op, grad):
    dy, x = op.inputs
    ddy = softplus_grad(grad, x)
    two = convert_to_tensor(2, dtype=x.dtype.base_dtype)
    d2x = raw.Mul(grad, raw.RealDiv(dy, raw.Add(raw.Add(raw.Exp(raw.Neg(x)), two), raw.Exp(x))))
    return ddy, d2x


softsign = _activation(
    "Softsign", FLOATS, lambda xp, x: x / (xp.abs(x) + x.dtype.type(1)), "x / (|x| + 1)."
)
softsign_grad = _grad_op(
    "SoftsignGrad", "features", FLOATS, lambda xp, g, x: g / xp.square(xp.abs(x) + x.dtype.type(1))
)
softsign.gradient(lambda op, grad: softsign_grad(grad, op.inputs[0]))


# -- public functions
# --------------------------------------------------------------------------------


def _public(decl: OpDecl, *names: str) -> None:
    def function(features: Any, name: str | None = None) -> Any:
        return decl(features, name=name)

    function.__name__ = function.__qualname__ = names[0].rpartition(".")[2]
    function.__doc__ = decl.__doc__
    export(*names)(function)


_public(relu, "nn.relu")
_public(elu, "nn.elu")
_public(selu, "nn.selu")
_public(softplus, "nn.softplus", "math.softplus")
_public(softsign, "nn.softsign", "math.softsign")


@export("nn.relu6")
def relu6_public(features: Any, name: str | None = None) -> Any:
    """min(max(features, 0), 6)."""
    with name_scope(name, "Relu6", [features]) as scope:
        return relu6(convert_to_tensor(features, name="features"), name=scope)


@export("nn.leaky_relu")
def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Any:
    """`features` where positive, else `alpha * features`."""
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = raw.Cast(features, DstT=dtypes.float32)
        if hasattr(alpha, "numpy"):
            alpha = float(alpha.numpy())
        return leaky_relu_op(features, alpha=alpha, name=scope)


@export("nn.crelu")
def crelu(features: Any, name: str | None = None, axis: int = -1) -> Any:
    """relu of `features` and of `-features`, concatenated along `axis`."""
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        return relu(raw.ConcatV2([features, raw.Neg(features)], axis, name=scope))


@export("nn.swish")
def swish(features: Any) -> Any:
    """`x * sigmoid(x)`; the gradient keeps `x` alone rather than the sigmoid as well."""
    from weft.framework.gradients_custom import custom_gradient

    @custom_gradient
    def function(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            s = raw.Sigmoid(x)
            one = convert_to_tensor(1, dtype=x.dtype.base_dtype)
            return raw.Mul(dy, raw.Mul(s, raw.Add(one, raw.Mul(x, raw.Sub(one, s)))))

        return raw.Mul(x, raw.Sigmoid(x)), grad

    with name_scope(None, "swish"):
        return function(convert_to_tensor(features, name="features"))


@export("nn.relu_layer")
def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """relu(x * weights + biases)."""
    from weft.ops.nn.bias import bias_add

    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        xw = bias_add(raw.MatMul(convert_to_tensor(x), convert_to_tensor(weights)), biases)
        return relu(xw, name=scope)


@export("nn.xw_plus_b")
def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """x * weights + biases."""
    from weft.ops.nn.bias import bias_add

    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        product = raw.MatMul(
            convert_to_tensor(x, name="x"), convert_to_tensor(weights, name="weights")
        )
        return bias_add(product, convert_to_tensor(biases, name="biases"), name=scope)
