"""Variable scopes: names and defaults of the variables that `get_variable` makes or finds."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

from weft.framework import context, conversion, dtypes
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.scopes import get_name_scope, graph_of, name_scope
from weft.variables.modes import VariableAggregation, VariableSynchronization
from weft.variables.store import AUTO_REUSE, Request, VariableStore, default_store

_AUTO, _NONE = VariableSynchronization.AUTO, VariableAggregation.NONE

# What a scope gives as a default: the names of both the attributes and the arguments.
_SETTINGS = (
    "initializer regularizer caching_device partitioner custom_getter dtype use_resource".split()
)


@export("no_regularizer")
def no_regularizer(_: Any) -> None:
    """A regularizer that adds nothing; stops that of the scope from being used."""
    return None


@export("VariableScope")
class VariableScope:
    """A prefix of variable names, and defaults for `get_variable`."""

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ):
        self._name, self._name_scope, self._reuse = name, name_scope, reuse
        self._initializer, self._regularizer = initializer, regularizer
        self._caching_device, self._partitioner = caching_device, partitioner
        self._custom_getter, self._dtype = custom_getter, dtype
        self._use_resource, self._constraint = use_resource, constraint
        if context.executing_eagerly():
            if caching_device is not None:
                raise NotImplementedError(
                    "Caching devices is not yet supported when eager execution is enabled."
                )
            self._reuse = AUTO_REUSE
            self._use_resource = True

    name = property(lambda self: self._name)
    original_name_scope = property(lambda self: self._name_scope)
    reuse = property(lambda self: self._reuse)
    initializer = property(lambda self: self._initializer)
    dtype = property(lambda self: self._dtype)
    use_resource = property(lambda self: self._use_resource)
    regularizer = property(lambda self: self._regularizer)
    caching_device = property(lambda self: self._caching_device)
    partitioner = property(lambda self: self._partitioner)
    custom_getter = property(lambda self: self._custom_getter)
    constraint = property(lambda self: self._constraint)

    def reuse_variables(self) -> None:
        """Makes `get_variable` find variables from here on, and not make any."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self._initializer = initializer

    def set_dtype(self, dtype: Any) -> None:
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        if context.executing_eagerly() and not use_resource:
            raise ValueError(
                "When eager execution is enabled, use_resource cannot be set to false."
            )
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        if context.executing_eagerly():
            raise NotImplementedError(
                "Caching devices are not yet supported when eager execution is enabled."
            )
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        self._custom_getter = custom_getter

    def get_collection(self, name: str) -> list[Any]:
        """The members of a collection whose names are in this scope."""
        scope = self._name + "/" if self._name else ""
        return context.get_default_graph().get_collection(name, scope)

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store: VariableStore,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Any = None,
        constraint: Any = None,
        synchronization: Any = _AUTO,
        aggregation: Any = _NONE,
    ) -> Any:
        """Returns the variable of a name in this scope from a store, or makes it."""

        def default(value: Any, of_scope: Any) -> Any:
            return of_scope if value is None else value

        if context.executing_eagerly():
            reuse, use_resource = False, True
        else:
            reuse = default(reuse, self._reuse)
            use_resource = default(use_resource, self._use_resource)
        # Names of variables are those of variable scopes, whatever name scopes are open.
        with name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                found = conversion.convert_to_tensor(initializer).dtype.base_dtype
                if found != dtype:
                    raise ValueError(
                        f"Initializer type '{found}' and explicit dtype '{dtype}' don't match."
                    )
            return var_store.get_variable(
                f"{self._name}/{name}" if self._name else name,
                shape=shape,
                dtype=default(dtype, self._dtype),
                initializer=default(initializer, self._initializer),
                regularizer=default(regularizer, self._regularizer),
                reuse=reuse,
                trainable=trainable,
                collections=collections,
                caching_device=default(caching_device, self._caching_device),
                partitioner=default(partitioner, self._partitioner),
                validate_shape=validate_shape,
                use_resource=use_resource,
                custom_getter=default(custom_getter, self._custom_getter),
                constraint=default(constraint, self._constraint),
                synchronization=synchronization,
                aggregation=aggregation,
            )


