"""MetaGraphDef: a graph with its collections, out and in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from weft.framework import context, registry
from weft.framework.export import export, find
from weft.framework.graph import Graph
from weft.framework.graph_keys import GraphKeys
from weft.framework.importer import import_graph_def
from weft.framework.operation import Operation
from weft.framework.scope_names import prepend_name_scope, strip_name_scope
from weft.framework.signature import REQUIRED
from weft.framework.tensor import Tensor

# collection -> (message type, to message, from message)
_forms: dict[Any, tuple[Any, Callable | None, Callable | None]] = {}


def register_proto_function(
    collection_name: Any,
    proto_type: Any = None,
    to_proto: Callable | None = None,
    from_proto: Callable | None = None,
) -> None:
    """Registers how the items of a collection become messages, and messages items."""
    if to_proto is not None and not callable(to_proto):
        raise TypeError("to_proto must be callable.")
    if from_proto is not None and not callable(from_proto):
        raise TypeError("from_proto must be callable.")
    _forms[collection_name] = (proto_type, to_proto, from_proto)


def _class_of(proto_type: Any) -> Any:
    """The class of messages; given as a function where it is not to be made before it is needed."""
    return proto_type if isinstance(proto_type, type) else proto_type()


def forms_of(collection_name: Any) -> tuple[Any, Callable | None, Callable | None]:
    """How the items of a collection become messages; Nones where nothing is registered."""
    return _forms.get(collection_name, (None, None, None))


def stripped_op_list(graph_def: Any) -> Any:
    """The OpDefs that a GraphDef's nodes, and those of its functions, are of."""
    from weft import proto
    from weft.framework.graph_def import op_def

    used = {n.op for n in graph_def.node}
    for function in graph_def.library.function:
        used.update(n.op for n in function.node_def)
    out = proto.OpList()
    for name in sorted(used):
        decl = registry.find(name)
        if decl is not None:
            out.op.add().CopyFrom(op_def(decl))
    return out


def strip_default_attrs(graph_def: Any) -> None:
    """Removes attributes that have their default value, so that older consumers can read the graph."""
    from weft.framework.attributes import to_proto

    for nodes in (graph_def.node, *[f.node_def for f in graph_def.library.function]):
        for node in nodes:
            decl = registry.find(node.op)
            if decl is None:
                continue
            for attr in decl.signature.attrs.values():
                if attr.default is REQUIRED or attr.name not in node.attr:
                    continue
                default = to_proto(list(attr.default) if attr.is_list else attr.default)
                if node.attr[attr.name] == default:
                    del node.attr[attr.name]


def add_default_attrs(graph_def: Any) -> None:
    """Gives nodes the attributes that were removed, or that are newer than the graph, with their defaults."""
    from weft.framework.attributes import to_proto

    for node in graph_def.node:
        decl = registry.find(node.op)
        if decl is None:
            continue
        for attr in decl.signature.attrs.values():
            if attr.default is not REQUIRED and attr.name not in node.attr:
                default = to_proto(list(attr.default) if attr.is_list else attr.default)
                node.attr[attr.name].CopyFrom(default)


def _should_include(item: Any, scope: str | None, prefix_only: bool = True) -> bool:
    if not scope:
        return True
    name = getattr(item, "name", item if isinstance(item, (str, bytes)) else None)
    if name is None:
        return True
    name = name.decode() if isinstance(name, bytes) else name
    return name.startswith(scope if scope.endswith("/") else scope + "/") or name == scope


