"""Sums of matrix products over the iterations of a loop, as gradients of weights are: one product after the loop.

A loop that adds `a @ b` to a large matrix in each iteration reads and writes that matrix each time, for a product that
is flat. Keeping `a` and `b` and multiplying them all at once is several times as fast.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any, NamedTuple

from weft.engine.namespace import load_jax

_LARGEST = 64 << 20  # bytes that the kept factors of one sum may take


class Product(NamedTuple):
    """A sum that is computed after the loop."""

    at: int  # which of the loop's variables it is
    avals: tuple[Any, Any]  # of its factors in one iteration
    contracted: tuple[int, int]
    params: dict[str, Any]

    def buffers(self, xp: Any, bound: int) -> tuple[Any, Any]:
        """Room for the factors of all iterations; those that there are not add nothing."""
        first, second = (xp.zeros((bound, *a.shape), a.dtype) for a in self.avals)
        return first, second

    def total(self, buffers: tuple[Any, Any]) -> Any:
        """The sum over all iterations."""
        a, b = self.contracted
        dimensions = (((0, a + 1), (0, b + 1)), ((), ()))
        return load_jax().lax.dot_general(*buffers, dimensions, **self.params)


def defer(
    closed: Any, variables: dict[int, tuple[int, int]], bound: int
) -> tuple[Any, list[Product]]:
    """A body without the products that can wait, and with their factors as further results.

    `variables` has for inputs of the jaxpr, by their places, the places of the results that take their place in the
    next iteration, and which variables of the loop they are.
    """
    jaxpr = closed.jaxpr
    uses = Counter(v for e in jaxpr.eqns for v in e.invars if not hasattr(v, "val"))
    uses.update(v for v in jaxpr.outvars if not hasattr(v, "val"))
    made = {v: e for e in jaxpr.eqns for v in e.outvars}
    results, factors, dropped, products = list(jaxpr.outvars), [], [], []
    for place, (result, at) in variables.items():
        before, after = jaxpr.invars[place], jaxpr.outvars[result]
        add = None if hasattr(after, "val") else made.get(after)
        if add is None or add.primitive.name != "add" or uses[before] != 1 or uses[after] != 1:
            continue
        if before not in add.invars:
            continue
        term = add.invars[1 - add.invars.index(before)]
        dot = None if hasattr(term, "val") else made.get(term)
        if dot is None or dot.primitive.name != "dot_general" or uses[term] != 1:
            continue
        product = _product(dot, made, at, bound)
        if product is not None:
            found, kept = product
            products.append(found)
            factors += kept
            dropped += [add, dot]
            results[result] = before  # it stays what it was before the loop
    if not products:
        return closed, []
    left = [e for e in jaxpr.eqns if not any(e is d for d in dropped)]
    return closed.replace(jaxpr=jaxpr.replace(eqns=left, outvars=[*results, *factors])), products


def _product(
    dot: Any, made: dict[Any, Any], at: int, bound: int
) -> tuple[Product, list[Any]] | None:
    """A product of two matrices that is worth waiting for, and its factors."""
    contracting, batch = dot.params["dimension_numbers"]
    if any(batch) or any(hasattr(v, "val") or len(v.aval.shape) != 2 for v in dot.invars):
        return None
    kept, dims = [], []
    for v, (dim, *more) in zip(dot.invars, contracting):
        if more:
            return None
        source = made.get(v)
        if source is not None and source.primitive.name == "transpose":
            v, dim = source.invars[0], 1 - dim  # as it was before, rows first
        kept.append(v)
        dims.append(dim)
    size = sum(prod(v.aval.shape) for v in kept)
    if size >= prod(dot.outvars[0].aval.shape):
        return None  # the factors are no smaller than the sum
    if bound * size * kept[0].aval.dtype.itemsize > _LARGEST:
        return None
    params = {k: dot.params[k] for k in ("precision", "preferred_element_type")}
    avals = (kept[0].aval, kept[1].aval)
    return Product(at, avals, (dims[0], dims[1]), params), kept
