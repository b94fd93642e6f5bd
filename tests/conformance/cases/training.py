"""Optimizers' update ops: dense and sparse, on reference and on resource variables."""

from __future__ import annotations

from ..case import Family, script
from .state import read, reference, resource

ROWS = [[1.0, -2.0], [3.0, 4.0], [-5.0, 6.0]]
GRADIENT = [[0.5, -1.0], [2.0, 0.25], [1.0, -0.5]]
SLOTS = (
    [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]],
    [[0.7, 0.5], [0.3, 0.1], [0.2, 0.4]],
    [[0.05, 0.1], [0.2, 0.15], [0.25, 0.3]],
)
CORE = ("GradientDescent", "Momentum", "Adam")

# Rule: names of the slots, then the other arguments in any order with their values.
RULES = {
    "GradientDescent": ([], dict(alpha=0.1), "delta"),
    "Momentum": (["accum"], dict(lr=0.1, momentum=0.9), "grad"),
    "Adam": (
        ["m", "v"],
        dict(beta1_power=0.9, beta2_power=0.999, lr=0.01, beta1=0.9, beta2=0.999, epsilon=1e-8),
        "grad",
    ),
    "AdaMax": (
        ["m", "v"],
        dict(beta1_power=0.9, lr=0.01, beta1=0.9, beta2=0.999, epsilon=1e-8),
        "grad",
    ),
    "Adadelta": (["accum", "accum_update"], dict(lr=0.1, rho=0.9, epsilon=1e-6), "grad"),
    "Adagrad": (["accum"], dict(lr=0.1), "grad"),
    "AdagradV2": (["accum"], dict(lr=0.1, epsilon=1e-6), "grad"),
    "AdagradDA": (
        ["gradient_accumulator", "gradient_squared_accumulator"],
        dict(lr=0.1, l1=0.01, l2=0.02, global_step=3),
        "grad",
    ),
    "AddSign": (["m"], dict(lr=0.1, alpha=1.0, sign_decay=0.9, beta=0.8), "grad"),
    "PowerSign": (["m"], dict(lr=0.1, logbase=1.0, sign_decay=0.9, beta=0.8), "grad"),
    "CenteredRMSProp": (
        ["mg", "ms", "mom"],
        dict(lr=0.01, rho=0.9, momentum=0.5, epsilon=1e-3),
        "grad",
    ),
    "RMSProp": (["ms", "mom"], dict(lr=0.01, rho=0.9, momentum=0.5, epsilon=1e-3), "grad"),
    "Ftrl": (["accum", "linear"], dict(lr=0.1, l1=0.01, l2=0.02, lr_power=-0.5), "grad"),
    "FtrlV2": (
        ["accum", "linear"],
        dict(lr=0.1, l1=0.01, l2=0.02, l2_shrinkage=0.1, lr_power=-0.5),
        "grad",
    ),
    "ProximalAdagrad": (["accum"], dict(lr=0.1, l1=0.01, l2=0.02), "grad"),
    "ProximalGradientDescent": ([], dict(alpha=0.1, l1=0.01, l2=0.02), "delta"),
    "KerasMomentum": (["accum"], dict(lr=0.1, momentum=0.9), "grad"),
    "AdamWithAmsgrad": (
        ["m", "v", "vhat"],
        dict(beta1_power=0.9, beta2_power=0.999, lr=0.01, beta1=0.9, beta2=0.999, epsilon=1e-8),
        "grad",
    ),
}
ONLY_RESOURCE = ("KerasMomentum", "AdamWithAmsgrad")
ONLY_DENSE = ("GradientDescent", "Adam", "AdaMax", "AddSign", "PowerSign", "AdamWithAmsgrad")
# The running gradient moment of the centred form must stay below the second moment.
SMALL_SLOTS = {"mg": [[0.01, 0.02], [0.03, 0.02], [0.01, 0.03]]}
VARIANTS = {
    "Momentum": dict(use_nesterov=True),
    "KerasMomentum": dict(use_nesterov=True),
    "Adam": dict(use_nesterov=True),
    "Adagrad": dict(update_slots=False),
}

scripts = []


def scalar(g, name, value, dtype):
    return g.feed(value, "int64" if name == "global_step" else dtype)


def declare(op, rule, sparse, on_resource, attrs, label):
    slots, numbers, flowing = RULES[rule]
    if sparse:
        flowing = "grad"
    make = resource if on_resource else reference

    def updates(g):
        for dtype in ("float32", "float64") if rule in CORE else ("float32",):
            variables = {"var": make(g, ROWS, dtype)}
            for name, values in zip(slots, SLOTS):
                variables[name] = make(g, SMALL_SLOTS.get(name, values), dtype)
            arguments = {name: pair[0] for name, pair in variables.items()}
            for name, value in numbers.items():
                arguments[name] = scalar(g, name, value, dtype)
            arguments[flowing] = g.feed(GRADIENT[:2] if sparse else GRADIENT, dtype)
            if sparse:
                arguments["indices"] = g.feed([2, 0], "int32" if dtype == "float32" else "int64")
            arguments.update(attrs)
            yield g.run(*[pair[1] for pair in variables.values()])
            update = getattr(g.raw, op)(**arguments)
            for _ in range(2):
                yield g.run(update)
                yield g.run(
                    *[
                        read(g, pair[0], dtype) if on_resource else g.raw.Identity(input=pair[0])
                        for pair in variables.values()
                    ]
                )

    updates.__name__ = op + label
    scripts.append(script(op, tol=5, later=rule not in CORE)(updates))


for rule in sorted(RULES):
    for on_resource in (False, True):
        for sparse in (False, True):
            if rule in ONLY_RESOURCE and not on_resource or rule in ONLY_DENSE and sparse:
                continue
            op = ("Resource" if on_resource else "") + ("Sparse" if sparse else "") + "Apply" + rule
            declare(op, rule, sparse, on_resource, {}, "")
            if rule in VARIANTS:
                declare(op, rule, sparse, on_resource, VARIANTS[rule], "_variant")


@script("ApplyGradientDescent", "ResourceApplyGradientDescent", "ApplyMomentum")
def updates_refuse_other_shapes(g):
    v, init = reference(g, ROWS)
    accum, init_accum = reference(g, ROWS)
    handle, init_handle = resource(g, ROWS)
    wrong = g.feed([[1.0, 2.0]], shape=None)
    rate = g.feed(0.5)
    yield g.run(init, init_handle, init_accum)
    yield g.run(
        g.raw.ApplyGradientDescent(var=v, alpha=rate, delta=wrong), error="InvalidArgumentError"
    )
    yield g.run(
        g.raw.ResourceApplyGradientDescent(var=handle, alpha=rate, delta=wrong),
        error="InvalidArgumentError",
    )
    yield g.run(
        g.raw.ApplyMomentum(var=v, accum=accum, lr=rate, grad=wrong, momentum=rate),
        error="InvalidArgumentError",
    )
    yield g.run(g.raw.Identity(input=v), read(g, handle))


@script("ApplyGradientDescent")
def update_of_an_uninitialised_variable(g):
    v, init = reference(g, ROWS)
    descent = g.raw.ApplyGradientDescent(var=v, alpha=g.feed(0.5), delta=g.feed(GRADIENT))
    yield g.run(descent, error="FailedPreconditionError")
    yield g.run(init)
    yield g.run(descent)


scripts += [updates_refuse_other_shapes, update_of_an_uninitialised_variable]
FAMILY = Family("training", [], scripts)
