"""tf.data.experimental: further sources and transformations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft as tf
from weft.data import structure
from weft.data.dataset import AUTOTUNE, Dataset, DatasetSpec, DatasetV2, _int64, _stable, seeds
from weft.data.function import StructuredFunction
from weft.data.padding import leaves_like
from weft.eager.autograph import converted
from weft.framework.export import export, export_all
from weft.framework.type_spec import SparseTensorSpec, TensorSpec, TypeSpec
from weft.ops.flow.tensor_array import TensorArraySpec

Transformation = Callable[[DatasetV2], DatasetV2]
export_all("data.experimental", Structure=TypeSpec)
export_all("data.experimental", AUTOTUNE=AUTOTUNE, INFINITE_CARDINALITY=-1, UNKNOWN_CARDINALITY=-2)


# -- sources --------------------------------------------------------------------------------------------


@export("data.experimental.Counter")
def Counter(start: Any = 0, step: Any = 1, dtype: Any = tf.int64) -> DatasetV2:
    """Numbers without end."""
    with tf.name_scope("counter"):
        first = tf.convert_to_tensor(start, dtype=dtype, name="start")
        more = tf.convert_to_tensor(step, dtype=dtype, name="step")
        return (
            Dataset.from_tensors(0)
            .repeat()
            .apply(scan(first, lambda state, _: (state + more, state)))
        )


@export("data.experimental.RandomDataset")
class RandomDataset(Dataset):
    """Random numbers of 32 bits without end."""

    def __init__(self, seed: Any = None):
        first, second = seeds(seed)
        spec = TensorSpec([], tf.int64)
        variant = tf.raw_ops.RandomDataset(
            seed=_int64(first, "seed"), seed2=_int64(second, "seed2"), **structure.attributes(spec)
        )
        super().__init__(variant, spec)


# -- transformations ------------------------------------------------------------------------------------


@export("data.experimental.unbatch")
def unbatch() -> Transformation:
    """The rows of elements, one after the other."""
    return lambda dataset: dataset.unbatch()


@export("data.experimental.enumerate_dataset")
def enumerate_dataset(start: Any = 0) -> Transformation:
    """The elements with their numbers."""
    return lambda dataset: dataset.enumerate(start)


@export("data.experimental.unique")
def unique() -> Transformation:
    """Each element the first time that it comes."""

    def apply(dataset: DatasetV2) -> DatasetV2:
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype not in (tf.int32, tf.int64, tf.string):
            raise TypeError(
                "`tf.data.experimental.unique()` only supports inputs with a single `tf.int32`, `tf.int64`, or "
                "`tf.string` component."
            )
        return dataset._made("UniqueDataset")

    return apply


@export("data.experimental.ignore_errors")
def ignore_errors() -> Transformation:
    """The elements that could be made; those that could not are passed over."""
    return lambda dataset: dataset._made("IgnoreErrorsDataset")


@export("data.experimental.take_while")
def take_while(predicate: Callable) -> Transformation:
    """The elements up to the first for which a function is false."""

    def apply(dataset: DatasetV2) -> DatasetV2:
        function = StructuredFunction(predicate, "Dataset_take_while", dataset.element_spec)
        spec = function.output_spec
        if not isinstance(spec, TensorSpec) or not spec.is_compatible_with(TensorSpec([], tf.bool)):
            raise ValueError("`predicate` must return a scalar boolean tensor.")
        return dataset._made(
            "TakeWhileDataset", other_arguments=function.captured, predicate=function.attribute
        )

    return apply


@export("data.experimental.scan")
def scan(initial_state: Any, scan_func: Callable) -> Transformation:
    """What a function makes of each element and of a state, which it gives on to the next."""

    def apply(dataset: DatasetV2) -> DatasetV2:
        state = structure.normalized(initial_state)
        spec = structure.spec_of(state)
        while True:
            function = StructuredFunction(
                scan_func, "Dataset_scan", (spec, dataset.element_spec), unpack=True
            )
            result = function.output_spec
            if not (type(result) is tuple and len(result) == 2):
                raise TypeError(
                    "The scan function must return a pair comprising the new state and the output value."
                )
            new_spec, output_spec = result
            structure.assert_same(spec, new_spec)
            for a, b in zip(structure.flatten(spec), structure.flatten(new_spec)):
                if type(a) is not type(b) or a._dtype != b._dtype:
                    raise TypeError(
                        "The element types for the new state must match the initial state. Expected "
                        f"{spec}; got {new_spec}."
                    )
            relaxed = structure.most_specific(spec, new_spec)
            if structure.flatten(relaxed) == structure.flatten(spec):
                break
            spec = relaxed
        return dataset._made(
            "ScanDataset",
            output_spec,
            preserve_cardinality=True,
            initial_state=structure.to_tensors(spec, state),
            other_arguments=function.captured,
            f=function.attribute,
        )

    return apply


@export("data.experimental.shuffle_and_repeat")
def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """The elements in random order, again and again."""

    def apply(dataset: DatasetV2) -> DatasetV2:
        first, second = seeds(seed)
        return dataset._made(
            "ShuffleAndRepeatDataset",
            buffer_size=_int64(buffer_size, "buffer_size"),
            seed=_int64(first, "seed"),
            seed2=_int64(second, "seed2"),
            count=_int64(-1 if count is None else count, "count"),
        )

    return apply


@export("data.experimental.map_and_batch", "data.experimental.map_and_batch_with_legacy_function")
def map_and_batch(
    map_func: Callable,
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """What a function makes of each element, so many as one."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive."
        )

    def apply(dataset: DatasetV2) -> DatasetV2:
        function = StructuredFunction(map_func, "Dataset_map_and_batch", dataset.element_spec)
        size = _int64(batch_size, "batch_size")
        drop = tf.convert_to_tensor(drop_remainder, dtype=tf.bool, name="drop_remainder")
        if num_parallel_calls is None:
            calls = tf.multiply(size, 1 if num_parallel_batches is None else num_parallel_batches)
        else:
            calls = _int64(num_parallel_calls, "num_parallel_calls")
        known = tf.get_static_value(size) if tf.get_static_value(drop) else None
        spec = structure.batched(function.output_spec, None if known is None else int(known))
        return dataset._made(
            "MapAndBatchDataset",
            spec,
            preserve_cardinality=True,
            other_arguments=function.captured,
            f=function.attribute,
            batch_size=size,
            num_parallel_calls=calls,
            drop_remainder=drop,
        )

    return apply


