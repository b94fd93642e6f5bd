"""The update rules of the optimizers."""

from __future__ import annotations

from typing import Any

from weft.ops.state.training import training_ops

_NESTEROV = "use_nesterov: bool = false"
_SLOTS = "update_slots: bool = true"


@training_ops("GradientDescent", "", "alpha delta")
def _(xp, var, *, grad, alpha):
    """Steps against the gradient."""
    return (var - grad * alpha,)


@training_ops("Momentum", "accum", "lr grad momentum", "lr grad indices momentum", _NESTEROV)
def _(xp, var, accum, *, grad, lr, momentum, use_nesterov):
    """Steps along a decaying sum of gradients; with `use_nesterov`, along where that sum is going."""
    accum = xp.settle(accum * momentum + grad, accum)
    if use_nesterov:
        return var - (grad * lr + accum * momentum * lr), accum
    return var - accum * lr, accum


@training_ops(
    "KerasMomentum",
    "accum",
    "lr grad momentum",
    "lr grad indices momentum",
    _NESTEROV,
    forms="ResourceApply ResourceSparseApply",
)
def _(xp, var, accum, *, grad, lr, momentum, use_nesterov):
    """Steps along a decaying sum of steps, the learning rate within the sum."""
    accum = xp.settle(accum * momentum - grad * lr, accum)
    return var + (accum * momentum - grad * lr if use_nesterov else accum), accum


@training_ops("Adagrad", "accum", "lr grad", "lr grad indices", _SLOTS)
def _(xp, var, accum, *, grad, lr, update_slots):
    """Steps by the gradient over the root of the sum of squared gradients."""
    if update_slots:
        accum = xp.settle(accum + grad * grad, accum)
    return var - grad * lr / xp.sqrt(accum), accum if update_slots else None


@training_ops("AdagradV2", "accum", "lr epsilon grad", "lr epsilon grad indices", _SLOTS)
def _(xp, var, accum, *, grad, lr, epsilon, update_slots):
    """Adagrad with a constant added to the root."""
    if update_slots:
        accum = xp.settle(accum + grad * grad, accum)
    return var - grad * lr / (xp.sqrt(accum) + epsilon), accum if update_slots else None


@training_ops(
    "AdagradDA",
    "gradient_accumulator gradient_squared_accumulator",
    "grad lr l1 l2 global_step",
    "grad indices lr l1 l2 global_step",
)
def _(xp, var, total, squares, *, grad, lr, l1, l2, global_step):
    """Dual averaging: the variable follows from the sums of gradients and of their squares."""
    step = global_step.astype(lr.dtype)
    total = xp.settle(total + grad, total)
    squares = xp.settle(squares + grad * grad, squares)
    shrunk = xp.sign(total) * xp.maximum(xp.abs(total) - l1 * step, xp.zeros_like(total))
    shrunk = xp.where(l1 > 0, shrunk, total)
    return -lr * shrunk / (l2 * step * lr + xp.sqrt(squares)), total, squares


@training_ops(
    "Adadelta", "accum accum_update", "lr rho epsilon grad", "lr rho epsilon grad indices"
)
def _(xp, var, accum, accum_update, *, grad, lr, rho, epsilon):
    """Steps by the gradient times the ratio of decaying means of squared steps and of squared gradients."""
    accum = xp.settle(accum * rho + grad * grad * (1 - rho), accum)
    update = xp.sqrt(accum_update + epsilon) / xp.sqrt(accum + epsilon) * grad
    return var - update * lr, accum, accum_update * rho + update * update * (1 - rho)


def _moments(xp: Any, m: Any, v: Any, grad: Any, beta1: Any, beta2: Any) -> tuple[Any, Any]:
    """Decaying means of the gradient and of its square."""
    new_m, new_v = m + (grad - m) * (1 - beta1), v + (grad * grad - v) * (1 - beta2)
    return xp.settle(new_m, m), xp.settle(new_v, v)


@training_ops(
    "Adam",
    "m v",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    flag=_NESTEROV,
)
def _(xp, var, m, v, *, grad, beta1_power, beta2_power, lr, beta1, beta2, epsilon, use_nesterov):
    """Steps by the mean gradient over the root of the mean squared gradient, both without their start's bias."""
    alpha = lr * xp.sqrt(1 - beta2_power) / (1 - beta1_power)
    m, v = _moments(xp, m, v, grad, beta1, beta2)
    direction = grad * (1 - beta1) + m * beta1 if use_nesterov else m
    return var - direction * alpha / (xp.sqrt(v) + epsilon), m, v


@training_ops(
    "AdamWithAmsgrad",
    "m v vhat",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    forms="ResourceApply",
)
def _(xp, var, m, v, vhat, *, grad, beta1_power, beta2_power, lr, beta1, beta2, epsilon):
    """Adam, dividing by the greatest mean squared gradient so far."""
    alpha = lr * xp.sqrt(1 - beta2_power) / (1 - beta1_power)
    m, v = _moments(xp, m, v, grad, beta1, beta2)
    vhat = xp.settle(xp.maximum(vhat, v), vhat)
    return var - m * alpha / (xp.sqrt(vhat) + epsilon), m, v, vhat