class _Scopes(threading.local):
    """The variable scope of a thread in a graph, and how often each name has been a scope."""

    def __init__(self) -> None:
        self.current = VariableScope(False)
        self.counts: dict[str, int] = {}

    def opened(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def closed(self, name: str | None) -> None:
        """Forgets the scopes beneath one that is left."""
        for key in self.counts:
            if name is None or key.startswith(name + "/"):
                self.counts[key] = 0


def scopes_of_graph() -> _Scopes:
    extras = context.get_default_graph()._extras
    found = extras.get("variable scopes")
    if found is None:
        found = extras["variable scopes"] = _Scopes()
    return found


@export("get_variable_scope")
def get_variable_scope() -> VariableScope:
    """Returns the current variable scope."""
    return scopes_of_graph().current


@export("get_variable")
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = _AUTO,
    aggregation: Any = _NONE,
) -> Any:
    """Returns the variable of a name in the current scope, or makes it, as the scope's `reuse` says.

    What is not given comes from the scope; an initializer is a value, or is called with the shape.
    """
    arguments = dict(locals())
    return get_variable_scope().get_variable(default_store(), **arguments)


@export("get_local_variable")
def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = _AUTO,
    aggregation: Any = _NONE,
) -> Any:
    """`get_variable` for a variable of this process, which is neither trained nor saved."""
    arguments = dict(locals())
    arguments["trainable"] = False
    arguments["collections"] = [*(collections or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable_scope().get_variable(default_store(), **arguments)


def get_partitioned_variable(name: str | None, partitioner: Any, **arguments: Any) -> Any:
    """A variable in parts in the current scope, whose name alone may be its name."""
    scope = get_variable_scope()
    if scope.custom_getter is not None:
        raise ValueError(
            "Private access to _get_partitioned_variable is not allowed when a custom getter is set.  Current "
            f"custom getter: {scope.custom_getter}.  It is likely that you're using "
            "create_partitioned_variables.  If so, consider instead using get_variable with a non-empty "
            "partitioner parameter instead."
        )
    full_name = "/".join(part for part in (scope.name, name) if part)
    for setting in (
        "initializer",
        "regularizer",
        "caching_device",
        "dtype",
        "use_resource",
        "constraint",
    ):
        if arguments.get(setting) is None:
            arguments[setting] = getattr(scope, setting)
    with name_scope(None):
        return default_store()._get_partitioned(
            Request(full_name, partitioner=partitioner, reuse=scope.reuse, **arguments)
        )


# -- entering a scope ----------------------------------------------------------------------------------


class _PureScope:
    """Enters a variable scope without a name scope."""

    def __init__(
        self,
        name_or_scope: Any,
        reuse: Any,
        old_name_scope: str | None,
        settings: dict[str, Any],
        constraint: Any,
    ):
        self._name_or_scope, self._reuse = name_or_scope, reuse
        self._old_name_scope = old_name_scope
        self._settings, self._constraint = settings, constraint
        self._scopes = scopes_of_graph()
        self._entered: VariableScope | None = None
        # A given scope is copied when the context manager is made; what happens to it later is its own.
        self._copy = (
            self._derived(name_or_scope) if isinstance(name_or_scope, VariableScope) else None
        )

    def _derived(self, base: VariableScope) -> VariableScope:
        """A scope with the defaults of `base`, but for those that were given here."""
        if self._name_or_scope is base:
            name, old = base.name, base.original_name_scope
        else:
            name = f"{base.name}/{self._name_or_scope}" if base.name else self._name_or_scope
            old = self._name_or_scope if self._old_name_scope is None else self._old_name_scope
        scope = VariableScope(
            self._reuse or base.reuse,
            name=name,
            initializer=base.initializer,
            regularizer=base.regularizer,
            caching_device=base.caching_device,
            partitioner=base.partitioner,
            custom_getter=base.custom_getter,
            name_scope=old,
            dtype=base.dtype,
            use_resource=base.use_resource,
            constraint=self._constraint,
        )
        for setting, value in self._settings.items():
            if value is None:
                continue
            if setting == "custom_getter":
                value = _nested_getter(value, base.custom_getter)
            getattr(scope, "set_" + setting)(value)
        return scope

    def __enter__(self) -> VariableScope:
        scopes = self._scopes
        self._before = scopes.current
        scope = self._derived(self._before) if self._copy is None else self._copy
        scopes.opened(scope.name)
        self._counts = dict(scopes.counts)
        scopes.current = self._entered = scope
        return scope

    def check_innermost(self) -> None:
        """RuntimeError where another scope was entered after this one, and not left."""
        if self._scopes.current is not self._entered:
            raise RuntimeError("Improper nesting of variable_scope.")

    def __exit__(self, *error: Any) -> None:
        self.check_innermost()
        scopes = self._scopes
        if self._copy is not None:
            scopes.counts = self._counts
        else:
            scopes.closed(self._entered.name)  # type: ignore[union-attr]
        scopes.current = self._before


def _nested_getter(own: Any, outer: Any) -> Any:
    """A custom getter whose `getter` argument is that of the scope around it."""
    if outer is None:
        return own

    def nested_getter(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return own(functools.partial(outer, getter), *args, **kwargs)

    return nested_getter


def _unique_scope(prefix: str) -> str:
    """The prefix, with a number where the current scope has had a scope of that name."""
    scopes = scopes_of_graph()
    name = f"{scopes.current.name}/{prefix}" if scopes.current.name else prefix
    if not scopes.counts.get(name):
        return prefix
    i = 1
    while scopes.counts.get(f"{name}_{i}"):
        i += 1
    return f"{prefix}_{i}"


@export("variable_scope")
class variable_scope:
    """A context manager for variable scopes: a name, or a scope to enter again, and defaults for variables.

    With `default_name` alone the name is made unique. `values` tell the graph. It opens a name scope as well,
    unless `auxiliary_name_scope` is False.
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ):
        arguments = locals()
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse is False:
            reuse = None
        if reuse is not True and reuse is not None and reuse is not AUTO_REUSE:
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}"
            )
        self._name_or_scope, self._default_name, self._reuse = name_or_scope, default_name, reuse
        self._settings = {name: arguments[name] for name in _SETTINGS}
        self._constraint = constraint
        self._auxiliary_name_scope = auxiliary_name_scope
        self._graph: Any = None
        if not context.executing_eagerly():
            self._graph = graph_of(values or [], context.get_default_graph())
        self._pure: _PureScope | None = None
        self._name_scope: Any = None
        self._stack: contextlib.ExitStack | None = None

    def __enter__(self) -> VariableScope:
        with contextlib.ExitStack() as stack:
            # Made in the body of a loop it can be entered again outside, where that is not the graph to build in.
            here = context.get_default_graph()
            if self._graph is not None and not (
                here.building_function or self._graph.building_function
            ):
                stack.enter_context(self._graph.as_default())
            if self._pure is None:
                scope = self._first_entered(stack)
            else:
                if self._name_scope is not None:
                    stack.enter_context(self._name_scope)
                scope = stack.enter_context(self._pure)
            self._stack = stack.pop_all()
        return scope

    def _first_entered(self, stack: contextlib.ExitStack) -> VariableScope:
        given = self._name_or_scope
        old: str | None = None
        if given is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            old = self._open_name_scope(stack, self._default_name or "")
            given = _unique_scope(self._default_name or "")
        else:
            if not isinstance(given, (VariableScope, str)):
                raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
            own = given if isinstance(given, str) else given.name.split("/")[-1]
            if own or not self._auxiliary_name_scope:
                old = self._open_name_scope(stack, own)
            if isinstance(given, VariableScope):
                old = given.original_name_scope
        self._pure = _PureScope(given, self._reuse, old, self._settings, self._constraint)
        return stack.enter_context(self._pure)

    def _open_name_scope(self, stack: contextlib.ExitStack, name: str) -> str:
        if self._auxiliary_name_scope:
            self._name_scope = name_scope(name)
        else:
            current = get_name_scope()
            self._name_scope = name_scope(current + "/" if current else current)
        return stack.enter_context(self._name_scope)

    def __exit__(self, *error: Any) -> Any:
        self._pure.check_innermost()  # type: ignore[union-attr]
        stack, self._stack = self._stack, None
        return stack.__exit__(*error)  # type: ignore[union-attr]


@export("variable_op_scope")
@contextlib.contextmanager
def variable_op_scope(
    values: Any,
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> Iterator[VariableScope]:
    """Deprecated: `variable_scope` with its arguments in another order."""
    with variable_scope(**locals()) as scope:
        yield scope