def add_collection(
    meta: Any, key: Any, graph: Graph, export_scope: str | None, exclude: Any = ()
) -> None:
    """Writes one collection into a MetaGraphDef; what has no form there is left out with a warning.

    What is on nodes named in `exclude` is left out too.
    """
    values = [
        v
        for v in graph.get_collection_ref(key)
        if _should_include(v, export_scope) and getattr(v, "name", v) not in exclude
    ]
    if not isinstance(key, (str, bytes)):
        return
    name = key if isinstance(key, str) else key.decode()
    try:
        kind, to_proto, _ = forms_of(key)
        out = meta.collection_def[name]
        if to_proto is not None:
            for v in values:
                message = (
                    to_proto(v, export_scope=export_scope)
                    if _takes_scope(to_proto)
                    else to_proto(v)
                )
                if message is not None:
                    if kind is not None and not isinstance(message, _class_of(kind)):
                        raise TypeError(
                            f"{message!r} is not of the type registered for collection {name!r}."
                        )
                    out.bytes_list.value.append(message.SerializeToString())
            return
        if not values:
            if not graph.get_collection_ref(key):
                return
            del meta.collection_def[name]
            return
        first = values[0]
        if isinstance(first, (Tensor, Operation)) or hasattr(first, "_as_graph_element"):
            for v in values:
                text = v.name if isinstance(v, (Tensor, Operation)) else v._as_graph_element().name
                out.node_list.value.append(strip_name_scope(text, export_scope))
        elif isinstance(first, bool):
            raise TypeError("a collection of bools has no form")
        elif isinstance(first, int):
            out.int64_list.value.extend(values)
        elif isinstance(first, float):
            out.float_list.value.extend(values)
        elif isinstance(first, (str, bytes)):
            out.bytes_list.value.extend(v.encode() if isinstance(v, str) else v for v in values)
        elif type(first).__name__ == "Any" and hasattr(
            first, "Pack"
        ):  # protobuf's, of any of its copies
            for v in values:
                out.any_list.value.add().MergeFromString(v.SerializeToString())
        elif hasattr(first, "to_proto"):
            for v in values:
                out.bytes_list.value.append(
                    v.to_proto(export_scope=export_scope).SerializeToString()
                )
        else:
            raise TypeError(f"{type(first).__name__} has no message form")
    except (
        Exception
    ) as e:  # a program's own objects in a collection are no reason not to export the graph
        meta.collection_def.pop(name, None)
        find("logging", "warning", "tf.logging")(
            "Issue encountered when serializing %s.\nType is unsupported, or the types of the items don't match "
            "field type in CollectionDef. Note this is a warning and probably safe to ignore.\n%s",
            name,
            str(e),
        )


def _takes_scope(function: Callable) -> bool:
    import inspect

    try:
        return "export_scope" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Any = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    exclude_nodes: Any = None,
    clear_extraneous_savers: bool = False,
    strip_defaults: bool = False,
) -> Any:
    """Returns the MetaGraphDef of a graph."""
    from weft import proto

    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"graph must be of type Graph, not {type(graph)}")
    if graph_def is not None and not isinstance(graph_def, proto.GraphDef):
        raise TypeError(f"graph_def must be of type GraphDef, not {type(graph_def)}")
    graph = graph or context.get_default_graph()
    meta = proto.MetaGraphDef()
    if meta_info_def is not None:
        meta.meta_info_def.CopyFrom(meta_info_def)
    meta.meta_info_def.tensorflow_version = find("", "VERSION", "tf")
    meta.meta_info_def.tensorflow_git_version = find("", "GIT_VERSION", "tf")
    meta.graph_def.CopyFrom(graph.as_graph_def(add_shapes=True) if graph_def is None else graph_def)
    if len(meta.meta_info_def.stripped_op_list.op) == 0:
        meta.meta_info_def.stripped_op_list.MergeFrom(stripped_op_list(meta.graph_def))
    if strip_defaults:
        strip_default_attrs(meta.graph_def)
        meta.meta_info_def.stripped_default_attrs = True
    if saver_def is not None:
        meta.saver_def.MergeFrom(saver_def)
    keys = graph.get_all_collection_keys() if collection_list is None else collection_list
    for key in keys:
        if clear_extraneous_savers and key == GraphKeys.SAVERS:
            meta.collection_def[key].bytes_list.value.append(saver_def.SerializeToString())
        else:
            add_collection(meta, key, graph, export_scope, exclude_nodes or ())
    return meta


_SAVER_OPS = frozenset(
    "Save SaveSlices SaveV2 Restore RestoreSlice RestoreV2 MergeV2Checkpoints ShardedFilename "
    "ShardedFilespec".split()
)


def _nodes_of_other_savers(graph_def: Any, saver_def: Any) -> set[str]:
    """The nodes of savers other than this one, each of which is in a scope of its own."""

    def scope_of(name: str) -> str:
        return name.partition(":")[0].rpartition("/")[0] + "/"

    own = set()
    if saver_def is not None:
        own = {scope_of(saver_def.save_tensor_name), scope_of(saver_def.restore_op_name)}
    savers = {node.name for node in graph_def.node if node.op in _SAVER_OPS}
    scopes = tuple({scope_of(n) for n in savers} - {f"{n}/" for n in savers} - own)
    return {node.name for node in graph_def.node if node.name.startswith(scopes)}


def read_meta_graph_file(filename: str) -> Any:
    """Reads a MetaGraphDef, binary or as text."""
    from google.protobuf import text_format

    from weft import proto

    meta = proto.MetaGraphDef()
    if not os.path.exists(filename):
        raise OSError(f"File {filename} does not exist.")
    with open(filename, "rb") as f:
        content = f.read()
    try:
        meta.ParseFromString(content)
        return meta
    except Exception:
        pass
    try:
        text_format.Merge(content.decode(), meta)
    except (text_format.ParseError, UnicodeDecodeError) as e:
        raise OSError(f"Cannot parse file {filename}: {e}.") from None
    return meta