@export("data.experimental.parallel_interleave")
def parallel_interleave(
    map_func: Callable,
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """Elements of several of the datasets that a function makes, read ahead by threads."""

    def apply(dataset: DatasetV2) -> DatasetV2:
        function, spec = dataset._to_datasets(map_func, "Dataset_parallel_interleave")
        block = _int64(block_length, "block_length")
        ahead = tf.multiply(block, 2) if buffer_output_elements is None else buffer_output_elements
        inputs = tf.multiply(_int64(cycle_length, "cycle_length"), 2)
        return dataset._made(
            "ParallelInterleaveDataset",
            spec,
            other_arguments=function.captured,
            f=function.attribute,
            cycle_length=_int64(cycle_length, "cycle_length"),
            block_length=block,
            sloppy=tf.convert_to_tensor(sloppy, dtype=tf.bool),
            buffer_output_elements=_int64(ahead, "buffer_output_elements"),
            prefetch_input_elements=_int64(
                inputs if prefetch_input_elements is None else prefetch_input_elements,
                "prefetch_input_elements",
            ),
        )

    return apply


@export("data.experimental.dense_to_sparse_batch")
def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """So many elements, which may differ in size, as one sparse tensor."""

    def apply(dataset: DatasetV2) -> DatasetV2:
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec):
            raise TypeError(
                f"DenseToSparseDataset requires an input that is a single tensor, not {spec}."
            )
        shape = tf.TensorShape(row_shape)
        sparse = SparseTensorSpec(tf.TensorShape([None]).concatenate(shape), spec.dtype)
        sizes = [-1 if d.value is None else d.value for d in shape.dims]
        return dataset._made(
            "DenseToSparseBatchDataset",
            sparse,
            batch_size=_int64(batch_size, "batch_size"),
            row_shape=tf.convert_to_tensor(np.array(sizes, np.int64)),
        )

    return apply


