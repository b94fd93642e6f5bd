"""tf.data.Dataset: input pipelines, described step by step and walked by iterators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft as tf
from weft.data import padding, structure
from weft.data.function import StructuredFunction
from weft.data.generators import from_generator
from weft.data.iterator import EagerIterator, Iterator
from weft.data.one_shot import copied
from weft.data.options import Options
from weft.framework import conversion, function_tracing, random_seed
from weft.framework.constant_value import constant_value_as_shape
from weft.framework.export import export
from weft.framework.func_graph import FuncGraph
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape
from weft.framework.type_spec import TensorSpec, TypeSpec
from weft.ops.flow.building import in_library

AUTOTUNE = -1


def _int64(value: Any, name: str) -> Tensor:
    return conversion.convert_to_tensor(value, dtype=tf.int64, name=name)


def seeds(seed: Any) -> tuple[Any, Any]:
    """The two seeds of an operation of a dataset; zeros leave the order to chance."""
    first, second = random_seed.get_seed(seed)
    first = 0 if first is None else first
    if second is None:
        return first, 0
    if isinstance(first, int) and isinstance(second, int) and first == second == 0:
        second = 2**31 - 1
    return first, second


@export("compat.v2.data.Dataset")
class DatasetV2:
    """Elements, each a tensor or a structure of tensors, that are made when an iterator walks over them."""

    _kind: type[DatasetV2]  # of what is made of it
    _preserves_cardinality = True

    def __init__(
        self,
        variant_tensor: Tensor | None = None,
        element_spec: Any = None,
        inputs: tuple[DatasetV2, ...] = (),
    ):
        if variant_tensor is None:
            variant_tensor, element_spec, inputs = self._from_subclass()
        self._variant_tensor = variant_tensor
        self._element_spec = element_spec
        self._sources = inputs
        self._graph = None if tf.executing_eagerly() else tf.get_default_graph()
        self._own_options: Options | None = None

    def _from_subclass(self) -> Any:
        raise NotImplementedError(
            "Dataset is made by its functions, such as Dataset.from_tensor_slices, not by itself."
        )

    def _inputs(self) -> list[DatasetV2]:
        """The datasets that this one is made of."""
        return list(self._sources)

    def _made(self, op: str, spec: Any = None, **arguments: Any) -> DatasetV2:
        """A dataset made of this one by an operation."""
        spec = self._element_spec if spec is None else spec
        variant = getattr(tf.raw_ops, op)(
            input_dataset=self._variant_tensor, **arguments, **structure.attributes(spec)
        )
        return self._kind(variant, spec, (self,))

    # -- what elements are like ----------------------------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """What elements are like."""
        return self._element_spec

    def __repr__(self) -> str:
        shapes = structure.map_leaves(str, structure.legacy_shapes(self._element_spec))
        types = structure.map_leaves(repr, structure.legacy_types(self._element_spec))
        text = f"shapes: {shapes}, types: {types}".replace("'", "")
        return f"<{type(self).__name__} {text}>"

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self._element_spec, self._variant_tensor.shape)

    @classmethod
    def _stacked(cls, datasets: list[DatasetV2]) -> DatasetV2:
        """Datasets of like elements as the elements of an array."""
        spec = datasets[0].element_spec
        for other in datasets[1:]:
            spec = structure.most_specific(spec, other.element_spec)
        return cls._kind(tf.stack([d._variant_tensor for d in datasets]), spec)

    def _nest_components(self) -> list[Any]:
        return [self._variant_tensor]

    def _nest_from_components(self, parts: list[Any]) -> DatasetV2:
        return self._kind(parts[0], self._element_spec)

    # -- walking -------------------------------------------------------------------------------------

    def __iter__(self) -> EagerIterator:
        if not tf.executing_eagerly() and not isinstance(tf.get_default_graph(), FuncGraph):
            raise RuntimeError(
                "__iter__() is only supported inside of tf.function or when eager execution is enabled."
            )
        return EagerIterator(self._with_options())

    def _check_graph(self) -> None:
        if self._graph is not None and self._graph is not tf.get_default_graph():
            raise ValueError(
                f"The graph ({tf.get_default_graph()}) of the iterator is different from the graph ({self._graph}) the "
                "dataset was created in. If you are using the Estimator API, make sure that no part of the dataset "
                "returned by the `input_fn` function is defined outside the `input_fn` function. Please ensure that "
                "all datasets in the pipeline are created in the same graph as the iterator."
            )

    def _make_one_shot_iterator(self) -> Any:
        """An iterator that begins by itself, and goes once from the beginning to the end."""
        if tf.executing_eagerly():
            return EagerIterator(self._with_options())
        self._check_graph()
        dataset = self._with_options()
        around = tf.get_default_graph()
        graph = FuncGraph(function_tracing.unique_name(around, "make_dataset"), around)
        try:
            graph.outputs = [copied(dataset._variant_tensor, graph, {})]
        except ValueError as e:
            if "Cannot capture a stateful node" in str(e):
                raise ValueError(
                    "Failed to create a one-shot iterator for a dataset. `Dataset.make_one_shot_iterator()` does not "
                    "support datasets that capture stateful objects, such as a `Variable` or `LookupTable`. In these "
                    "cases, use `Dataset.make_initializable_iterator()`. (Original error: "
                    f"{e})"
                ) from None
            raise
        resource = tf.raw_ops.OneShotIterator(
            dataset_factory=in_library(graph), **structure.attributes(self._element_spec)
        )
        return Iterator._of_spec(resource, None, self._element_spec)

    def _make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator whose `initializer` begins at the beginning, as often as it is run."""
        if tf.executing_eagerly():
            raise RuntimeError(
                "dataset.make_initializable_iterator is not supported when eager execution is enabled. Use `for "
                "element in dataset` instead."
            )
        self._check_graph()
        dataset = self._with_options()
        resource = tf.raw_ops.IteratorV2(
            container="", shared_name=shared_name or "", **structure.attributes(self._element_spec)
        )
        with tf.colocate_with(resource):
            initializer = tf.raw_ops.MakeIterator(
                dataset=dataset._variant_tensor, iterator=resource
            )
        return Iterator._of_spec(resource, initializer, self._element_spec)

    def reduce(self, initial_state: Any, reduce_func: Callable) -> Any:
        """What a function makes of a state and each element in turn."""
        state = structure.normalized(initial_state)
        state_spec = structure.spec_of(state)
        function, state_spec = _stable(
            reduce_func, "reduce_func", state_spec, lambda spec: (spec, self._element_spec)
        )
        components = tf.raw_ops.ReduceDataset(
            input_dataset=self._variant_tensor,
            initial_state=structure.to_tensors(state_spec, state),
            other_arguments=function.captured,
            f=function.attribute,
            **structure.attributes(state_spec),
        )
        return structure.from_tensors(state_spec, list(components))

    # -- options -------------------------------------------------------------------------------------

    def options(self) -> Options:
        """The options of this dataset and of those that it is made of."""
        merged = Options()
        for source in self._sources:
            merged = merged.merge(source.options())
        return merged if self._own_options is None else merged.merge(self._own_options)

    def with_options(self, options: Options) -> DatasetV2:
        """The dataset with options."""
        dataset = self._kind(self._variant_tensor, self._element_spec, (self,))
        dataset._own_options = self.options().merge(options)
        return dataset

    def _with_options(self) -> DatasetV2:
        """What is walked: with the threads, the order and the statistics that the options say; other advice is for
        TensorFlow's runtime."""
        options, dataset = self.options(), self
        threads = options.experimental_threading.private_threadpool_size
        if threads is not None:
            dataset = dataset._made("PrivateThreadPoolDataset", num_threads=_int64(threads, "num"))
        if options.experimental_deterministic is False:
            dataset = dataset._made("OptimizeDataset", optimizations=tf.constant(["make_sloppy"]))
        statistics = options.experimental_stats
        if statistics.latency_all_edges:
            dataset = dataset._made(
                "OptimizeDataset", optimizations=tf.constant(["latency_all_edges"])
            )
        if statistics.aggregator is not None:
            dataset = dataset._made(
                "SetStatsAggregatorDataset",
                stats_aggregator=statistics.aggregator._resource,
                tag=tf.constant(statistics.prefix),
                counter_prefix=tf.constant(statistics.counter_prefix),
            )
        return dataset

    # -- sources -------------------------------------------------------------------------------------

    @classmethod
    def from_tensors(cls, tensors: Any) -> DatasetV2:
        """One element."""
        element = structure.normalized(tensors)
        spec = structure.spec_of(element)
        components = structure.to_tensors(spec, element)
        variant = tf.raw_ops.TensorDataset(
            components=components, output_shapes=structure.flat_shapes(spec)
        )
        return cls._kind(variant, spec)

    @classmethod
    def from_tensor_slices(cls, tensors: Any) -> DatasetV2:
        """The slices of tensors along their first axis."""
        element = structure.normalized(tensors)
        whole = structure.spec_of(element)
        spec = structure.unbatched(whole)
        sizes = set()
        for leaf in structure.flatten(whole):
            shape = leaf._shape
            if shape.ndims is not None and shape.dims[0].value is not None:
                sizes.add(shape.dims[0].value)
        if len(sizes) > 1:
            raise ValueError(
                f"Dimensions {' and '.join(map(str, sorted(sizes)))} are not compatible"
            )
        variant = tf.raw_ops.TensorSliceDataset(
            components=structure.slices_of(whole, element),
            output_shapes=structure.flat_shapes(spec),
        )
        return cls._kind(variant, spec)

    @classmethod
    def range(cls, *args: Any) -> DatasetV2:
        """Numbers, as Python's `range`."""
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid arguments to RangeDataset: {args}")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        spec = TensorSpec([], tf.int64)
        variant = tf.raw_ops.RangeDataset(
            start=_int64(start, "start"),
            stop=_int64(stop, "stop"),
            step=_int64(step, "step"),
            **structure.attributes(spec),
        )
        return cls._kind(variant, spec)

    @classmethod
    def from_generator(
        cls, generator: Callable, output_types: Any, output_shapes: Any = None, args: Any = None
    ) -> DatasetV2:
        """What a Python function yields, called anew for each walk."""
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        spec = structure.spec_of_legacy(output_types, output_shapes)
        args = () if args is None else tuple(tf.convert_to_tensor(a) for a in args)
        return from_generator(cls._kind, generator, spec, args)

    @classmethod
    def zip(cls, datasets: Any) -> DatasetV2:
        """Elements of several datasets side by side, in their structure, until one ends."""
        flat = structure.flatten(datasets)
        for ds in flat:
            if not isinstance(ds, DatasetV2):
                if isinstance(ds, list):
                    raise TypeError(
                        "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects. Nested "
                        "structures do not support Python lists; please use a tuple instead."
                    )
                raise TypeError(
                    "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects."
                )
        spec = structure.pack(datasets, [ds.element_spec for ds in flat])
        variant = tf.raw_ops.ZipDataset(
            input_datasets=[ds._variant_tensor for ds in flat], **structure.attributes(spec)
        )
        return cls._kind(variant, spec, tuple(flat))

    @classmethod
    def list_files(cls, file_pattern: Any, shuffle: Any = None, seed: Any = None) -> DatasetV2:
        """The names of the files that patterns match; in random order unless it is said otherwise."""
        with tf.name_scope("list_files"):
            shuffle = True if shuffle is None else shuffle
            pattern = tf.convert_to_tensor(file_pattern, dtype=tf.string, name="file_pattern")
            found = tf.io.matching_files(pattern)
            some = tf.greater(tf.shape(found)[0], 0, name="match_not_empty")
            patterns = tf.strings.reduce_join(tf.reshape(pattern, [-1]), separator=", ")
            message = tf.strings.join(["No files matched pattern: ", patterns], name="message")
            check = tf.Assert(some, [message], summarize=1, name="assert_not_empty")
            with tf.control_dependencies([check]):
                found = tf.identity(found)
            dataset = cls._kind.from_tensor_slices(found)
            if shuffle:
                size = tf.maximum(tf.shape(found, out_type=tf.int64)[0], 1)
                dataset = dataset.shuffle(size, seed=seed)
            return dataset

    # -- selections ----------------------------------------------------------------------------------

    def take(self, count: Any) -> DatasetV2:
        """The first elements."""
        return self._made("TakeDataset", count=_int64(count, "count"))

    def skip(self, count: Any) -> DatasetV2:
        """All but the first elements."""
        return self._made("SkipDataset", count=_int64(count, "count"))

    def shard(self, num_shards: Any, index: Any) -> DatasetV2:
        """Every so many-th element, beginning with the one at `index`."""
        return self._made(
            "ShardDataset",
            num_shards=_int64(num_shards, "num_shards"),
            index=_int64(index, "index"),
        )

    def repeat(self, count: Any = None) -> DatasetV2:
        """The elements again and again; without end where no number is given."""
        return self._made("RepeatDataset", count=_int64(-1 if count is None else count, "count"))

    def concatenate(self, dataset: DatasetV2) -> DatasetV2:
        """The elements of this dataset, then those of another."""
        try:
            spec = structure.most_specific(self._element_spec, dataset.element_spec)
        except ValueError:
            raise TypeError(
                "Two datasets to concatenate have different types: "
                f"{self._element_spec} and {dataset.element_spec}"
            ) from None
        variant = tf.raw_ops.ConcatenateDataset(
            input_dataset=self._variant_tensor,
            another_dataset=dataset._variant_tensor,
            **structure.attributes(spec),
        )
        return self._kind(variant, spec, (self, dataset))

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None
    ) -> DatasetV2:
        """The elements in random order, drawn from a buffer of a size."""
        first, second = seeds(seed)
        again = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        return self._made(
            "ShuffleDataset",
            buffer_size=_int64(buffer_size, "buffer_size"),
            seed=_int64(first, "seed"),
            seed2=_int64(second, "seed2"),
            reshuffle_each_iteration=again,
        )

    def cache(self, filename: Any = "") -> DatasetV2:
        """The elements, kept in memory or in files by the first walk over all of them."""
        return self._made(
            "CacheDataset", filename=tf.convert_to_tensor(filename, tf.string, name="filename")
        )

    def prefetch(self, buffer_size: Any) -> DatasetV2:
        """The elements, so many of them made before they are asked for."""
        size = AUTOTUNE if buffer_size is None else buffer_size
        return self._made("PrefetchDataset", buffer_size=_int64(size, "buffer_size"))

    def enumerate(self, start: Any = 0) -> DatasetV2:
        """The elements with their numbers."""
        most = np.iinfo(np.int64).max
        return self._kind.zip((self._kind.range(start, most), self))

    # -- batches -------------------------------------------------------------------------------------

    def batch(self, batch_size: Any, drop_remainder: Any = False) -> DatasetV2:
        """So many elements as one; a last one of fewer may be dropped."""
        size = _int64(batch_size, "batch_size")
        drop = tf.convert_to_tensor(drop_remainder, dtype=tf.bool, name="drop_remainder")
        known = tf.get_static_value(size) if _static_bool(drop) else None
        spec = structure.batched(self._element_spec, None if known is None else int(known))
        return self._made("BatchDatasetV2", spec, batch_size=size, drop_remainder=drop)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any,
        padding_values: Any = None,
        drop_remainder: Any = False,
    ) -> DatasetV2:
        """So many elements as one, padded to given sizes, or where these are not known to the largest."""
        for leaf in structure.flatten(self._element_spec):
            if not isinstance(leaf, TensorSpec):
                raise TypeError(
                    f"Batching of padded sparse tensors is not currently supported: {leaf}"
                )
        wanted = padding.padded_shapes(self._element_spec, padded_shapes)
        values = padding.padding_values(self._element_spec, padding_values)
        size = _int64(batch_size, "batch_size")
        drop = tf.convert_to_tensor(drop_remainder, dtype=tf.bool, name="drop_remainder")
        known = tf.get_static_value(size) if _static_bool(drop) else None
        rows = TensorShape([None if known is None else int(known)])
        leaves = [
            TensorSpec(rows.concatenate(TensorShape(constant_value_as_shape(w))), leaf.dtype)
            for leaf, w in zip(structure.flatten(self._element_spec), wanted)
        ]
        spec = structure.pack(self._element_spec, leaves)
        variant = tf.raw_ops.PaddedBatchDatasetV2(
            input_dataset=self._variant_tensor,
            batch_size=size,
            padded_shapes=wanted,
            padding_values=values,
            drop_remainder=drop,
            output_shapes=structure.flat_shapes(spec),
        )
        return self._kind(variant, spec, (self,))

    def unbatch(self) -> DatasetV2:
        """The rows of elements, one after the other."""
        spec = structure.unbatched(self._element_spec)
        if all(isinstance(leaf, TensorSpec) for leaf in structure.flatten(self._element_spec)):
            return self._made("UnbatchDataset", spec)

        def rows(*element: Any) -> Any:
            whole = element if type(self._element_spec) is tuple else element[0]
            return tuple(structure.slices_of(self._element_spec, whole))

        apart = self.map(rows)._made("UnbatchDataset", spec)
        return self._kind(apart._variant_tensor, spec, (self,))

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False
    ) -> DatasetV2:
        """Windows over the elements, each a dataset."""
        spec = structure.map_leaves(lambda leaf: DatasetSpec(leaf), self._element_spec)
        return self._made(
            "WindowDataset",
            spec,
            size=_int64(size, "size"),
            shift=_int64(size if shift is None else shift, "shift"),
            stride=_int64(stride, "stride"),
            drop_remainder=tf.convert_to_tensor(drop_remainder, dtype=tf.bool),
        )

    # -- functions -----------------------------------------------------------------------------------

    def map(self, map_func: Callable, num_parallel_calls: Any = None) -> DatasetV2:
        """What a function makes of each element; by several threads at a time, if that is wanted."""
        function = StructuredFunction(map_func, "Dataset_map", self._element_spec)
        arguments = {
            "other_arguments": function.captured,
            "f": function.attribute,
            "preserve_cardinality": self._preserves_cardinality,
        }
        if num_parallel_calls is None:
            return self._made("MapDataset", function.output_spec, **arguments)
        count = tf.convert_to_tensor(num_parallel_calls, dtype=tf.int32, name="num_parallel_calls")
        return self._made(
            "ParallelMapDataset", function.output_spec, num_parallel_calls=count, **arguments
        )

    def filter(self, predicate: Callable) -> DatasetV2:
        """The elements for which a function is true."""
        function = StructuredFunction(predicate, "Dataset_filter", self._element_spec)
        spec = function.output_spec
        if not isinstance(spec, TensorSpec) or not spec.is_compatible_with(TensorSpec([], tf.bool)):
            raise ValueError(
                "`predicate` return type must be convertible to a scalar boolean tensor. Was "
                f"{spec}."
            )
        return self._made(
            "FilterDataset", other_arguments=function.captured, predicate=function.attribute
        )

    def flat_map(self, map_func: Callable) -> DatasetV2:
        """The elements of the datasets that a function makes of each element."""
        function, spec = self._to_datasets(map_func, "Dataset_flat_map")
        return self._made(
            "FlatMapDataset", spec, other_arguments=function.captured, f=function.attribute
        )

    def interleave(
        self,
        map_func: Callable,
        cycle_length: Any = AUTOTUNE,
        block_length: Any = 1,
        num_parallel_calls: Any = None,
    ) -> DatasetV2:
        """Elements of several of the datasets that a function makes, a block of each in turn."""
        function, spec = self._to_datasets(map_func, "Dataset_interleave")
        arguments = {
            "other_arguments": function.captured,
            "f": function.attribute,
            "cycle_length": _int64(cycle_length, "cycle_length"),
            "block_length": _int64(block_length, "block_length"),
        }
        if num_parallel_calls is None:
            return self._made("InterleaveDataset", spec, **arguments)
        return self._made(
            "ParallelInterleaveDatasetV2",
            spec,
            num_parallel_calls=_int64(num_parallel_calls, "num_parallel_calls"),
            **arguments,
        )

    def _to_datasets(self, map_func: Callable, name: str) -> tuple[StructuredFunction, Any]:
        function = StructuredFunction(map_func, name, self._element_spec)
        if not isinstance(function.output_spec, DatasetSpec):
            raise TypeError(
                f"`map_func` must return a `Dataset` object. Got {function.output_spec}"
            )
        return function, function.output_spec._element_spec

    def apply(self, transformation_func: Callable[[DatasetV2], DatasetV2]) -> DatasetV2:
        """What a function of datasets makes of this one."""
        dataset = transformation_func(self)
        if not isinstance(dataset, DatasetV2):
            raise TypeError(f"`transformation_func` must return a Dataset. Got {dataset}.")
        return dataset