def _write(meta: Any, filename: str, as_text: bool) -> None:
    from google.protobuf import text_format

    folder = os.path.dirname(filename)
    if folder:
        os.makedirs(folder, exist_ok=True)
    temporary = f"{filename}.part{os.getpid()}"
    content = text_format.MessageToString(meta).encode() if as_text else meta.SerializeToString()
    with open(temporary, "wb") as f:
        f.write(content)
    os.replace(temporary, filename)


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: Any = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    meta_info_def: Any = None,
    collection_list: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """Returns, and writes to a file, the MetaGraphDef of a graph or of a name scope of it, with the variables
    in it by name."""
    from weft import proto

    del save_debug_info  # the lines of ops are in the process that made them only
    graph = graph or context.get_default_graph()
    if graph_def is None:
        full = graph.as_graph_def(add_shapes=True)
    else:
        full = graph_def
    exclude = _nodes_of_other_savers(full, saver_def) if clear_extraneous_savers else set()
    if exclude:
        kept = [node for node in full.node if node.name not in exclude]
        full = proto.GraphDef(node=kept, versions=full.versions, library=full.library)
    unbound: list[str] = []
    if export_scope:
        part = proto.GraphDef()
        part.versions.CopyFrom(full.versions)
        part.library.CopyFrom(full.library)
        scope = export_scope if export_scope.endswith("/") else export_scope + "/"
        for node in full.node:
            if not node.name.startswith(scope):
                continue
            new = part.node.add()
            new.CopyFrom(node)
            new.name = strip_name_scope(node.name, export_scope)
            del new.input[:]
            for text in node.input:
                bare = re.sub(r"^\^", "", text)
                if bare.startswith(scope):
                    new.input.append(strip_name_scope(text, export_scope))
                elif not text.startswith("^"):
                    unbound.append(text)
                    new.input.append(f"$unbound_inputs_{text}")
            if "_class" in new.attr:
                inside = [
                    strip_name_scope(c.decode(), export_scope).encode()
                    for c in new.attr["_class"].list.s
                    if c.decode().startswith("loc:@" + scope)
                ]
                del new.attr["_class"].list.s[:]
                new.attr["_class"].list.s.extend(inside)
                if not inside:
                    del new.attr["_class"]
        full = part
    else:
        copy = proto.GraphDef()
        copy.CopyFrom(full)
        full = copy
    if clear_devices:
        for node in full.node:
            node.device = ""
    meta = create_meta_graph_def(
        meta_info_def=meta_info_def,
        graph_def=full,
        saver_def=saver_def,
        collection_list=collection_list,
        graph=graph,
        export_scope=export_scope,
        exclude_nodes=exclude,
        clear_extraneous_savers=clear_extraneous_savers and saver_def is not None,
        strip_defaults=strip_default_attrs,
    )
    if unbound and unbound_inputs_col_name:
        meta.collection_def[unbound_inputs_col_name].bytes_list.value.extend(
            t.encode() for t in dict.fromkeys(unbound)
        )
    variables: dict[str, Any] = {}
    for key in ("variables", "trainable_variables"):
        for v in graph.get_collection(key):
            if hasattr(v, "op") and _should_include(v, export_scope):
                variables[strip_name_scope(v.name, export_scope)] = v
    if filename:
        _write(meta, filename, as_text)
    return meta, variables


def import_scoped_meta_graph(meta_graph_or_file: Any, **how: Any) -> dict[str, Any]:
    """Adds the graph and collections of a MetaGraphDef (or a file of one) to a graph; gives its variables by
    name."""
    return import_scoped_meta_graph_with_return_elements(meta_graph_or_file, **how)[0]