@export("data.experimental.group_by_window")
def group_by_window(
    key_func: Callable,
    reduce_func: Callable,
    window_size: Any = None,
    window_size_func: Callable | None = None,
) -> Transformation:
    """The elements of the datasets that a function makes of windows of elements with the same key."""
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")
    if window_size is not None:
        size = window_size

        def window_size_func(key: Any) -> Any:
            return size

    def apply(dataset: DatasetV2) -> DatasetV2:
        key = StructuredFunction(_int64_of(key_func), "group_by_window_key", dataset.element_spec)
        _check_key(key.output_spec)
        number = TensorSpec([], tf.int64)
        assert window_size_func is not None
        of_size = StructuredFunction(_int64_of(window_size_func), "group_by_window_size", number)
        reduce = StructuredFunction(
            reduce_func,
            "group_by_window_reduce",
            (number, DatasetSpec(dataset.element_spec)),
            unpack=True,
        )
        if not isinstance(reduce.output_spec, DatasetSpec):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        return dataset._made(
            "GroupByWindowDataset",
            reduce.output_spec._element_spec,
            key_func_other_arguments=key.captured,
            reduce_func_other_arguments=reduce.captured,
            window_size_func_other_arguments=of_size.captured,
            key_func=key.attribute,
            reduce_func=reduce.attribute,
            window_size_func=of_size.attribute,
        )

    return apply


def _int64_of(function: Callable) -> Callable:
    return lambda *args: tf.convert_to_tensor(converted(function)(*args), dtype=tf.int64)


def _check_key(spec: Any) -> None:
    if not isinstance(spec, TensorSpec) or not spec.is_compatible_with(TensorSpec([], tf.int64)):
        raise ValueError(f"`key_func` must return a single tf.int64 tensor. Got {spec}.")


@export("data.experimental.Reducer")
class Reducer:
    """Three functions: of a key the first state, of a state and an element the next, of the last the result."""

    def __init__(self, init_func: Callable, reduce_func: Callable, finalize_func: Callable):
        self._init_func, self._reduce_func, self._finalize_func = (
            init_func,
            reduce_func,
            finalize_func,
        )

    @property
    def init_func(self) -> Callable:
        """Of a key the first state."""
        return self._init_func

    @property
    def reduce_func(self) -> Callable:
        """Of a state and an element the next state."""
        return self._reduce_func

    @property
    def finalize_func(self) -> Callable:
        """Of the last state the result."""
        return self._finalize_func


@export("data.experimental.group_by_reducer")
def group_by_reducer(key_func: Callable, reducer: Reducer) -> Transformation:
    """One element for each key, of all elements with the key."""

    def apply(dataset: DatasetV2) -> DatasetV2:
        key = StructuredFunction(key_func, "group_by_reducer_key", dataset.element_spec)
        _check_key(key.output_spec)
        begin = StructuredFunction(
            reducer.init_func, "group_by_reducer_init", TensorSpec([], tf.int64)
        )
        reduce, state_spec = _stable(
            reducer.reduce_func,
            "group_by_reducer_reduce",
            begin.output_spec,
            lambda spec: (spec, dataset.element_spec),
        )
        finish = StructuredFunction(reducer.finalize_func, "group_by_reducer_finalize", state_spec)
        return dataset._made(
            "GroupByReducerDataset",
            finish.output_spec,
            key_func_other_arguments=key.captured,
            init_func_other_arguments=begin.captured,
            reduce_func_other_arguments=reduce.captured,
            finalize_func_other_arguments=finish.captured,
            key_func=key.attribute,
            init_func=begin.attribute,
            reduce_func=reduce.attribute,
            finalize_func=finish.attribute,
        )

    return apply


