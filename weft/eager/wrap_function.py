"""tf.wrap_function: a piece of TensorFlow 1 code as a function, which may be pruned to a part of its graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.eager import tracing
from weft.eager.concrete_function import ConcreteFunction
from weft.eager.function_variables import CreatedVariables
from weft.engine.program import order
from weft.framework import context, nest
from weft.framework.export import export
from weft.framework.func_graph import FuncGraph, init_scope
from weft.framework.graph_keys import GraphKeys
from weft.framework.operation import Operation
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.variables.base import creator_stack
from weft.variables.resource import BaseResourceVariable, UninitializedVariable


class VariableHolder:
    """Keeps the variables of a wrapped function, which are made outside of its graph."""

    def __init__(self, fn: Callable | None = None, share_variables: bool = False):
        self._fn, self._share = fn, share_variables
        self._variables_by_name: dict[str, Any] = {}

    @property
    def variables(self) -> dict[str, Any]:
        """The variables by name."""
        return self._variables_by_name

    def create(self, next_creator: Callable, **kwargs: Any) -> Any:
        """Creates a variable, or finds that of its name where variables are shared."""
        collections = kwargs.pop("collections", None)
        with name_scope(kwargs.get("name"), "Variable") as scope:
            name = scope.rstrip("/")
        kwargs["name"] = name + "/"
        variable = self._variables_by_name.get(name) if self._share else None
        if variable is None:
            variable = self._variables_by_name[name] = next_creator(collections=[], **kwargs)
        wanted = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if variable.trainable and GraphKeys.TRAINABLE_VARIABLES not in wanted:
            wanted.append(GraphKeys.TRAINABLE_VARIABLES)
        context.get_default_graph().add_to_collections(wanted, variable)
        return variable

    def calling(self, fn: Callable) -> Callable:
        """The function, with this holder in charge of its variables."""

        def call(*args: Any, **kwargs: Any) -> Any:
            stack = creator_stack(context.get_default_graph())
            before = list(stack)
            stack.append((100, self.create))
            try:
                return fn(*args, **kwargs)
            finally:
                stack[:] = before

        return call


class WrappedFunction(ConcreteFunction):
    """A function of TensorFlow 1 code: it runs what its results need, as a session would."""

    def __init__(self, graph: FuncGraph, holder: VariableHolder, signature: Any = None):
        self._variable_holder = holder
        _lift_variables(graph, holder)
        super().__init__(graph, signature=signature)

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> WrappedFunction:
        """Returns the part of the function that leads from `feeds` to `fetches`."""
        graph = self.graph
        flat_feeds = [
            graph.as_graph_element(t) for t in nest.flatten(feeds, expand_composites=True)
        ]
        for t in flat_feeds:
            if not isinstance(t, Tensor):
                raise ValueError("Feeds must be tensors.")
        internal = set(graph.internal_captures)
        flat_feeds = [t for t in flat_feeds if t not in internal]
        targets: list[Operation] = []
        tensors: list[Any] = []

        def element(fetch: Any) -> Any:
            if hasattr(fetch, "WhichOneof"):
                fetch = fetch.name
            if not isinstance(fetch, (Tensor, Operation)) and not nest.is_composite(fetch):
                fetch = graph.as_graph_element(fetch)
            (targets if isinstance(fetch, Operation) else tensors).append(fetch)
            return fetch

        fetches = nest.map_structure(element, fetches)
        flat = nest.flatten(tensors, expand_composites=True)
        for item in [*flat_feeds, *flat, *targets]:
            if item.graph is not graph:
                raise ValueError(
                    f"Can only prune function whose feeds and fetches are from this graph ({graph}). Input {item} "
                    f"is from graph {item.graph}"
                )
        with (
            context.outermost(0, True)
            if graph.outer_graph is None
            else graph.outer_graph.as_default()
        ):
            pruned = tracing.new_graph(name or "pruned")
        mapped = copy_into(pruned, flat_feeds + graph.internal_captures, flat, targets)
        pruned._captures = {id(outer): (outer, mapped[inner]) for outer, inner in graph.captures}
        pruned.inputs = [mapped[t] for t in flat_feeds] + pruned.internal_captures
        pruned.outputs = [mapped[t] for t in flat]
        pruned.control_outputs = [mapped[op] for op in targets]
        pruned.runs_everything = False
        pruned.variables = list(graph.variables)
        pruned._collections = {k: list(v) for k, v in graph._collections.items()}
        pruned.structured_outputs = nest.map_structure(
            lambda x: None if isinstance(x, Operation) else _replaced(x, mapped), fetches
        )
        pruned.structured_input = (input_signature, {}) if input_signature is not None else None
        function = WrappedFunction(pruned, self._variable_holder)
        function._num_positional_args = len(flat_feeds)
        function._arg_keywords = [t.op.name for t in flat_feeds]
        return function


def _replaced(x: Any, mapped: dict[Any, Any]) -> Any:
    flat = nest.flatten(x, expand_composites=True)
    new = [mapped[t] for t in flat]
    return nest.pack_sequence_as(x, new, expand_composites=True) if nest.is_composite(x) else new[0]


def copy_into(
    graph: FuncGraph, sources: list[Tensor], tensors: list[Tensor], targets: list[Operation]
) -> dict[Any, Any]:
    """Copies what leads from `sources` to tensors and operations; gives what each old one became."""
    mapped: dict[Any, Any] = {}
    for t in sources:
        if t in mapped:
            continue
        copy: Any
        if t.op._decl.name == "Const":
            with graph.as_default():
                copy = graph.add_op(
                    t.op._decl, [], dict(t.op._attrs), [t.dtype], t.op.name
                )._outputs[0]
        else:
            copy = graph._placeholder(t.dtype, t._dims, t.op.name)
            if "_user_specified_name" in t.op._attrs:
                copy.op._attrs["_user_specified_name"] = t.op._attrs["_user_specified_name"]
        data = getattr(t, "_handle_data", None)
        if data is not None:
            copy._handle_data = data
        mapped[t] = copy
    cut = set(sources)
    wanted = [t.op for t in tensors if t not in cut] + targets
    with graph.as_default():
        for op in sorted(order(wanted, cut), key=lambda op: op._id):
            if op._outputs and all(t in cut for t in op._outputs):
                mapped[op] = mapped[op._outputs[0]].op
                continue
            control = [mapped[c] for c in op._control_inputs if c in mapped]
            with graph.control_dependencies(control):
                copy_op = graph.add_op(
                    op._decl,
                    [mapped[t] for t in op._inputs],
                    dict(op._attrs),
                    [t.dtype for t in op._outputs],
                    op.name + "/",
                )
            mapped[op] = copy_op
            for old, new in zip(op._outputs, copy_op._outputs):
                new._dims = old._dims
                data = getattr(old, "_handle_data", None)
                if data is not None:
                    new._handle_data = data
                mapped[old] = new
    return mapped


def _lift_variables(graph: FuncGraph, holder: VariableHolder) -> None:
    """Makes variables that an imported graph has inside into variables outside, which the graph captures."""
    lifted: dict[int, Any] = {}
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for old in graph.get_collection(key):
            if not isinstance(old, BaseResourceVariable) or id(old) in lifted:
                continue
            if old.handle._op is None or old.handle.graph is not graph or not old._in_graph_mode:
                continue
            if any(old.handle is inner for inner in graph.internal_captures):
                continue
            with graph.as_default(), init_scope():
                new = UninitializedVariable(
                    trainable=old.trainable, shape=old.shape, dtype=old.dtype, name=old.op.name
                )
            graph._captures[id(new.handle)] = (new.handle, old.handle)
            graph.inputs.append(old.handle)
            holder._variables_by_name[new.name.partition(":")[0]] = new
            graph.variables.append(new)
            lifted[id(old)] = new
    if lifted:
        for key, values in graph._collections.items():
            graph._collections[key] = [lifted.get(id(v), v) for v in values]


@export("wrap_function")
def wrap_function(fn: Callable, signature: Any, name: str | None = None) -> WrappedFunction:
    """Wraps TensorFlow 1 code in a function. Its variables are made once, and belong to the function; it runs
    what its results need. `signature` has the placeholders' specs, or other arguments to bake in."""
    holder = VariableHolder(fn)
    graph = tracing.new_graph(name or "wrapped_function")
    graph._extras = dict(graph._extras)
    graph._extras.pop("variable store", None)
    created = CreatedVariables()
    tracing.trace(
        holder.calling(fn),
        tuple(signature),
        {},
        name or "wrapped_function",
        [],
        created.scope,
        graph,
        in_order=False,
    )
    graph.runs_everything = False
    return WrappedFunction(graph, holder, tuple(signature))


def function_from_graph_def(graph_def: Any, inputs: Any, outputs: Any) -> WrappedFunction:
    """A function of a GraphDef, between tensors given by name."""
    from weft.framework.importer import import_graph_def

    def imports() -> None:
        import_graph_def(graph_def, name="")

    wrapped = wrap_function(imports, [])
    graph = wrapped.graph
    return wrapped.prune(
        nest.map_structure(graph.as_graph_element, inputs),
        nest.map_structure(graph.as_graph_element, outputs),
    )