def import_scoped_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: dict[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable = lambda key: True,
    return_elements: Any = None,
) -> tuple[dict[str, Any], Any]:
    """As `import_scoped_meta_graph`, with what `return_elements` names."""
    from weft import proto

    if context.executing_eagerly():
        raise ValueError(
            "Exporting/importing meta graphs is not supported when eager execution is enabled."
        )
    if isinstance(meta_graph_or_file, proto.MetaGraphDef):
        meta = meta_graph_or_file
    else:
        meta = read_meta_graph_file(meta_graph_or_file)
    graph = graph or context.get_default_graph()
    if unbound_inputs_col_name and unbound_inputs_col_name in meta.collection_def:
        wanted = [v.decode() for v in meta.collection_def[unbound_inputs_col_name].bytes_list.value]
        given = set(input_map or ())
        missing = [w for w in wanted if w not in given and f"$unbound_inputs_{w}" not in given]
        if missing:
            raise ValueError(
                "Graph contains unbound inputs: %s. Must provide these inputs through input_map."
                % ",".join(missing)
            )
        input_map = {
            (k if k.startswith("$unbound_inputs_") else f"$unbound_inputs_{k}")
            if k in wanted
            else k: v
            for k, v in (input_map or {}).items()
        }
    add_default_attrs(meta.graph_def)  # which the caller sees, as in TensorFlow
    with graph.as_default():
        graph_def = proto.GraphDef()
        graph_def.CopyFrom(meta.graph_def)
        if clear_devices:
            for node in graph_def.node:
                node.device = ""
        scope = graph.unique_name(import_scope or "", mark_as_used=False)
        producer = meta.meta_info_def.stripped_op_list
        elements = import_graph_def(
            graph_def,
            name=import_scope or scope,
            input_map=input_map,
            producer_op_list=producer if len(producer.op) else None,
            return_elements=return_elements,
        )
        variables = _restore_collections(meta, graph, scope, restore_collections_predicate)
    return variables, elements


def _restore_collections(
    meta: Any, graph: Graph, scope: str | None, wanted: Callable
) -> dict[str, Any]:
    # One object stands in every collection that a variable was in.
    known: dict[bytes, Any] = {}
    for key, definition in sorted(meta.collection_def.items()):
        kind = definition.WhichOneof("kind")
        if kind is None or not wanted(key):
            continue
        proto_type, _, from_proto = forms_of(key)
        values = getattr(definition, kind).value
        if from_proto is not None and kind == "bytes_list":
            for content in values:
                item = known.get(content)
                if item is None:
                    message = _class_of(proto_type).FromString(content)
                    item = from_proto(message, import_scope=scope)
                    known[content] = item
                graph.add_to_collection(key, item)
        elif kind == "node_list":
            for name in values:
                graph.add_to_collection(
                    key, graph.as_graph_element(prepend_name_scope(name, scope))
                )
        elif kind == "int64_list":
            for v in values:
                graph.add_to_collection(key, int(v))
        else:
            for v in values:
                graph.add_to_collection(key, v)
    variables: dict[str, Any] = {}
    for key in ("variables", "trainable_variables"):
        for v in graph.get_collection(key, scope=scope):
            if hasattr(v, "op"):
                variables[strip_name_scope(v.name, scope)] = v
    return variables


@export("train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Any:
    """Adds the graph and collections of a MetaGraphDef (or a file of one) to the default graph; returns its
    saver, None where it has neither saver nor variables."""
    if context.executing_eagerly():
        raise RuntimeError(
            "Exporting/importing meta graphs is not supported when eager execution is enabled. No graph exists "
            "when eager execution is enabled."
        )
    return import_meta_graph_with_return_elements(
        meta_graph_or_file, clear_devices, import_scope, **kwargs
    )[0]


def import_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    return_elements: Any = None,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """As `import_meta_graph`, with what `return_elements` names."""
    from weft import proto

    meta = meta_graph_or_file
    if not isinstance(meta, proto.MetaGraphDef):
        meta = read_meta_graph_file(meta)
    variables, elements = import_scoped_meta_graph_with_return_elements(
        meta,
        clear_devices=clear_devices,
        import_scope=import_scope,
        return_elements=return_elements,
        **kwargs,
    )
    return _saver_of(meta, variables, import_scope), elements


def _saver_of(meta: Any, variables: dict[str, Any], import_scope: str | None) -> Any:
    """The saver of what was imported: the meta graph's own, or a new one for its variables."""
    if not meta.HasField("saver_def") and not variables:
        find("logging", "info", "tf.logging")(
            "Saver not created because there are no variables in the graph to restore"
        )
        return None
    saver = find("train", "Saver", "tf.train")
    if not meta.HasField("saver_def"):
        return saver()
    # The scope that the graph came into may be another than the one that was asked for.
    scope = import_scope
    for name, variable in variables.items():
        scope = variable.name.removesuffix(name)
        break
    return saver(saver_def=meta.saver_def, name=scope)


@export("train.export_meta_graph")
def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Any = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """Returns, and writes to a file, the MetaGraphDef of the default graph."""
    if context.executing_eagerly():
        raise RuntimeError(
            "Exporting/importing meta graphs is not supported when eager execution is enabled."
        )
    meta, _ = export_scoped_meta_graph(
        filename=filename,
        meta_info_def=meta_info_def,
        graph_def=graph_def,
        saver_def=saver_def,
        collection_list=collection_list,
        as_text=as_text,
        graph=graph,
        export_scope=export_scope,
        clear_devices=clear_devices,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
        save_debug_info=save_debug_info,
        **kwargs,
    )
    return meta