@export("data.experimental.bucket_by_sequence_length")
def bucket_by_sequence_length(
    element_length_func: Callable,
    bucket_boundaries: list[int],
    bucket_batch_sizes: list[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Batches of elements of like length, padded to the longest of the batch or of the bucket."""
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    sizes = tf.constant(bucket_batch_sizes, dtype=tf.int64)

    def bucket_of(*args: Any) -> Any:
        length = element_length_func(*args)
        edges = list(bucket_boundaries)
        least = [np.iinfo(np.int32).min, *edges]
        most = [*edges, np.iinfo(np.int32).max]
        inside = tf.logical_and(tf.less_equal(least, length), tf.less(length, most))
        return tf.reduce_min(tf.where(inside))

    def batch(bucket: Any, group: DatasetV2) -> DatasetV2:
        size = sizes[bucket]
        if no_padding:
            return group.batch(size, drop_remainder=drop_remainder)
        shapes = padded_shapes
        if shapes is None:
            shapes = structure.map_leaves(lambda leaf: leaf.shape, group.element_spec)
        if pad_to_bucket_boundary:
            bound = tf.constant([*(b - 1 for b in bucket_boundaries), -1], dtype=tf.int64)[bucket]
            checks = [
                tf.Assert(
                    bucket < len(bucket_boundaries),
                    [
                        "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
                    ],
                )
            ]
            with tf.control_dependencies(checks):
                bound = tf.identity(bound)
            leaves = structure.flatten(group.element_spec)
            filled = [
                tf.stack([bound if d.value is None else np.int64(d.value) for d in s.dims])
                if isinstance(s, tf.TensorShape) and not s.is_fully_defined()
                else s
                for s in _flat_shapes(group.element_spec, shapes, len(leaves))
            ]
            shapes = structure.pack(group.element_spec, filled)
        return group.padded_batch(size, shapes, padding_values, drop_remainder=drop_remainder)

    return lambda dataset: dataset.apply(
        group_by_window(bucket_of, batch, window_size_func=lambda bucket: sizes[bucket])
    )


def _flat_shapes(spec: Any, shapes: Any, count: int) -> list[Any]:
    return [s if isinstance(s, tf.Tensor) else tf.TensorShape(s) for s in leaves_like(spec, shapes)]


# -- several datasets -----------------------------------------------------------------------------------


@export("data.experimental.choose_from_datasets")
def choose_from_datasets(datasets: list[DatasetV2], choice_dataset: DatasetV2) -> DatasetV2:
    """Elements of several datasets, as the numbers of another choose."""
    spec = choice_dataset.element_spec
    if not isinstance(spec, TensorSpec) or not spec.is_compatible_with(TensorSpec([], tf.int64)):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return _directed(choice_dataset, datasets)


def _directed(selector: DatasetV2, datasets: list[DatasetV2]) -> DatasetV2:
    if not datasets:
        raise ValueError("At least one dataset is needed to choose from.")
    spec = datasets[0].element_spec
    for other in datasets[1:]:
        try:
            spec = structure.most_specific(spec, other.element_spec)
        except ValueError:
            raise ValueError(
                f"Incompatible datasets: elements like {spec} and {other.element_spec}"
            ) from None
    variant = tf.raw_ops.DirectedInterleaveDataset(
        selector_input_dataset=selector._variant_tensor,
        data_input_datasets=[d._variant_tensor for d in datasets],
        **structure.attributes(spec),
    )
    return datasets[0]._kind(variant, spec, (selector, *datasets))


@export("data.experimental.sample_from_datasets")
def sample_from_datasets(
    datasets: list[DatasetV2], weights: Any = None, seed: Any = None
) -> DatasetV2:
    """Elements of several datasets, drawn at random; those that have ended are passed over.

    `weights`: how often each; all alike where there are none, and where it is a dataset of them as the draws go on.
    """
    n = len(datasets)

    def logits_of(weights: Any) -> Any:
        weights = tf.convert_to_tensor(weights, name="weights")
        if not weights.shape.is_compatible_with([n]):
            raise ValueError("`weights` must be a vector of length `len(datasets)`.")
        if weights.dtype not in (tf.float32, tf.float64):
            raise TypeError(
                "`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` elements."
            )
        return tf.expand_dims(tf.math.log(tf.cast(weights, tf.float32)), 0)

    if isinstance(weights, DatasetV2):
        logits = weights.map(logits_of)
    else:
        fixed = tf.zeros([1, n]) if weights is None else logits_of(weights)
        logits = Dataset.from_tensors(fixed).repeat()

    def draw(logits: Any, pair: Any) -> Any:
        return tf.squeeze(tf.random.stateless_multinomial(logits, 1, seed=pair), axis=[0, 1])

    return _directed(Dataset.zip((logits, RandomDataset(seed).batch(2))).map(draw), datasets)


# -- one step -------------------------------------------------------------------------------------------


@export("data.experimental.cardinality")
def cardinality(dataset: DatasetV2) -> Any:
    """How many elements there are, as far as that is known."""
    return tf.raw_ops.DatasetCardinality(input_dataset=dataset._variant_tensor)


@export("data.experimental.get_single_element")
def get_single_element(dataset: DatasetV2) -> Any:
    """The only element."""
    if not isinstance(dataset, DatasetV2):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    components = tf.raw_ops.DatasetToSingleElement(
        dataset=dataset._variant_tensor, **structure.attributes(dataset.element_spec)
    )
    return structure.from_tensors(dataset.element_spec, list(components))


@export("data.experimental.get_structure")
def get_structure(dataset_or_iterator: Any) -> Any:
    """What elements are like."""
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            "`dataset_or_iterator` must be a Dataset or Iterator object, but got "
            f"{type(dataset_or_iterator)}."
        ) from None


@export("data.experimental.to_variant")
def to_variant(dataset: DatasetV2) -> Any:
    """The tensor that is the dataset."""
    return dataset._variant_tensor


@export("data.experimental.from_variant")
def from_variant(variant: Any, structure: Any) -> DatasetV2:
    """The dataset that is a tensor."""
    return Dataset(variant, structure)


@export("data.experimental.prefetch_to_device")
def prefetch_to_device(device: str, buffer_size: Any = None) -> Transformation:
    """Elements got before they are asked for; what uses them puts them on its device."""
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


@export("data.experimental.copy_to_device")
def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """The elements as they are; what uses them puts them on its device."""
    return lambda dataset: dataset


@export("data.experimental.parse_example_dataset")
def parse_example_dataset(features: dict[str, Any], num_parallel_calls: Any = 1) -> Transformation:
    """What is in serialized Examples, a batch of which is an element."""
    if features is None:
        raise ValueError("Missing: features was None.")
    return lambda dataset: dataset.map(
        lambda serialized: tf.io.parse_example(serialized, features),
        num_parallel_calls=num_parallel_calls,
    )


@export("data.experimental.TensorStructure")
def TensorStructure(dtype: Any, shape: Any) -> TensorSpec:
    """The spec of tensors."""
    return TensorSpec(shape, dtype)


@export("data.experimental.TensorArrayStructure")
def TensorArrayStructure(
    dtype: Any, element_shape: Any, dynamic_size: bool, infer_shape: bool
) -> TensorArraySpec:
    """Deprecated: `tf.TensorArraySpec`."""
    return TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


@export("data.experimental.SparseTensorStructure")
def SparseTensorStructure(dtype: Any, shape: Any) -> SparseTensorSpec:
    """The spec of sparse tensors."""
    return SparseTensorSpec(shape, dtype)