@export("data.Dataset", "compat.v1.data.Dataset")
class Dataset(DatasetV2):
    """A dataset as TensorFlow 1's programs know it, with iterators for sessions."""

    # A function that raises OutOfRange ends the dataset.
    _preserves_cardinality = False

    @property
    def output_types(self) -> Any:
        """The types of an element's parts."""
        return structure.legacy_types(self._element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element's parts."""
        return structure.legacy_shapes(self._element_spec)

    @property
    def output_classes(self) -> Any:
        """The classes of an element's parts."""
        return structure.legacy_classes(self._element_spec)

    def make_one_shot_iterator(self) -> Any:
        """An iterator that begins by itself, and goes once from the beginning to the end."""
        return self._make_one_shot_iterator()

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator whose `initializer` begins at the beginning, as often as it is run."""
        return self._make_initializable_iterator(shared_name)

    map_with_legacy_function = DatasetV2.map
    filter_with_legacy_function = DatasetV2.filter

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """The slices of a sparse tensor along its first axis, as indices, values and shape."""
        if not isinstance(sparse_tensor, tf.SparseTensor):
            raise TypeError(
                f"`sparse_tensor` must be a `tf.SparseTensor` object.Was {sparse_tensor}."
            )
        rank = sparse_tensor.indices.shape.dims[1].value
        rank = None if rank is None else rank - 1
        spec = (
            TensorSpec([None, rank], tf.int64),
            TensorSpec([None], sparse_tensor.dtype),
            TensorSpec([rank], tf.int64),
        )
        variant = tf.raw_ops.SparseTensorSliceDataset(
            indices=sparse_tensor.indices,
            values=sparse_tensor.values,
            dense_shape=sparse_tensor.dense_shape,
        )
        return Dataset(variant, spec)


DatasetV2._kind = DatasetV2
Dataset._kind = Dataset


def _static_bool(tensor: Tensor) -> bool:
    value = tf.get_static_value(tensor)
    return value is not None and bool(value)


@export("data.DatasetSpec", "data.experimental.DatasetStructure")
class DatasetSpec(TypeSpec):
    """What a dataset is like that is part of an element of another."""

    def __init__(self, element_spec: Any, dataset_shape: Any = ()):
        self._element_spec = element_spec
        self._dataset_shape = TensorShape(dataset_shape)

    @classmethod
    def from_value(cls, value: Dataset) -> DatasetSpec:
        """The spec of a dataset."""
        return cls(value.element_spec)

    @property
    def value_type(self) -> type:
        return Dataset

    def _serialize(self) -> tuple:
        return (self._element_spec, self._dataset_shape)

    @property
    def _component_specs(self) -> list[Any]:
        return [TensorSpec(self._dataset_shape, tf.variant)]

    def _from_components(self, components: list[Any]) -> Dataset:
        return Dataset(components[0], self._element_spec)

    def _to_components(self, value: Dataset) -> list[Any]:
        return [value._variant_tensor]

    def _batched(self, size: int | None) -> DatasetSpec:
        return DatasetSpec(self._element_spec, TensorShape([size]).concatenate(self._dataset_shape))

    @property
    def _shape(self) -> TensorShape:
        return self._dataset_shape

    def _unbatched(self) -> DatasetSpec:
        if self._dataset_shape.ndims == 0:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")
        return DatasetSpec(self._element_spec, self._dataset_shape[1:])

    @property
    def _legacy_output_types(self) -> Any:
        return self

    @property
    def _legacy_output_shapes(self) -> Any:
        return self


def _stable(
    function: Callable, name: str, state_spec: Any, arguments: Callable[[Any], Any]
) -> tuple[StructuredFunction, Any]:
    """A function whose first result is like its first argument: shapes are relaxed until that is so."""
    while True:
        traced = StructuredFunction(function, name, arguments(state_spec), unpack=True)
        result = traced.output_spec
        try:
            structure.assert_same(state_spec, result)
        except (TypeError, ValueError) as e:
            raise tf.errors.InvalidArgumentError(None, None, str(e)) from None
        for before, after in zip(structure.flatten(state_spec), structure.flatten(result)):
            if type(before) is not type(after) or before._dtype != after._dtype:
                raise TypeError(
                    f"The element types for the new state must match the initial state. Expected {state_spec}; got "
                    f"{result}."
                )
        relaxed = structure.most_specific(state_spec, result)
        if structure.flatten(relaxed) == structure.flatten(state_spec):
            return traced, state_spec
        state_spec = relaxed


@export("data.get_output_types", "compat.v1.data.get_output_types")
def get_output_types(dataset_or_iterator: Any) -> Any:
    """The types of an element's parts."""
    return structure.legacy_types(dataset_or_iterator.element_spec)


@export("data.get_output_shapes", "compat.v1.data.get_output_shapes")
def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of an element's parts."""
    return structure.legacy_shapes(dataset_or_iterator.element_spec)


@export("data.get_output_classes", "compat.v1.data.get_output_classes")
def get_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of an element's parts."""
    return structure.legacy_classes(dataset_or_iterator.element_spec)


@export("data.make_one_shot_iterator", "compat.v1.data.make_one_shot_iterator")
def make_one_shot_iterator(dataset: Dataset) -> Any:
    """An iterator that begins by itself, and goes once from the beginning to the end."""
    return dataset._make_one_shot_iterator()


@export("data.make_initializable_iterator", "compat.v1.data.make_initializable_iterator")
def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """An iterator whose `initializer` begins at the beginning, as often as it is run."""
    return dataset._make_initializable_iterator(shared_name)
