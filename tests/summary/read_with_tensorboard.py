"""Prints, as JSON, what TensorBoard's own reader finds in the event files of a folder."""

import json
import sys

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

events = EventAccumulator(sys.argv[1], size_guidance={"histograms": 0, "images": 0, "tensors": 0})
events.Reload()
tags = events.Tags()


def tensor(event):
    value = tensor_util.make_ndarray(event.tensor_proto)
    return [v.decode() if isinstance(v, bytes) else v for v in value.reshape(-1).tolist()]


def histogram_of(event):
    value = event.histogram_value
    return [value.min, value.max, value.num, value.sum, value.sum_squares, sum(value.bucket)]


def image_of(event):
    return [event.width, event.height, event.encoded_image_string[1:4].decode()]


def audio_of(event):
    return [event.sample_rate, event.length_frames, event.content_type]


print(
    json.dumps(
        {
            "tags": tags,
            "scalars": {t: [[e.step, e.value] for e in events.Scalars(t)] for t in tags["scalars"]},
            "histograms": {
                t: [[e.step, *histogram_of(e)] for e in events.Histograms(t)]
                for t in tags["histograms"]
            },
            "images": {
                t: [[e.step, *image_of(e)] for e in events.Images(t)] for t in tags["images"]
            },
            "audio": {t: [[e.step, *audio_of(e)] for e in events.Audio(t)] for t in tags["audio"]},
            "tensors": {
                t: [[e.step, *tensor(e)] for e in events.Tensors(t)] for t in tags["tensors"]
            },
            "plugins": {
                t: events.SummaryMetadata(t).plugin_data.plugin_name
                for t in tags["tensors"]
                if t in events.summary_metadata
            },
            "nodes": [n.name for n in events.Graph().node] if tags["graph"] else [],
            "meta_graph": tags["meta_graph"] and events.MetaGraph().IsInitialized(),
            "run_metadata": {
                t: [d.device for d in events.RunMetadata(t).step_stats.dev_stats]
                for t in tags["run_metadata"]
            },
        },
        default=lambda x: x.tolist() if isinstance(x, np.generic) else str(x),
    )
)
