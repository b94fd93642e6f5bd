"""`tf.contrib.data`: what became `tf.data.experimental`, and some that did not."""

from weft.contrib.data.transformations import (  # noqa: F401
    assert_element_shape,
    batch_and_drop_remainder,
    padded_batch_and_drop_remainder,
    read_batch_features,
    reduce_dataset,
    sliding_window_batch,
    sloppy_interleave,
)
from weft.data.dataset import AUTOTUNE  # noqa: F401
from weft.data.optional import Optional, get_next_as_optional  # noqa: F401
from weft.data.readers import (  # noqa: F401
    CsvDataset,
    TFRecordWriter,
    make_batched_features_dataset,
    make_csv_dataset,
    rejection_resample,
)
from weft.data.statistics import bytes_produced_stats, latency_stats  # noqa: F401
from weft.data.transformations import (  # noqa: F401
    Counter,
    RandomDataset,
    Reducer,
    bucket_by_sequence_length,
    choose_from_datasets,
    copy_to_device,
    dense_to_sparse_batch,
    enumerate_dataset,
    get_single_element,
    group_by_reducer,
    group_by_window,
    ignore_errors,
    map_and_batch,
    parallel_interleave,
    parse_example_dataset,
    prefetch_to_device,
    sample_from_datasets,
    scan,
    shuffle_and_repeat,
    unbatch,
    unique,
)
