"""make_template: a function whose variables are made at its first call and shared by all later ones."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from weft.framework import context
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.trackable import Trackable
from weft.variables.creation import variable_creator_scope
from weft.variables.scope import _PureScope, _unique_scope, scopes_of_graph, variable_scope
from weft.variables.store import AUTO_REUSE, EagerVariableStore, default_store


@export("make_template")
def make_template(
    name_: str,
    func_: Callable,
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """Wraps a function so that `get_variable` in it makes variables at the first call and finds them later.

    `kwargs` are passed to each call. The scope of the variables is made unique from `name_`, or is
    `unique_name_`; it is chosen at the first call unless `create_scope_now_`.
    """
    if kwargs:
        func_ = functools.update_wrapper(functools.partial(func_, **kwargs), func_)
    if context.executing_eagerly():
        if unique_name_ is not None:
            raise ValueError("unique_name_ cannot be used when eager exeuction is enabled.")
        return EagerTemplate(name_, func_, create_scope_now_, None, custom_getter_)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


class _Capturing(threading.local):
    """The objects, innermost last, that take the variables which are made as their dependencies."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


_capturing = _Capturing()


@contextlib.contextmanager
def capture_dependencies(template: Any) -> Iterator[None]:
    """Makes variables of a template's scope its dependencies, and templates within it, by names in the scope."""
    prefix = template.variable_scope.name + "/"
    outer = _capturing.stack[-1] if _capturing.stack else None
    if outer is not None and outer is not template:
        outer_prefix = outer.variable_scope.name + "/"
        if prefix.startswith(outer_prefix):
            own = prefix.removeprefix(outer_prefix).rstrip("/")
            outer._track_trackable(template, own, overwrite=True)

    def create(next_creator: Callable, **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        name = kwargs.get("name")
        if _capturing.stack[-1] is template and name is not None and name.startswith(prefix):
            template._track_trackable(variable, name.removeprefix(prefix), overwrite=True)
        return variable

    _capturing.stack.append(template)
    try:
        with variable_creator_scope(create):
            yield
    finally:
        _capturing.stack.pop()


class Template(Trackable):
    """A function and the variable scope that all its calls share."""

    def __init__(
        self,
        name: str,
        func: Callable,
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Any = None,
    ):
        if name is None:
            raise ValueError("name cannot be None.")
        self._name, self._func = name, func
        self._unique_name, self._custom_getter = unique_name, custom_getter
        self._made_at = _line_of_program()
        self._variable_scope: Any = None
        if create_scope_now:
            settings = {"custom_getter": custom_getter}
            own_name = unique_name or _unique_scope(name)
            with _PureScope(own_name, None, None, settings, None) as scope:
                self._variable_scope = scope
        self._variables_created = False
        self._first_call = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._variable_scope:
            with variable_scope(self._variable_scope, reuse=not self._first_call):
                return self._call(args, kwargs)
        with variable_scope(
            self._unique_name, self._name, custom_getter=self._custom_getter
        ) as scope:
            self._variable_scope = scope
            return self._call(args, kwargs)

    def _call(self, args: tuple, kwargs: dict) -> Any:
        with self._telling_where_made(), capture_dependencies(self):
            if self._variables_created:
                trainable = _collection(GraphKeys.TRAINABLE_VARIABLES)
                before = len(trainable)
                result = self._func(*args, **kwargs)
                if len(trainable) != before:
                    _refuse_new(trainable[before:])
                return result
            if not self._first_call:  # another thread is in the first call
                return self._func(*args, **kwargs)
            self._first_call = False
            try:
                result = self._func(*args, **kwargs)
            except BaseException:
                self._first_call = True
                raise
            self._variables_created = True
            return result

    @contextlib.contextmanager
    def _telling_where_made(self) -> Iterator[None]:
        """Adds to an error's text where the template was made."""
        try:
            yield
        except Exception as e:
            first = e.args[0] if e.args else ""
            e.args = (f"{first}\n\noriginally defined at:\n{self._made_at}", *e.args[1:])
            raise

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    @property
    def func(self) -> Callable:
        return self._func

    @property
    def variable_scope(self) -> Any:
        """The scope of the variables; None before it is chosen."""
        return self._variable_scope

    var_scope = variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of the scope with a slash at its end."""
        if not self._variable_scope:
            return None
        name = self._variable_scope.name
        return name if not name or name[-1] == "/" else name + "/"

    def _of(self, collection: str) -> list[Any]:
        if not self._variables_created:
            return []
        return context.get_default_graph().get_collection(collection, self.variable_scope_name)

    @property
    def trainable_variables(self) -> list[Any]:
        return self._of(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def global_variables(self) -> list[Any]:
        return self._of(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        return self._of(GraphKeys.LOCAL_VARIABLES)

    @property
    def variables(self) -> list[Any]:
        return self.global_variables + self.local_variables

    @property
    def non_trainable_variables(self) -> list[Any]:
        trainable = set(self.trainable_variables)
        return [v for v in self.global_variables if v not in trainable]

    @property
    def weights(self) -> list[Any]:
        return self.variables

    @property
    def trainable_weights(self) -> list[Any]:
        return self.trainable_variables

    @property
    def non_trainable_weights(self) -> list[Any]:
        return self.non_trainable_variables


class EagerTemplate(Template):
    """A template under eager execution, which keeps its variables itself."""

    def __init__(self, *args: Any, **kwargs: Any):
        if not context.executing_eagerly():
            raise RuntimeError(
                f"{type(self)} objects can only be used when eager execution is enabled, use tf.Template for "
                "graph construction"
            )
        super().__init__(*args, **kwargs)
        around = default_store()
        self._store = EagerVariableStore(around if around._store_eager_variables else None)
        self._context: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._variable_scope:
            if self._context is None:
                self._context = variable_scope(self._variable_scope, reuse=AUTO_REUSE)
            with self._context, self._storing():
                return self._call(args, kwargs)
        with variable_scope(
            self._unique_name, self._name, custom_getter=self._custom_getter
        ) as scope:
            self._variable_scope = scope
            with self._storing():
                return self._call(args, kwargs)

    @contextlib.contextmanager
    def _storing(self) -> Iterator[None]:
        try:
            with self._store.as_default():
                yield
        finally:
            scopes_of_graph().closed(self._variable_scope.name)

    def _call(self, args: tuple, kwargs: dict) -> Any:
        with self._telling_where_made(), capture_dependencies(self):
            before = self._mine(self._store.trainable_variables())
            result = self._func(*args, **kwargs)
            after = self._mine(self._store.trainable_variables())
            if self._variables_created and len(before) != len(after):
                _refuse_new([v for v in after if v not in before])
            self._variables_created = True
            return result

    def _mine(self, variables: list[Any]) -> list[Any]:
        prefix = self._variable_scope.name + "/"
        return [v for v in variables if v.name.startswith(prefix)]

    @property
    def variables(self) -> list[Any]:
        return self._mine(self._store.variables()) if self._variables_created else []

    @property
    def trainable_variables(self) -> list[Any]:
        return self._mine(self._store.trainable_variables()) if self._variables_created else []

    @property
    def non_trainable_variables(self) -> list[Any]:
        return self._mine(self._store.non_trainable_variables()) if self._variables_created else []

    @property
    def global_variables(self) -> list[Any]:
        return self.variables

    @property
    def local_variables(self) -> list[Any]:
        return []


def _collection(name: str) -> list[Any]:
    return context.get_default_graph().get_collection_ref(name)


def _refuse_new(variables: list[Any]) -> None:
    raise ValueError(
        "Trainable variable created when calling a template after the first time, perhaps you used tf.Variable "
        f"when you meant tf.get_variable: {variables}"
    )


def _line_of_program() -> str:
    """The line of the program that is calling, as a traceback shows it."""
    import traceback

    frames = [f for f in traceback.extract_stack() if "/weft/variables/" not in f.filename]
    return "".join(traceback.format_list(frames[-1:]))
