"""The store of a graph's variables by name, which `get_variable` looks in before it makes one."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from weft.framework import context, conversion, dtypes
from weft.framework.export import export, export_all
from weft.framework.func_graph import init_scope
from weft.framework.graph import colocate_with
from weft.framework.graph_keys import GraphKeys
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import as_shape
from weft.variables import partitioning
from weft.variables.base import VariableV1
from weft.variables.modes import VariableAggregation, VariableSynchronization, validated_modes
from weft.variables.partition_info import PartitionInfo
from weft.variables.partitioned import PartitionedVariable
from weft.variables.resource import ResourceVariable
from weft.variables.save_slice import SaveSliceInfo


class ReuseMode(enum.Enum):
    """What `reuse` may be besides True, False and None."""

    AUTO_REUSE = 1  # takes the variable if it is there, else makes it


AUTO_REUSE = ReuseMode.AUTO_REUSE
export_all("", AUTO_REUSE=AUTO_REUSE)


@dataclasses.dataclass
class Request:
    """What a program asks `get_variable` for, every default of its scopes filled in. The order of the fields is
    that of the positional arguments which custom getters may use."""

    name: str
    shape: Any = None
    dtype: Any = dtypes.float32
    initializer: Any = None
    regularizer: Any = None
    reuse: Any = None
    trainable: bool | None = None
    collections: Any = None
    caching_device: Any = None
    partitioner: Any = None
    validate_shape: bool = True
    use_resource: bool | None = None
    constraint: Any = None
    synchronization: Any = VariableSynchronization.AUTO
    aggregation: Any = VariableAggregation.NONE

    def arguments(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


class VariableStore:
    """The variables, and partitioned variables, that `get_variable` made in a graph."""

    def __init__(self) -> None:
        self._vars: dict[str, Any] = {}
        self._partitioned_vars: dict[str, PartitionedVariable] = {}
        self._store_eager_variables = False

    def get_variable(self, name: str, *args: Any, custom_getter: Any = None, **kwargs: Any) -> Any:
        """Returns the variable of a name, or makes it; arguments are those of `tf.get_variable`."""
        request = Request(name, *args, **kwargs)
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        with init_scope():
            if context.executing_eagerly():
                request.use_resource = True
        if context.executing_eagerly():
            if not self._store_eager_variables and request.reuse:
                raise RuntimeError(
                    "When eager execution is enabled variable reuse is only supported when an "
                    "EagerVariableStore is active. See the documentation on EagerVariableStore for example "
                    "usage."
                )
            if self._store_eager_variables:
                request.reuse = AUTO_REUSE
        # A reference type may be asked for, as in `dtype=v.dtype`.
        request.dtype = getattr(request.dtype, "base_dtype", request.dtype)
        request.synchronization, request.aggregation, request.trainable = validated_modes(
            request.synchronization, request.aggregation, request.trainable, name
        )
        if custom_getter is None:
            return self._get(request)
        arguments = request.arguments()
        if not takes(custom_getter, "constraint"):
            del arguments["constraint"]
        return custom_getter(
            getter=lambda *args, **kwargs: self._get(Request(*args, **kwargs)), **arguments
        )

    def _get(self, request: Request) -> Any:
        name = request.name
        is_scalar = isinstance(request.shape, Sequence) and not request.shape
        if request.partitioner is not None and not is_scalar:
            if not callable(request.partitioner):
                raise ValueError(
                    f"Partitioner must be callable, but received: {request.partitioner}"
                )
            with name_scope(None):
                return self._get_partitioned(request)
        if request.reuse is True and request.partitioner is None and name in self._partitioned_vars:
            return self._get_partitioned(request)
        if f"{name}/part_0" in self._vars:
            raise ValueError(
                f"No partitioner was provided, but a partitioned version of the variable was found: "
                f"{name}/part_0. Perhaps a variable of the same name was already created with partitioning?"
            )
        return self._get_single(request)

    # -- one variable --------------------------------------------------------------------------------

    def _get_single(self, request: Request, partition_info: PartitionInfo | None = None) -> Any:
        name, initializer = request.name, request.initializer
        from_value = initializer is not None and not callable(initializer)
        if request.shape is not None and from_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype, shape = dtypes.as_dtype(request.dtype), as_shape(request.shape)
        if name in self._vars:
            return self._known(name, shape, dtype, request.reuse)
        if request.reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            initializer = default_initializer(name, dtype)
        with init_scope():
            if from_value:
                initial_value, variable_dtype = initializer, None
            else:
                initial_value, variable_dtype = _bound(initializer, shape, dtype, partition_info)
        from weft.variables.creation import resource_variables_enabled

        use_resource = request.use_resource
        variable = VariableV1(
            initial_value=initial_value,
            name=name,
            trainable=request.trainable,
            collections=request.collections,
            caching_device=request.caching_device,
            dtype=variable_dtype,
            validate_shape=request.validate_shape,
            constraint=request.constraint,
            use_resource=resource_variables_enabled() if use_resource is None else use_resource,
            synchronization=request.synchronization,
            aggregation=request.aggregation,
        )
        if context.executing_eagerly() and self._store_eager_variables:
            graph = context.get_default_graph()
            graph.add_to_collections(request.collections or GraphKeys.GLOBAL_VARIABLES, variable)
            if request.trainable:
                graph.add_to_collection(GraphKeys.TRAINABLE_VARIABLES, variable)
        if not context.executing_eagerly() or self._store_eager_variables:
            self._vars[name] = variable
        if request.regularizer:
            with colocate_with(
                variable.op if variable._in_graph_mode else None, ignore_existing=True
            ):
                with name_scope(name + "/Regularizer/"), init_scope():
                    loss = request.regularizer(variable)
                if loss is not None:
                    context.get_default_graph().add_to_collection(
                        GraphKeys.REGULARIZATION_LOSSES, loss
                    )
        return variable

    def _known(self, name: str, shape: Any, dtype: dtypes.DType, reuse: Any) -> Any:
        found = self._vars[name]
        if reuse is False:
            message = (
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
            line = "" if isinstance(found, ResourceVariable) else found.op.user_line
            raise ValueError(f"{message} Originally defined at:\n\n{line}" if line else message)
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape "
                f"{found.get_shape()}."
            )
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
                f"{found.dtype.name}."
            )
        return found

    # -- a variable in parts -------------------------------------------------------------------------

    def _get_partitioned(self, request: Request) -> PartitionedVariable:
        name, initializer, reuse = request.name, request.initializer, request.reuse
        if name in self._vars:
            raise ValueError(
                f"A partitioner was provided, but an unpartitioned version of the variable was found: {name}.  "
                "Perhaps a variable of the same name was already created without partitioning?"
            )
        shape = as_shape(request.shape)
        if isinstance(initializer, Tensor):
            shape = shape.merge_with(initializer.get_shape())
        partitions = None
        if not reuse or request.partitioner:
            partitions = partitioning.partitions_of(request.partitioner, shape, request.dtype)
        if name in self._partitioned_vars:
            return self._known_partitioned(request, shape, partitions)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did you "
                "mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
            )
        assert partitions is not None
        axis, n = partitioning.cut_axis(partitions)
        self._check_parts(name, n)
        parts = []
        for i, (offset, size) in enumerate(partitioning.slices(shape.as_list(), n, axis)):
            info = PartitionInfo(full_shape=shape.as_list(), var_offset=offset)
            part_name = f"{name}/part_{i}"
            with name_scope(part_name + "/PartitionedInitializer"):
                init, init_shape, dtype = _part_initializer(request, offset, size)
            with name_scope(None):
                part = self._get_single(
                    dataclasses.replace(
                        request, name=part_name, shape=init_shape, dtype=dtype, initializer=init
                    ),
                    info,
                )
            part._set_save_slice_info(SaveSliceInfo(name, shape.as_list(), offset, size))
            parts.append(part)
        whole = PartitionedVariable(name, shape, request.dtype, parts, partitions)
        if not context.executing_eagerly() or self._store_eager_variables:
            self._partitioned_vars[name] = whole
        return whole

    def _known_partitioned(
        self, request: Request, shape: Any, partitions: Any
    ) -> PartitionedVariable:
        name = request.name
        if request.reuse is False:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        found = self._partitioned_vars[name]
        trying = f"Trying to reuse partitioned variable {name}, but specified"
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(f"{trying} shape {shape} and found shape {found.get_shape()}.")
        dtype = dtypes.as_dtype(request.dtype)
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(f"{trying} dtype {dtype.name} and found dtype {found.dtype.name}.")
        if partitions is not None and found._get_partitions() != partitions:
            raise ValueError(
                f"{trying} partitions {partitions} and found partitions {found._get_partitions()}."
            )
        return found

    def _check_parts(self, name: str, n: int) -> None:
        if f"{name}/part_0" not in self._vars:
            return
        found = (
            "Partitioner returned a different partitioning than what was already found.  Partitioner returned "
            f"{n} shards, and shard {name}/part_0 was found, but"
        )
        if f"{name}/part_{n - 1}" not in self._vars:
            raise ValueError(f"{found} {name}/part_{n - 1} was not.")
        if f"{name}/part_{n}" in self._vars:
            raise ValueError(f"{found} so was the extra shard {name}/part_{n}.")


def _part_initializer(request: Request, offset: list[int], size: list[int]) -> tuple[Any, Any, Any]:
    """The initializer of a part, the shape to ask it for (None for a value), and the dtype."""
    import weft as tf

    initializer, dtype = request.initializer, request.dtype
    if initializer is None:
        return default_initializer(request.name, dtypes.as_dtype(dtype)), size, dtype
    if callable(initializer):
        return initializer, size, dtype
    if not isinstance(initializer, Tensor):
        initializer = conversion.convert_to_tensor(initializer, dtype=dtype)
        return tf.slice(initializer, offset, size), None, dtype
    part = tf.slice(initializer, offset, size)
    return part, None, part.dtype.base_dtype


def default_initializer(name: str, dtype: dtypes.DType) -> Any:
    """What initialises a variable whose program does not say."""
    import weft as tf

    if dtype.is_floating:
        return tf.glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_bool or dtype is dtypes.string:
        return tf.zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _bound(
    initializer: Any, shape: Any, dtype: dtypes.DType, partition_info: PartitionInfo | None
) -> tuple[Any, Any]:
    """A function without arguments that makes the initial value, and the dtype to convert that to."""
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape.is_fully_defined():
        sizes = shape.as_list()
        return (
            lambda: initializer(sizes, dtype=dtype, partition_info=partition_info),
            dtype.base_dtype,
        )
    if needs_no_arguments(initializer):
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the shape should not "
        "be provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined."
    )


def needs_no_arguments(function: Any) -> bool:
    """Whether a function can be called without arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(
        p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters
    )


