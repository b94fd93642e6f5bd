"""Loading SavedModels of TensorFlow 1 without a session: as an object with a function for each signature."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import weft as tf
from weft.eager.wrap_function import WrappedFunction, wrap_function
from weft.framework import context, errors, meta_graph
from weft.framework.export import export
from weft.framework.func_graph import init_scope
from weft.framework.graph_keys import GraphKeys
from weft.framework.registry import find as find_op
from weft.framework.trackable import Trackable
from weft.framework.tracked_structures import AutoTrackable
from weft.saved_model import restoring_objects
from weft.saved_model.assets import asset_paths
from weft.saved_model.loading import SavedModelLoader, init_op_of
from weft.saved_model.tensor_infos import get_tensor_from_tensor_info

_numbers = itertools.count()


class Asset(Trackable):
    """A file that goes with a model."""

    def __init__(self, path: str):
        with init_scope(), tf.device("CPU"):
            self._path = tf.convert_to_tensor(path, dtype=tf.string, name="asset_path")

    @property
    def asset_path(self) -> Any:
        """The path of the file, a tensor."""
        return self._path


class Initializer(Trackable):
    """What a model runs when it has been loaded."""

    def __init__(self, function: Any, assets: list[Asset]):
        self._function, self._assets = function, assets

    def _initialize(self) -> Any:
        return self._function(*[asset.asset_path for asset in self._assets])


class SignatureMap(Mapping, Trackable):
    """The functions of a model's signatures, by key."""

    def __init__(self, functions: dict[str, WrappedFunction]):
        self._signatures = functions

    def __getitem__(self, key: str) -> WrappedFunction:
        return self._signatures[key]

    def __iter__(self) -> Any:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        return f"_SignatureMap({self._signatures})"


@export("saved_model.load_v2", "compat.v2.saved_model.load")
def load_v2(export_dir: Any, tags: Any = None) -> Any:
    """Loads a SavedModel as an object: its `signatures` are functions, `variables` what they share, `graph` and
    `prune` give other parts of it. Tags say which graph is meant where there are several.

    Of a model that holds an object, as `tf.saved_model.save` writes it, such an object is loaded under eager execution:
    what it holds, its variables and functions. Where it has tables, and in a graph, the signatures are loaded only.
    """
    loader = SavedModelLoader(export_dir)
    meta = _chosen(loader, tags)
    if meta.HasField("object_graph_def"):
        if context.executing_eagerly() and restoring_objects.is_known(meta.object_graph_def):
            root, functions = restoring_objects.restored_objects(meta, loader.variables_path)
            root.signatures = SignatureMap(functions)
            root.tensorflow_version = meta.meta_info_def.tensorflow_version
            root.tensorflow_git_version = meta.meta_info_def.tensorflow_git_version
            return root
        tf.logging.warning(
            "%s holds objects of which not all can be loaded here, or not in a graph: its signatures are loaded, other "
            "functions and attributes are not.",
            export_dir,
        )
    _name_apart(meta.graph_def)
    savers: list[Any] = []
    wrapped = wrap_function(
        lambda: savers.append(meta_graph.import_meta_graph_with_return_elements(meta)[0]), []
    )
    _restore(wrapped, savers[0], loader.variables_path)
    root = AutoTrackable()
    with wrapped.graph.as_default():
        init_op = init_op_of(meta) or tf.train.Scaffold.default_local_init_op()
        anchor = tf.constant(0.0, name="dummy_fetch")
    paths = asset_paths(export_dir, meta)
    assets = [Asset(path) for path in paths.values()]
    initializer = Initializer(
        wrapped.prune(
            [wrapped.graph.as_graph_element(name) for name in paths],
            [anchor, wrapped.graph.as_graph_element(init_op)],
        ),
        assets,
    )
    done, _ = initializer._initialize()
    with init_scope():
        if not context.executing_eagerly():
            tf.add_to_collection(GraphKeys.TABLE_INITIALIZERS, done)
            for variable in wrapped.graph.get_collection(GraphKeys.LOCAL_VARIABLES):
                variable._initializer_op = done
    root.initializer = initializer  # type: ignore[attr-defined]
    root.asset_paths = assets  # type: ignore[attr-defined]
    root.signatures = SignatureMap(  # type: ignore[attr-defined]
        {key: _function(wrapped, key, s) for key, s in meta.signature_def.items()}
    )
    root.variables = list(wrapped.graph.variables)  # type: ignore[attr-defined]
    root.tensorflow_version = meta.meta_info_def.tensorflow_version  # type: ignore[attr-defined]
    root.tensorflow_git_version = meta.meta_info_def.tensorflow_git_version  # type: ignore[attr-defined]
    root.graph = wrapped.graph  # type: ignore[attr-defined]
    root.prune = wrapped.prune  # type: ignore[attr-defined]
    return root