@training_ops("AdaMax", "m v", "beta1_power lr beta1 beta2 epsilon grad")
def _(xp, var, m, v, *, grad, beta1_power, lr, beta1, beta2, epsilon):
    """Adam with a decaying maximum in place of the root mean square."""
    m = xp.settle(m + (grad - m) * (1 - beta1), m)
    v = xp.settle(xp.maximum(v * beta2, xp.abs(grad)), v)
    return var - lr / (1 - beta1_power) * (m / (v + epsilon)), m, v


@training_ops("AddSign", "m", "lr alpha sign_decay beta grad")
def _(xp, var, m, *, grad, lr, alpha, sign_decay, beta):
    """Steps further where the gradient and its decaying mean agree in sign."""
    m = xp.settle(m * beta + grad * (1 - beta), m)
    agreement = xp.sign(grad) * xp.sign(m)
    return var - lr * (alpha + sign_decay * agreement) * grad, m


@training_ops("PowerSign", "m", "lr logbase sign_decay beta grad")
def _(xp, var, m, *, grad, lr, logbase, sign_decay, beta):
    """Steps exponentially further where the gradient and its decaying mean agree in sign."""
    m = xp.settle(m * beta + grad * (1 - beta), m)
    agreement = xp.sign(grad) * xp.sign(m)
    return var - lr * xp.exp(logbase * sign_decay * agreement) * grad, m


@training_ops(
    "RMSProp", "ms mom", "lr rho momentum epsilon grad", "lr rho momentum epsilon grad indices"
)
def _(xp, var, ms, mom, *, grad, lr, rho, momentum, epsilon):
    """Steps by the gradient over the root of the decaying mean of its square, with momentum."""
    ms = xp.settle(ms + (grad * grad - ms) * (1 - rho), ms)
    mom = xp.settle(mom * momentum + grad * lr / xp.sqrt(ms + epsilon), mom)
    return var - mom, ms, mom


@training_ops(
    "CenteredRMSProp",
    "mg ms mom",
    "lr rho momentum epsilon grad",
    "lr rho momentum epsilon grad indices",
)
def _(xp, var, mg, ms, mom, *, grad, lr, rho, momentum, epsilon):
    """RMSProp with the decaying variance of the gradient in place of its mean square."""
    ms = xp.settle(ms + (grad * grad - ms) * (1 - rho), ms)
    mg = xp.settle(mg + (grad - mg) * (1 - rho), mg)
    mom = xp.settle(mom * momentum + grad * lr / xp.sqrt(ms - mg * mg + epsilon), mom)
    return var - mom, mg, ms, mom


def _ftrl(xp, var, accum, linear, grad, for_linear, lr, l1, l2, lr_power):
    new_accum = accum + grad * grad
    power = -lr_power
    now, before = new_accum**power, accum**power
    linear = linear + for_linear - (now - before) / lr * var
    quadratic = now / lr + 2 * l2
    pulled = (xp.sign(linear) * l1 - linear) / quadratic
    return xp.where(xp.abs(linear) > l1, pulled, xp.zeros_like(var)), new_accum, linear


@training_ops("Ftrl", "accum linear", "grad lr l1 l2 lr_power", "grad indices lr l1 l2 lr_power")
def _(xp, var, accum, linear, *, grad, lr, l1, l2, lr_power):
    """Follows the regularised leader: zero where the summed gradient stays within `l1`."""
    return _ftrl(xp, var, accum, linear, grad, grad, lr, l1, l2, lr_power)


@training_ops(
    "FtrlV2",
    "accum linear",
    "grad lr l1 l2 l2_shrinkage lr_power",
    "grad indices lr l1 l2 l2_shrinkage lr_power",
)
def _(xp, var, accum, linear, *, grad, lr, l1, l2, l2_shrinkage, lr_power):
    """Ftrl whose sum of gradients takes in a shrinkage of the variable."""
    shrunk = grad + 2 * l2_shrinkage * var
    return _ftrl(xp, var, accum, linear, grad, shrunk, lr, l1, l2, lr_power)


def _proximal(xp: Any, step: Any, lr: Any, l1: Any, l2: Any) -> Any:
    """The point nearest to `step` when distance, `l1` and `l2` are paid for."""
    shrunk = xp.sign(step) * xp.maximum(xp.abs(step) - lr * l1, xp.zeros_like(step))
    return xp.where(l1 > 0, shrunk, step) / (1 + l2 * lr)


@training_ops("ProximalGradientDescent", "", "alpha l1 l2 delta", "alpha l1 l2 grad indices")
def _(xp, var, *, grad, alpha, l1, l2):
    """Steps against the gradient, then toward zero as `l1` and `l2` ask."""
    return (_proximal(xp, var - grad * alpha, alpha, l1, l2),)


@training_ops("ProximalAdagrad", "accum", "lr l1 l2 grad", "lr l1 l2 grad indices")
def _(xp, var, accum, *, grad, lr, l1, l2):
    """Adagrad, then toward zero as `l1` and `l2` ask."""
    accum = xp.settle(accum + grad * grad, accum)
    rate = lr / xp.sqrt(accum)
    return _proximal(xp, var - grad * rate, rate, l1, l2), accum