def takes(function: Any, name: str) -> bool:
    """Whether a function accepts an argument of this name."""
    while isinstance(function, functools.partial):
        function = function.func
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


# -- the store of a graph ------------------------------------------------------------------------------


def default_store() -> VariableStore:
    """The store of the default graph."""
    extras = context.get_default_graph()._extras
    store = extras.get("variable store")
    if store is None:
        store = extras["variable store"] = VariableStore()
    return store


@contextlib.contextmanager
def with_variable_store(store: VariableStore) -> Iterator[None]:
    """Makes `get_variable` look in another store."""
    extras = context.get_default_graph()._extras
    before = extras.get("variable store")
    extras["variable store"] = store
    try:
        yield
    finally:
        extras["variable store"] = before


@export("contrib.eager.EagerVariableStore")
class EagerVariableStore:
    """Keeps the variables that functional layers make under eager execution, so that they are found again."""

    def __init__(self, store: VariableStore | None = None):
        if store is not None and not store._store_eager_variables:
            raise ValueError(
                "Cannot construct EagerVariableStore from a VariableStore object that does not hold eager "
                "variables."
            )
        self._store = store or VariableStore()
        self._store._store_eager_variables = True

    def as_default(self) -> Any:
        """Makes `get_variable` look here."""
        return with_variable_store(self._store)

    def _sorted(self, wanted: Callable[[Any], bool]) -> list[Any]:
        return sorted(filter(wanted, self._store._vars.values()), key=lambda v: v.name)

    def variables(self) -> list[Any]:
        return self._sorted(lambda v: True)

    def trainable_variables(self) -> list[Any]:
        return self._sorted(lambda v: v.trainable)

    def non_trainable_variables(self) -> list[Any]:
        return self._sorted(lambda v: not v.trainable)

    def copy(self) -> EagerVariableStore:
        """A store with copies of the variables."""
        out = EagerVariableStore()
        for key, variable in self._store._vars.items():
            out._store._vars[key] = ResourceVariable(
                variable.read_value(), name=variable._shared_name, trainable=variable.trainable
            )
        return out
