"""Nested structures: lists, tuples, named tuples, dicts and attrs classes, with anything else as leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from weft.framework.export import export


def _is_attrs(x: Any) -> bool:
    return getattr(type(x), "__attrs_attrs__", None) is not None


def _is_namedtuple(x: Any) -> bool:
    return isinstance(x, tuple) and hasattr(x, "_fields")


# Composite tensors (SparseTensor, IndexedSlices, RaggedTensor) have `_components` and `_from_components`.
def is_composite(x: Any) -> bool:
    return hasattr(type(x), "_nest_components")


@export("nest.is_nested", "nest.is_sequence", "contrib.framework.is_sequence")
def is_nested(x: Any) -> bool:
    """Returns whether `x` is a structure rather than a leaf; strings and arrays are leaves."""
    return isinstance(x, (list, tuple, Mapping)) or _is_attrs(x) or _is_keys_view(x)


def _is_keys_view(x: Any) -> bool:
    return isinstance(x, (type({}.keys()), type({}.values()), type({}.items())))


is_sequence = is_nested


def _sorted_keys(x: Mapping) -> list[Any]:
    try:
        return sorted(x)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def children(x: Any) -> list[Any]:
    """The parts of a structure, those of a dict in the order of its keys."""
    if isinstance(x, Mapping):
        return [x[k] for k in _sorted_keys(x)]
    if _is_attrs(x):
        return [getattr(x, a.name) for a in x.__attrs_attrs__]
    return list(x)


def _leaves(x: Any, expand: bool) -> Iterator[Any]:
    stack = [x]
    while stack:
        item = stack.pop()
        if expand and is_composite(item):
            stack.extend(reversed(item._nest_components()))
        elif is_nested(item):
            stack.extend(reversed(children(item)))
        else:
            yield item


@export("nest.flatten", "contrib.framework.nest.flatten")
def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Returns the leaves of a structure in order; a leaf alone gives a list of one."""
    return list(_leaves(structure, expand_composites))


def sequence_like(instance: Any, parts: list[Any]) -> Any:
    """A structure of the type of `instance`, made of other parts."""
    if isinstance(instance, Mapping):
        new = dict(zip(_sorted_keys(instance), parts))
        kind: Any = type(instance)
        if hasattr(instance, "default_factory"):
            out = kind(instance.default_factory)
            for k in instance:
                out[k] = new[k]
            return out
        pairs = [(k, new[k]) for k in instance]
        return kind(pairs)
    if _is_namedtuple(instance):
        return type(instance)(*parts)
    if _is_attrs(instance):
        return type(instance)(*parts)
    if _is_keys_view(instance):
        return list(parts)
    try:
        return type(instance)(parts)
    except TypeError:
        return list(parts)


@export("nest.pack_sequence_as", "contrib.framework.nest.pack_sequence_as")
def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Returns the leaves `flat_sequence` in the structure of `structure`."""
    if not is_nested(flat_sequence):
        raise TypeError("flat_sequence must be a sequence")
    flat = list(flat_sequence)
    if not is_nested(structure) and not (expand_composites and is_composite(structure)):
        if len(flat) != 1:
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(flat)} > 1")
        return flat[0]
    wanted = len(flatten(structure, expand_composites))
    if wanted != len(flat):
        raise ValueError(
            "Could not pack sequence. Structure had %d elements, but flat_sequence had %d elements.  "
            "Structure: %s, flat_sequence: %s." % (wanted, len(flat), structure, flat)
        )
    items = iter(flat)

    def build(x: Any) -> Any:
        if expand_composites and is_composite(x):
            return x._nest_from_components([build(c) for c in x._nest_components()])
        if is_nested(x):
            return sequence_like(x, [build(c) for c in children(x)])
        return next(items)

    return build(structure)


@export("nest.assert_same_structure", "contrib.framework.nest.assert_same_structure")
def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises ValueError or TypeError unless both have the same structure."""

    def fail(kind: type, what: str) -> None:
        raise kind(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: type={type(nest1).__name__} str={nest1}\n\n"
            f"Second structure: type={type(nest2).__name__} str={nest2}\n\nMore specifically: {what}"
        )

    def compare(a: Any, b: Any) -> None:
        if is_nested(a) != is_nested(b):
            yes, no = (a, b) if is_nested(a) else (b, a)
            fail(
                ValueError,
                f'Substructure "type={type(yes).__name__} str={yes}" is a sequence, while substructure '
                f'"type={type(no).__name__} str={no}" is not',
            )
        if expand_composites and is_composite(a) != is_composite(b):
            fail(ValueError, "one part is a composite tensor, the other is not")
        if not is_nested(a):
            return
        if check_types:
            same_kind = (
                type(a) is type(b)
                or (isinstance(a, Mapping) and isinstance(b, Mapping))
                or (
                    _is_namedtuple(a)
                    and _is_namedtuple(b)
                    and type(a).__name__ == type(b).__name__
                    and a._fields == b._fields
                )
            )
            if not same_kind:
                fail(
                    TypeError,
                    "The two structures don't have the same sequence type. First structure has type "
                    f"{type(a).__name__}, while second structure has type {type(b).__name__}.",
                )
        if isinstance(a, Mapping) and isinstance(b, Mapping) and set(a) != set(b):
            fail(
                ValueError,
                f"The two dictionaries don't have the same set of keys. {sorted(a)} and {sorted(b)}",
            )
        x, y = children(a), children(b)
        if len(x) != len(y):
            fail(ValueError, f"they have {len(x)} and {len(y)} elements")
        for c, d in zip(x, y):
            compare(c, d)

    compare(nest1, nest2)


@export("nest.map_structure", "contrib.framework.nest.map_structure")
def map_structure(func: Callable, *structure: Any, **kwargs: Any) -> Any:
    """Applies a function to the leaves of structures, which must be alike."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(
            f"Only valid keyword arguments are `check_types` and `expand_composites`, not: {sorted(kwargs)}"
        )
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand)
    flat = [flatten(s, expand) for s in structure]
    return pack_sequence_as(structure[0], [func(*x) for x in zip(*flat)], expand)


def flatten_up_to(shallow: Any, deep: Any) -> list[Any]:
    """The parts of `deep` at the leaves of `shallow`."""
    if not is_nested(shallow):
        return [deep]
    if not is_nested(deep):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(deep)}."
        )
    if len(children(shallow)) != len(deep):
        raise ValueError(
            f"The two structures don't have the same sequence length. Input structure has length {len(deep)}, "
            f"while shallow structure has length {len(children(shallow))}."
        )
    if isinstance(shallow, Mapping):
        pairs = [(shallow[k], deep[k]) for k in _sorted_keys(shallow)]
    else:
        pairs = list(zip(children(shallow), children(deep)))
    return [leaf for s, d in pairs for leaf in flatten_up_to(s, d)]


def map_structure_up_to(shallow: Any, func: Callable, *inputs: Any) -> Any:
    """Applies a function to the parts of `inputs` at the leaves of `shallow`."""
    flat = [flatten_up_to(shallow, i) for i in inputs]
    return pack_sequence_as(shallow, [func(*x) for x in zip(*flat)])
