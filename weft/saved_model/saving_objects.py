"""`tf.saved_model.save`: an object with its variables and functions as a SavedModel, which is loaded as an object."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import weft as tf
from weft import proto
from weft.eager.concrete_function import ConcreteFunction
from weft.eager.function import Function
from weft.framework import context, errors, file_system, meta_graph, nest
from weft.framework.compat_text import as_str_any
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.framework.trackable import Trackable, TrackableReference
from weft.framework.tracked_structures import AutoTrackable, DictWrapper, ListWrapper
from weft.framework.type_spec import TensorSpec
from weft.saved_model import structures, words
from weft.saved_model.loading_objects import SignatureMap
from weft.saved_model.places import model_file, variables_path
from weft.saved_model.signatures import build_signature_def
from weft.saved_model.tensor_infos import build_tensor_info
from weft.train.checkpoint import ObjectSaver
from weft.train.object_graph import ObjectGraph
from weft.variables.resource import BaseResourceVariable

_SIGNATURES = "signatures"
_DEFAULT = "_default_save_signature"


@export("saved_model.save", "saved_model.experimental.save", "compat.v2.saved_model.save")
def save(obj: Any, export_dir: Any, signatures: Any = None) -> None:
    """Writes an object as a SavedModel: its variables, the functions of `tf.function` that it and what it holds have
    been called with or have signatures for, and signatures for serving.

    Args:
      signatures: a function that has an input signature, a concrete one, or a dict of such by key. By default the only
        function of the object that has a signature.
    """
    if not isinstance(obj, Trackable):
        raise ValueError(f"Expected a Trackable object for export, got {obj}.")
    if not context.executing_eagerly():
        raise RuntimeError(
            "tf.saved_model.save writes objects with eager variables: call tf.enable_eager_execution() at the "
            "beginning of the program. Models in graphs are written by tf.saved_model.Builder and simple_save, and it "
            "cannot be called in a tf.function."
        )
    folder = file_system.path_text(export_dir)
    model = _Model(obj, _concrete_signatures(obj, signatures))
    meta = model.meta_graph()
    saved = proto.SavedModel(
        saved_model_schema_version=words.SAVED_MODEL_SCHEMA_VERSION, meta_graphs=[meta]
    )
    path = variables_path(folder)
    file_system.make_directories(os.path.dirname(path))
    ObjectSaver(model.root).save(path)
    # Last of all: without it there is no model.
    file_system.replace_file(model_file(folder, as_text=False), saved.SerializeToString())


# -- signatures -------------------------------------------------------------------------------------------


def functions_of(obj: Any) -> dict[str, Any]:
    """The functions that are attributes of an object, by name; methods with those of the instance."""
    if isinstance(obj, SignatureMap):
        return dict(obj)
    found = {}
    if isinstance(obj, AutoTrackable):
        for name in dir(obj):
            try:
                value = getattr(obj, name)
            except Exception:  # a property that cannot be computed is no function
                continue
            if isinstance(value, (Function, ConcreteFunction)):
                found[name] = value
    return found


def _concrete(function: Any) -> Any:
    """A function that takes tensors of certain kinds; None if it is none."""
    if isinstance(function, Function) and function.input_signature is not None:
        function = function.get_concrete_function()
    return function if isinstance(function, ConcreteFunction) else None


def _concrete_signatures(obj: Any, given: Any) -> dict[str, ConcreteFunction]:
    if isinstance(obj.__dict__.get(_SIGNATURES, SignatureMap({})), SignatureMap) is False:
        raise ValueError(
            f"Exporting an object {obj} which has an attribute named '{_SIGNATURES}'. This is a reserved attribute "
            f"used to store SavedModel signatures. Delete this attribute (e.g. 'del obj.{_SIGNATURES}') before saving."
        )
    if given is None:
        given = _only_function(obj)
        if given is None:
            return {}
    if not isinstance(given, Mapping):
        given = {words.DEFAULT_SERVING_SIGNATURE_DEF_KEY: given}
    made = {}
    for key, function in given.items():
        concrete = _concrete(function)
        if concrete is None:
            raise ValueError(
                "Expected a TensorFlow function to generate a signature for, but got "
                f"{function}. Only `tf.functions` with an input signature or concrete functions can be used as a "
                "signature."
            )
        made[key] = _with_named_outputs(concrete, key)
    return made


def _only_function(obj: Any) -> Any:
    functions = functions_of(obj)
    if _DEFAULT in functions:
        return functions[_DEFAULT]
    fit = []
    for function in functions.values():
        concrete = _concrete(function)
        if concrete is not None and concrete.outputs:
            try:
                _named(concrete.structured_outputs, "", "", TensorSpec)
            except ValueError:
                continue
            fit.append(concrete)
    return fit[0] if len(fit) == 1 else None


def _named(outputs: Any, function: str, key: str, kind: Any = Tensor) -> dict[str, Any]:
    """Outputs by name: those of a dict, or numbered."""
    if isinstance(outputs, Mapping):
        for name, value in outputs.items():
            if not isinstance(value, kind):
                raise ValueError(
                    f"Got a dictionary containing non-Tensor value {value} for key {name} in the output of the "
                    f"function {function} used to generate a SavedModel signature. Dictionaries outputs for functions "
                    "used as signatures should have one Tensor output per string key."
                )
        return dict(outputs)
    listed = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    if not all(isinstance(value, kind) for value in listed):
        raise ValueError(
            f"Got non-flat outputs '{outputs}' from '{function}' for SavedModel signature '{key}'. Signatures have one "
            "Tensor per output, so to have predictable names Python functions used to generate these signatures should "
            "avoid outputting Tensors in nested structures."
        )
    return {f"output_{i}": value for i, value in enumerate(listed)}


def _with_named_outputs(concrete: ConcreteFunction, key: str) -> ConcreteFunction:
    name = as_str_any(concrete.name)

    def signature_wrapper(**kwargs: Any) -> dict[str, Any]:
        return _named(concrete(**kwargs), name, key)

    arguments = {
        keyword: TensorSpec(tensor.shape, tensor.dtype, keyword)
        for keyword, tensor in zip(concrete._arg_keywords or (), concrete.inputs)
    }
    made = Function(signature_wrapper).get_concrete_function(**arguments)
    made._num_positional_args = 1 if len(arguments) == 1 else 0
    return made


# -- the model --------------------------------------------------------------------------------------------


class _Root(Trackable):
    """The object, with the signatures as one more that it holds."""

    def __init__(self, obj: Any, signatures: SignatureMap):
        self._obj, self._signatures = obj, signatures

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        own = [d for d in self._obj._checkpoint_dependencies if d.name != _SIGNATURES]
        return [*own, TrackableReference(_SIGNATURES, self._signatures)]

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return self._obj._gather_saveables_for_checkpoint()


class _Model:
    """The objects, functions and constants of a model by number, and the graph of its variables and signatures."""

    def __init__(self, obj: Any, signatures: dict[str, ConcreteFunction]):
        self._obj, self._signatures = obj, signatures
        self.root = _Root(obj, SignatureMap(signatures))  # type: ignore[arg-type]
        for item in ObjectGraph(self.root).objects:  # tracing may make variables
            for function in self._functions_of(item).values():
                _traces(function)
        objects = ObjectGraph(self.root)
        self._message, _, _ = objects.serialized(None)
        self._objects = objects.objects
        self._functions: list[Any] = []
        self._numbers: dict[int, int] = {id(o): i for i, o in enumerate(self._objects)}
        for item in self._objects:
            self._refuse_what_has_no_form(item)
            for function in self._functions_of(item).values():
                if id(function) not in self._numbers:
                    self._numbers[id(function)] = len(self._objects) + len(self._functions)
                    self._functions.append(function)
        traces = [t for f in self._functions for t in _traces(f)]
        self._traces = list({t.name: t for t in traces}.values())
        self._constants: list[Any] = []  # concrete tensors that functions use

    def _functions_of(self, item: Any) -> dict[str, Any]:
        return functions_of(self._obj if item is self.root else item)

    @staticmethod
    def _refuse_what_has_no_form(item: Any) -> None:
        if hasattr(item, "resource_handle"):
            raise errors.UnimplementedError(
                None,
                None,
                f"{item!r}: tables are not written by tf.saved_model.save yet; tf.saved_model.Builder writes them.",
            )

    def meta_graph(self) -> Any:
        """The message with the graph, the signatures and the objects."""
        with tf.Graph().as_default() as graph:
            self._captured: dict[int, tuple[int, Any]] = {}
            reads = self._make_variables()
            self._make_constants()
            saver = tf.train.Saver(reads, sharded=True).saver_def if reads else None
            signatures = {k: self._signature(k, f) for k, f in self._signatures.items()}
            for trace in self._traces:
                trace.add_to_graph(graph)
            info = proto.MetaGraphDef.MetaInfoDef(
                tags=[words.SERVING],
                tensorflow_version=tf.VERSION,
                tensorflow_git_version="unknown",
            )
            meta = meta_graph.create_meta_graph_def(
                meta_info_def=info, graph_def=graph.as_graph_def(add_shapes=True), saver_def=saver
            )
        meta.collection_def.clear()
        for key, signature in signatures.items():
            meta.signature_def[key].CopyFrom(signature)
        meta.object_graph_def.CopyFrom(self._object_graph())
        return meta

    def _make_variables(self) -> dict[str, Any]:
        """A handle for each variable; gives what reads them, by their keys in the checkpoint."""
        reads = {}
        for number, item in enumerate(self._objects):
            if not isinstance(item, BaseResourceVariable):
                continue
            name = item.name.partition(":")[0]
            with tf.name_scope(None):
                handle = tf.raw_ops.VarHandleOp(
                    dtype=item.dtype, shape=item.shape, name=name, shared_name=f"{name}_{number}"
                )
                read = tf.raw_ops.ReadVariableOp(
                    resource=handle, dtype=item.dtype, name=f"{name}/Read/ReadVariableOp"
                )
            self._captured[id(item.handle)] = (number, handle)
            (attribute,) = self._message.nodes[number].attributes
            reads[attribute.checkpoint_key] = read
        return reads

    def _make_constants(self) -> None:
        for trace in self._traces:
            for tensor in trace.captured_inputs:
                if id(tensor) in self._captured or tensor.dtype in (tf.resource, tf.variant):
                    continue
                value = constant_value(tensor)
                if value is None:
                    raise ValueError(
                        f"Attempted to save a function {as_str_any(trace.name)} which references a symbolic Tensor "
                        f"{tensor} that is not a simple constant. This is not supported."
                    )
                number = len(self._objects) + len(self._functions) + len(self._constants)
                made = tf.constant(value, tensor.dtype)
                self._captured[id(tensor)] = (number, made)
                self._constants.append(made)

    def _captures(self, trace: ConcreteFunction) -> Iterable[tuple[int, Any]]:
        """What a function uses: the numbers, and what stands for it in the graph."""
        for tensor, inner in zip(
            trace.captured_inputs, trace.inputs[-len(trace.captured_inputs) :]
        ):
            try:
                yield self._captured[id(tensor)]
            except KeyError:
                raise AssertionError(
                    f"Tried to export a function which references untracked object {inner}. TensorFlow objects (e.g. "
                    "tf.Variable) captured by functions must be tracked by assigning them to an attribute of a tracked "
                    "object or assigned to an attribute of the main object directly."
                ) from None

    def _signature(self, key: str, function: ConcreteFunction) -> Any:
        captured = [tensor for _, tensor in self._captures(function)]
        inputs = {}
        for name, tensor in zip(function._arg_keywords or (), function.inputs):
            inputs[name] = tf.placeholder(tensor.dtype, tensor.shape, name=f"{key}_{name}")
        outputs = function._call_flat(list(inputs.values()), captured)
        return build_signature_def(
            {name: build_tensor_info(t) for name, t in inputs.items()},
            {name: build_tensor_info(t) for name, t in outputs.items()},
            method_name=words.PREDICT_METHOD_NAME,
        )

    # -- the objects as a message ------------------------------------------------------------------------

    def _object_graph(self) -> Any:
        message = proto.SavedObjectGraph()
        for item, tracked in zip(self._objects, self._message.nodes):
            node = message.nodes.add(
                children=tracked.children, slot_variables=tracked.slot_variables
            )
            for name, function in self._functions_of(item).items():
                node.children.add(local_name=name, node_id=self._numbers[id(function)])
            if isinstance(item, BaseResourceVariable):
                _describe_variable(item, node.variable)
            else:
                node.user_object.identifier = _identifier(item)
                node.user_object.version.producer = node.user_object.version.min_consumer = 1
        for function in self._functions:
            node = message.nodes.add()
            if isinstance(function, Function):
                _describe_function(function, node.function)
            else:
                bare = node.bare_concrete_function
                bare.concrete_function_name = as_str_any(function.name)
                bare.argument_keywords.extend(function._arg_keywords or ())
                bare.allowed_positional_arguments = function._num_positional_args or 0
        for constant in self._constants:
            message.nodes.add().constant.operation = constant.op.name
        for trace in self._traces:
            described = message.concrete_functions[as_str_any(trace.name)]
            described.bound_inputs.extend(number for number, _ in self._captures(trace))
            described.canonicalized_input_signature.CopyFrom(
                structures.encoded(trace.structured_input_signature)
            )
            described.output_signature.CopyFrom(structures.encoded(trace.structured_outputs))
        return message


def _traces(function: Any) -> list[ConcreteFunction]:
    """The traces of a function for eager calls."""
    if isinstance(function, ConcreteFunction):
        return [function]
    found = [trace for (place, *_), trace in list(function._cache.items()) if place is None]
    if not found and function.input_signature is not None:
        found = [function.get_concrete_function()]
    return list({id(trace): trace for trace in found}.values())


def _identifier(item: Any) -> str:
    """By what name a program that loads the model knows what to make."""
    kinds: list[tuple[Any, str]] = [
        (SignatureMap, "signature_map"),
        (ListWrapper, "trackable_list_wrapper"),
        (DictWrapper, "trackable_dict_wrapper"),
    ]
    return next((name for kind, name in kinds if isinstance(item, kind)), "_generic_user_object")


def _describe_variable(variable: Any, message: Any) -> None:
    message.name = variable.name.partition(":")[0]
    message.dtype = variable.dtype.base_dtype.as_datatype_enum
    message.shape.CopyFrom(variable.shape.as_proto())
    message.trainable = variable.trainable
    message.synchronization = variable.synchronization.value
    message.aggregation = variable.aggregation.value


def _describe_function(function: Function, message: Any) -> None:
    spec = function.function_spec
    given = spec.fullargspec
    message.concrete_functions.extend(as_str_any(t.name) for t in _traces(function))
    argspec = given._replace(
        defaults=None if given.defaults is None else tuple(map(_default, given.defaults)),
        kwonlydefaults={k: _default(v) for k, v in (given.kwonlydefaults or {}).items()} or None,
        annotations={},
    )
    message.function_spec.fullargspec.CopyFrom(structures.encoded(argspec))
    message.function_spec.is_method = list(given.args) != list(spec.arg_names)
    message.function_spec.input_signature.CopyFrom(structures.encoded(spec.input_signature))


def _default(value: Any) -> Any:
    """A default value, if it has a form as a message."""
    try:
        nest.map_structure(structures.encoded, value)
    except TypeError:
        return None
    return value