def _chosen(loader: SavedModelLoader, tags: Any) -> Any:
    if tags is not None:
        return loader.get_meta_graph_def_from_tags([tags] if isinstance(tags, str) else tags)
    graphs = loader.saved_model.meta_graphs
    if len(graphs) != 1:
        raise ValueError(
            "Importing a SavedModel with tf.saved_model.load requires a 'tags=' argument if there is more than one "
            f"MetaGraph. Got 'tags=None', but there are {len(graphs)} MetaGraphs in the SavedModel with tag sets "
            f"{[list(g.meta_info_def.tags) for g in graphs]}. Pass a 'tags=' argument to load this SavedModel."
        )
    return graphs[0]


def _name_apart(graph_def: Any) -> None:
    """Gives resources names of their own, so that a model that is loaded twice shares nothing with itself."""
    suffix = f"_load_{next(_numbers)}".encode()
    for nodes in (graph_def.node, *[f.node_def for f in graph_def.library.function]):
        for node in nodes:
            decl = find_op(node.op)
            if decl is None or "shared_name" not in decl.signature.attrs:
                continue
            own = node.attr["shared_name"].s or node.name.encode()
            node.attr["shared_name"].s = own + suffix
            if "use_node_name_sharing" in decl.signature.attrs:
                node.attr["use_node_name_sharing"].b = True


def _restore(wrapped: WrappedFunction, saver: Any, path: str) -> None:
    """Gives the variables what the model has for them; in a graph their initializers do."""
    if saver is None:
        return
    graph, names = wrapped.graph, saver.saver_def
    prefix = graph.as_graph_element(names.filename_tensor_name)
    restore = wrapped.prune([prefix], [prefix, graph.as_graph_element(names.restore_op_name)])
    with init_scope():
        done, _ = restore(tf.constant(path))
        if context.executing_eagerly():
            return
        tf.add_to_collection(GraphKeys.TABLE_INITIALIZERS, done)
        for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            variable._initializer_op = done


def _function(wrapped: WrappedFunction, key: str, signature: Any) -> WrappedFunction:
    graph = wrapped.graph
    feeds = [get_tensor_from_tensor_info(info, graph) for info in signature.inputs.values()]
    fetches = {
        name: get_tensor_from_tensor_info(info, graph)
        for name, info in signature.outputs.items()
        if info.dtype or info.WhichOneof("encoding") != "name"
    }
    function = wrapped.prune(feeds, fetches)
    fed = set(function.graph.inputs)
    for op in function.graph.get_operations():
        if op.type == "Placeholder" and op.outputs[0] not in fed:
            raise errors.InvalidArgumentError(
                None,
                None,
                "A SavedModel signature needs an input for each placeholder the signature's outputs use. An output "
                f"for signature '{key}' depends on a placeholder which is not an input: {op.name}",
            )
    function._arg_keywords = list(signature.inputs)
    function._num_positional_args = 1 if len(feeds) == 1 else 0
    return function
