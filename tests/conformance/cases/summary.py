"""Summaries."""

from __future__ import annotations

import glob
import os
import tempfile

import numpy as np

from ..case import Family, row, script
from ..values import f32, lit, num, pos
from .parsing import piece, strings, text

BAD = "InvalidArgumentError"
REALS = ("float32", "float64", "int32", "uint8", "int16", "int8", "int64", "bfloat16", "uint16") + (
    "float16",
)
A, B = piece(1, piece(1, b"a") + b"\x15\0\0\x80?"), piece(1, piece(1, b"b") + b"\x15\0\0\0@")

rows = [
    row("ScalarSummary", "", REALS, grad_=False, tags=text(b"loss"), values=pos()),
    row("ScalarSummary", "several", tags=strings(b"a", b"b"), values=num(2), grad_=False),
    row("ScalarSummary", "one", tags=strings(b"a"), values=num(), grad_=False, error_=BAD),
    row("ScalarSummary", "unlike", tags=text(b"a"), values=num(2), grad_=False, error_=BAD),
    row("HistogramSummary", "", REALS, grad_=False, tag=text(b"h"), values=num(3, 7)),
    row("HistogramSummary", "many", grad_=False, tag=text(b"h"), values=num(500)),
    row(
        "HistogramSummary",
        "far apart",
        ("float64",),
        grad_=False,
        tag=text(b"h"),
        values=lit([0.0, -0.0, 1e-12, -1e-12, 1e-30, 1e19, 1e300, -1e25, 5.0, 5.0]),
    ),
    row("HistogramSummary", "none", grad_=False, tag=text(b"h"), values=lit([])),
    row(
        "HistogramSummary", "nan", grad_=False, tag=text(b"h"), values=f32([1, np.nan]), error_=BAD
    ),
    row("HistogramSummary", "inf", grad_=False, tag=text(b"h"), values=f32([np.inf]), error_=BAD),
    row(
        "HistogramSummary", "tags", grad_=False, tag=strings(b"h", b"i"), values=num(2), error_=BAD
    ),
    row(
        "TensorSummary",
        "",
        ("float32", "string"),
        grad_=False,
        exact_=False,  # the name of the operation is in it
        tensor=num(2),
        description="d",
    ),
    row(
        "TensorSummaryV2",
        "",
        ("float32", "int64", "string", "bool"),
        grad_=False,
        tag=text(b"t"),
        tensor=num(2, 3),
        serialized_summary_metadata=text(piece(2, b"shown")),
    ),
    row(
        "TensorSummaryV2",
        "without metadata",
        grad_=False,
        tag=text(b"t"),
        tensor=num(),
        serialized_summary_metadata=text(b""),
    ),
    row("MergeSummary", "", grad_=False, inputs=[text(A), text(B)]),
    row("MergeSummary", "one of several", grad_=False, inputs=[strings(A, B)]),
    row("MergeSummary", "twice", grad_=False, inputs=[text(A), text(A)], error_=BAD),
    row("MergeSummary", "no summary", grad_=False, inputs=[text(b"\xff")], error_=BAD),
    row(  # PNG files of one picture differ from one library to the next
        "ImageSummary",
        "",
        ("float32", "float16", "float64", "uint8"),
        grad_=False,
        exact_=False,
        tag=text(b"i"),
        tensor=num(2, 3, 4, 3),
    ),
    row(
        "ImageSummary",
        "two channels",
        grad_=False,
        tag=text(b"i"),
        tensor=num(1, 2, 2, 2),
        error_=BAD,
    ),
    row("ImageSummary", "empty", grad_=False, tag=text(b"i"), tensor=num(1, 0, 2, 1), error_=BAD),
    row(
        "AudioSummaryV2",
        grad_=False,
        tag=text(b"s"),
        tensor=num(2, 5, 2),
        sample_rate=f32(8000.4),
    ),
    row(
        "AudioSummaryV2",
        "of one channel",
        grad_=False,
        tag=text(b"s"),
        tensor=num(2, 5),
        sample_rate=f32(0.2),
        max_outputs=1,
    ),
    row(
        "AudioSummaryV2",
        "no rate",
        grad_=False,
        tag=text(b"s"),
        tensor=num(2, 5),
        sample_rate=f32(0.0),
        error_=BAD,
    ),
]

scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


@declare(
    "SummaryWriter",
    "CreateSummaryFileWriter",
    "WriteScalarSummary",
    "WriteHistogramSummary",
    "WriteImageSummary",
    "WriteAudioSummary",
    "WriteSummary",
    "WriteRawProtoSummary",
    "WriteGraphSummary",
    "ImportEvent",
    "FlushSummaryWriter",
    "CloseSummaryWriter",
    round_trip=False,
)
def writers(g):
    tf, raw = g.tf, g.raw
    folder = tempfile.mkdtemp()
    writer = raw.SummaryWriter(shared_name="a writer")
    made = raw.CreateSummaryFileWriter(
        writer=writer, logdir=folder, max_queue=2, flush_millis=100000, filename_suffix=".x"
    )
    step = g.feed(7, "int64")
    x = g.feed([[[[1.0], [0.5]]]])
    sound = g.feed([[0.5, 0.25]])
    given = dict(writer=writer, step=step)
    writes = [
        raw.WriteScalarSummary(tag="scalar", value=g.feed(3.0), **given),
        raw.WriteHistogramSummary(tag="histogram", values=x, **given),
        raw.WriteImageSummary(tag="image", tensor=x, bad_color=np.array([255], np.uint8), **given),
        raw.WriteAudioSummary(tag="audio", tensor=sound, sample_rate=4000.0, **given),
        raw.WriteSummary(tag="t", tensor=x, summary_metadata=piece(2, b"shown"), **given),
        raw.WriteRawProtoSummary(tensor=g.feed([A, B], "string"), **given),
        raw.WriteGraphSummary(tensor=g.feed(b"", "string"), **given),
        raw.ImportEvent(writer=writer, event=g.feed(b"\x10\x05", "string")),
    ]
    yield g.run(writes[0])  # nobody has opened it
    yield g.run(made)
    for write in writes:
        yield g.run(write)
    yield g.run(raw.FlushSummaryWriter(writer=writer))
    yield g.run(raw.CloseSummaryWriter(writer=writer))
    yield g.run(writes[0])

    def written():
        (path,) = glob.glob(os.path.join(folder, "events.out.tfevents.*.x"))
        found = list(tf.train.summary_iterator(path))
        for event in found:
            event.wall_time = 0
            for value in event.summary.value:
                value.image.ClearField("encoded_image_string")
        return np.array([event.SerializeToString() for event in found], object)

    yield g.run(tf.py_func(written, [], tf.string))


FAMILY = Family("summary", rows, scripts)
