"""What a case is: one call of one op (`row`), or a small program with several runs (`script`).

Imported by the tests and, on Python 3.7, by `tools/oracle.py`.
"""

from __future__ import annotations

from .values import Value

# How much of the inputs' shapes the graph is told; "fed" also hides the constants.
LEVELS = ("full", "batch", "rank", "none", "fed")
DIFFERENTIABLE = ("float32", "float64", "complex64", "complex128")
TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 2e-5,
    "float64": 1e-9,
    "complex64": 2e-5,
    "complex128": 1e-9,
}


class Case:
    """One op on given inputs and attributes, in one dtype.

    Args:
        inputs: name -> Value, or list of Values for an input list.
        tolerance: factor on the usual tolerance of the results' dtype.
        grad: whether gradients are compared; or the names of the inputs to differentiate by;
            "own" where TensorFlow's gradient fails and only numeric differences judge.
        numeric: whether the gradient is that of a smooth function near these inputs.
        exact: whether values can be expected at all (random numbers: only dtype and shape).
        error: class of the error that the call must end in, at build or run time; of several,
            the first is TensorFlow's, where it is not the fitting one.
        eager: whether the op makes sense without a graph.
        flows: positions of the outputs that gradients flow into; None for all of them.
        only: positions of the outputs whose values are defined; None for all of them.
        oracle: how TensorFlow's CPU kernels can compute it, where they lack it as it is.
        later: the op is welcome but the registry need not have it yet.
    """

    def __init__(self, op, label, dtype, inputs, attrs, options):
        self.op = op
        self.name = "/".join(part for part in (op, label, dtype) if part)
        self.seed = op + "/" + label
        self.dtype = dtype
        self.inputs = inputs
        self.attrs = attrs
        self.tolerance = options["tol"]
        self.grad = options["grad"]
        self.numeric = options["numeric"]
        self.exact = options["exact"]
        errors = options["error"] or ()
        self.errors = (errors,) if isinstance(errors, str) else tuple(errors)
        self.eager = options["eager"]
        self.only = options["only"]
        self.flows = options["only"] if options["flows"] is None else options["flows"]
        self.oracle = options["oracle"]
        self.later = options["later"]

    def __repr__(self):
        return "Case(%s)" % self.name

    def arrays(self):
        """Input arrays by name, lists where the input is a list; with them the dtype of each."""
        made = {}
        for name, value in self.inputs.items():
            seed = self.seed + "/" + name
            if isinstance(value, Value):
                made[name] = value.array(seed, self.dtype)
            else:
                made[name] = [
                    item.array("%s/%d" % (seed, i), self.dtype) for i, item in enumerate(value)
                ]
        return made

    def constants(self):
        """Names of the inputs that are constants of the graph but at level "fed"."""
        found = []
        for name, value in self.inputs.items():
            items = value if isinstance(value, list) else [value]
            if any(item.const for item in items):
                found.append(name)
        return found

    def defines(self, position):
        """Whether the value of this output is defined."""
        return self.exact and (self.only is None or position in self.only)

    def receives(self, position):
        """Whether a gradient flows into this output."""
        return self.flows is None or position in self.flows

    def wants_gradient(self):
        return self.grad is not False and not self.errors and self.dtype in DIFFERENTIABLE

    def by(self, name):
        """Whether to differentiate by this input (`name/2` is in the list `name`)."""
        return self.grad in (True, "own") or name.split("/")[0] in self.grad


def row(
    op,
    label_="",
    over_="float32",
    tol_=1,
    grad_=True,
    numeric_=True,
    exact_=True,
    error_=None,
    eager_=True,
    flows_=None,
    only_=None,
    oracle_=None,
    later_=False,
    **arguments,
):
    """Cases of `op`, one for each dtype in `over_`; arguments that are no Values are attributes."""
    options = dict(
        tol=tol_,
        grad=grad_,
        numeric=numeric_,
        exact=exact_,
        error=error_,
        eager=eager_,
        flows=flows_,
        only=only_,
        oracle=oracle_,
        later=later_,
    )
    inputs = {name: value for name, value in arguments.items() if is_input(value)}
    attrs = {name: value for name, value in arguments.items() if not is_input(value)}
    dtypes = (over_,) if isinstance(over_, str) else over_
    return [Case(op, label_, dtype, inputs, attrs, options) for dtype in dtypes]


def is_input(argument):
    if isinstance(argument, list):
        return bool(argument) and all(isinstance(item, Value) for item in argument)
    return isinstance(argument, Value)


class Script:
    """A program that builds a graph and yields what is to be run, step after step.

    The function takes `g` (see `build.Builder`) and yields `g.run(...)`; a graph is built to its
    end before the first step runs, eagerly each step has run when it is yielded.
    """

    def __init__(self, function, ops, options):
        self.function = function
        self.name = function.__name__
        self.ops = ops
        self.tolerance = options["tol"]
        self.exact = options["exact"]
        self.eager = options["eager"]
        self.round_trip = options["round_trip"]
        self.later = options["later"]
        self.cpus = options["cpus"]  # how many devices its sessions have

    def __repr__(self):
        return "Script(%s)" % self.name


def script(*ops, **given):
    """Declares a program that exercises `ops`."""
    options = dict(tol=1, exact=True, eager=False, round_trip=True, later=False, cpus=1)
    for name, value in given.items():
        if name.rstrip("_") not in options:
            raise TypeError("script() has no option %r" % name)
        options[name.rstrip("_")] = value
    return lambda function: Script(function, ops, options)


class Family:
    """The cases of one module of `cases`."""

    def __init__(self, name, rows, scripts=()):
        self.name = name
        self.cases = [case for group in rows for case in group]
        self.scripts = list(scripts)
        names = [item.name for item in self.cases + self.scripts]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError("two cases of family %s are called %s" % (name, ", ".join(twice)))

    def by_op(self):
        """op -> its cases, in order."""
        found = {}
        for case in self.cases:
            found.setdefault(case.op, []).append(case)
        return found

    def ops(self):
        return {case.op for case in self.cases} | {op for item in self.scripts for op in item.ops}
