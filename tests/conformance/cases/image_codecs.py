"""Images from and to files, and what is cut out of them at random."""

from __future__ import annotations

import numpy as np

from .. import image_files as files
from ..case import Family, row, script
from ..values import const, f32, i32, ints, lit, num

# -- JPEG -------------------------------------------------------------------------------------------


def text(contents):
    return lit(contents, "string")


ACCURATE = dict(dct_method="INTEGER_ACCURATE")
PLAIN = dict(fancy_upscaling=False)
JPEGS = ("JPEG", "JPEG_FULL_COLOUR", "JPEG_GREY", "JPEG_INKS", "JPEG_PROGRESSIVE")
rows = []
for name in JPEGS:
    contents = getattr(files, name)
    label = name[5:].lower() or "usual"
    ways = (("as usual", {}), ("accurate", ACCURATE), ("plain", PLAIN))
    for how, attrs in ways:
        rows += [
            row("DecodeJpeg", "%s, %s" % (label, how), "uint8", contents=text(contents), **attrs),
            row(
                "DecodeJpeg",
                "%s, %s, in colours" % (label, how),
                "uint8",
                contents=text(contents),
                channels=3,
                **attrs,
            ),
        ]
    rows += [
        row("ExtractJpegShape", label, "int32", contents=text(contents)),
        row(
            "DecodeJpeg",
            "%s, as grey" % label,
            "uint8",
            contents=text(contents),
            channels=1,
            error_="InvalidArgumentError" if name == "JPEG_INKS" else None,
            **ACCURATE,
        ),
    ]
for ratio in (2, 4, 8):
    for name in ("JPEG_FULL_COLOUR", "JPEG_GREY"):
        rows.append(
            row(
                "DecodeJpeg",
                "%s by %d" % (name[5:].lower(), ratio),
                "uint8",
                contents=text(getattr(files, name)),
                ratio=ratio,
                **ACCURATE,
            )
        )
rows += [
    row("ExtractJpegShape", "wide", "int64", contents=text(files.JPEG), output_type="int64"),
    row(
        "ExtractJpegShape",
        "cut",
        "int32",
        contents=text(files.JPEG[:80]),
        error_="InvalidArgumentError",
    ),
    row("DecodeJpeg", "is PNG", "uint8", contents=text(files.PNG)),
    row("DecodeJpeg", "is GIF", "uint8", contents=text(files.GIF)),
    row(
        "DecodeAndCropJpeg",
        "",
        "uint8",
        contents=text(files.JPEG_FULL_COLOUR),
        crop_window=const([2, 3, 5, 6]),
        **ACCURATE,
    ),
    row(
        "DecodeAndCropJpeg",
        "in colours",
        "uint8",
        contents=text(files.JPEG_GREY),
        crop_window=const([0, 0, 10, 13]),
        channels=3,
        **ACCURATE,
    ),
]
for label, window in (("beyond", [2, 3, 9, 6]), ("before", [-1, 3, 5, 6]), ("empty", [1, 1, 0, 2])):
    rows.append(
        row(
            "DecodeAndCropJpeg",
            label,
            "uint8",
            contents=text(files.JPEG),
            crop_window=const(window),
            error_="InvalidArgumentError",
        )
    )
for label, wrong in (
    ("cut", files.JPEG[:-60]),
    ("cut in the header", files.JPEG[:100]),
    ("empty", b""),
    ("no image", b"certainly no image"),
    ("animated", files.GIF_FRAMES),
    ("BMP", files.BMP),
):
    rows.append(
        row("DecodeJpeg", label, "uint8", contents=text(wrong), error_="InvalidArgumentError")
    )
for label, attrs in (
    ("four channels", dict(channels=4)),
    ("two channels", dict(channels=2)),
    ("by three", dict(ratio=3)),
    ("unknown transform", dict(dct_method="FLOAT")),
):
    rows.append(
        row(
            "DecodeJpeg",
            label,
            "uint8",
            contents=text(files.JPEG),
            error_="InvalidArgumentError",
            **attrs,
        )
    )
rows.append(
    row(
        "DecodeJpeg",
        "two files",
        "uint8",
        contents=lit([files.JPEG, files.JPEG], "string"),
        error_=("ValueError", "InvalidArgumentError"),
    )
)

# -- PNG, GIF, BMP -----------------------------------------------------------------------------------

for name in sorted(n for n in dir(files) if n.startswith("PNG")):
    if name in ("PNG_CUT", "PNG_SHORT", "PNG_HUGE"):
        rows.append(
            row(
                "DecodePng",
                name[4:].lower(),
                "uint8",
                contents=text(getattr(files, name)),
                error_="InvalidArgumentError",
            )
        )
        continue
    for channels in (0, 1, 3, 4):
        for dtype in ("uint8", "uint16"):
            rows.append(
                row(
                    "DecodePng",
                    "%s, %d" % (name[4:].lower() or "usual", channels),
                    dtype,
                    contents=text(getattr(files, name)),
                    channels=channels,
                    dtype=dtype,
                )
            )
rows += [
    row("DecodePng", "is GIF", "uint8", contents=text(files.GIF)),
    row(
        "DecodePng",
        "damaged",
        "uint8",
        contents=text(files.PNG[:50] + b"?" + files.PNG[51:]),
        error_="InvalidArgumentError",
    ),
    row(
        "DecodePng",
        "JPEG in 16 bits",
        "uint16",
        contents=text(files.JPEG_FULL_COLOUR),
        dtype="uint16",
        error_="InvalidArgumentError",
    ),
    row("DecodeGif", "", "uint8", contents=text(files.GIF)),
    row("DecodeGif", "frames", "uint8", contents=text(files.GIF_FRAMES)),
    row("DecodeGif", "a frame of a part", "uint8", contents=text(files.GIF_PART)),
    row("DecodeGif", "is PNG", "uint8", contents=text(files.PNG)),
    row(
        "DecodeGif",
        "cut",
        "uint8",
        contents=text(files.GIF[:-20]),
        error_="InvalidArgumentError",
    ),
    row("DecodeBmp", "", "uint8", contents=text(files.BMP), channels=3),
    row("DecodeBmp", "grey", "uint8", contents=text(files.BMP_GREY), channels=1),
    row("DecodeBmp", "opacity", "uint8", contents=text(files.BMP_OPACITY), channels=4),
    row("DecodeBmp", "as it is", "uint8", contents=text(files.BMP_OPACITY)),
    row(
        "DecodeBmp",
        "cut",
        "uint8",
        contents=text(files.BMP[:-9]),
        error_="InvalidArgumentError",
    ),
    row(
        "DecodeBmp",
        "other channels",
        "uint8",
        contents=text(files.BMP),
        channels=4,
        error_="InvalidArgumentError",
    ),
    row("DecodeBmp", "short", "uint8", contents=text(b"BM"), error_="InvalidArgumentError"),
]

# -- into files --------------------------------------------------------------------------------------

COLOURS = ints(0, 256, 9, 11, 3).typed("uint8")
GREYS = ints(0, 256, 9, 11, 1).typed("uint8")
for label, attrs in (
    ("", dict()),
    ("rough", dict(quality=20)),
    ("roughest", dict(quality=0)),
    ("best", dict(quality=100)),
    ("progressive", dict(progressive=True)),
    ("small", dict(optimize_size=True)),
    ("full colour", dict(chroma_downsampling=False)),
    ("by centimeter", dict(density_unit="cm", x_density=70, y_density=1000)),
    ("with a text", dict(xmp_metadata="<x:xmpmeta>of no meaning</x:xmpmeta>")),
    ("as colours", dict(format="rgb")),
):
    rows.append(row("EncodeJpeg", label, "string", image=COLOURS, **attrs))
rows += [
    row("EncodeJpeg", "grey", "string", image=GREYS),
    row("EncodeJpeg", "as grey", "string", image=GREYS, format="grayscale"),
    row("EncodeJpegVariableQuality", "", "string", images=COLOURS, quality=i32(40)),
    row("EncodeJpegVariableQuality", "grey", "string", images=GREYS, quality=i32(0)),
]
for label, image, attrs in (
    ("quality", COLOURS, dict(quality=101)),
    ("no such channels", ints(0, 9, 3, 3, 2).typed("uint8"), dict()),
    ("channels of another format", GREYS, dict(format="rgb")),
):
    rows.append(
        row("EncodeJpeg", label, "string", image=image, error_="InvalidArgumentError", **attrs)
    )
rows += [
    row(
        "EncodeJpeg",
        "two axes",
        "string",
        image=ints(0, 9, 3, 3).typed("uint8"),
        error_="ValueError",
    ),
    row(
        "EncodePng",
        "five channels",
        "string",
        image=ints(0, 9, 3, 3, 5).typed("uint8"),
        error_="InvalidArgumentError",
    ),
    row(
        "EncodePng",
        "compression",
        "string",
        image=COLOURS,
        compression=10,
        error_="InvalidArgumentError",
    ),
    row(
        "EncodePng",
        "empty",
        "string",
        image=ints(0, 9, 0, 3, 3).typed("uint8"),
        error_="InternalError",
    ),
]


@script("EncodePng", "DecodePng", eager=True)
def png_there_and_back(g):
    for dtype in ("uint8", "uint16"):
        for channels in (1, 2, 3, 4):
            image = g.feed(
                np.arange(35 * channels).reshape(5, 7, channels) ** 3
                % 251
                * (257 if dtype == "uint16" else 1),
                dtype,
            )
            yield g.run(g.raw.DecodePng(contents=g.raw.EncodePng(image=image), dtype=dtype))


# -- parts of images ---------------------------------------------------------------------------------

for label, attrs in (
    ("", dict()),
    ("in pixels", dict(normalized=False)),
    ("from the corner", dict(centered=False)),
    ("in pixels from the corner", dict(normalized=False, centered=False)),
):
    inside = [[0.1, -0.1], [0.0, 0.2]] if attrs.get("centered", True) else [[0.5, 0.4], [0.45, 0.6]]
    if "normalized" in attrs:
        inside = [[1.0, -1.5], [0.0, 2.2]] if "centered" not in attrs else [[3.1, 4.0], [4.0, 3.0]]
    beyond = [[0.9, -0.9], [-0.8, 0.1]]
    rows += [
        row(
            "ExtractGlimpse",
            label,
            input=num(2, 7, 8, 2),
            size=const([3, 2]),
            offsets=f32(inside),
            grad_=False,
            **attrs,
        ),
        row(
            "ExtractGlimpse",
            label + " beyond",
            input=num(2, 7, 8, 2),
            size=const([3, 4]),
            offsets=f32(beyond),
            uniform_noise=False,
            noise="zero",
            grad_=False,
            **attrs,
        ),
    ]
rows += [
    row(
        "ExtractGlimpse",
        "far beyond",
        input=num(1, 4, 5, 1),
        size=const([3, 2]),
        offsets=f32([[-9.0, 9.0]]),
        uniform_noise=False,
        noise="zero",
        grad_=False,
    ),
    row(
        "ExtractGlimpse",
        "larger than the image",
        input=num(1, 4, 5, 1),
        size=const([6, 9]),
        offsets=f32([[0.0, 0.0]]),
        uniform_noise=False,
        noise="zero",
        grad_=False,
    ),
    row(
        "ExtractGlimpse",
        "noise",
        input=num(2, 4, 5, 2),
        size=const([6, 9]),
        offsets=f32([[0.0, 0.0], [1.0, 1.0]]),
        exact_=False,
        grad_=False,
    ),
    row(
        "ExtractGlimpse",
        "noise of two kinds",
        input=num(2, 4, 5, 2),
        size=const([6, 9]),
        offsets=f32([[0.0, 0.0], [1.0, 1.0]]),
        noise="gaussian",
        error_=("ValueError", "InvalidArgumentError"),
    ),
    row(
        "ExtractGlimpse",
        "offsets of three",
        input=num(2, 4, 5, 2),
        size=const([2, 2]),
        offsets=f32([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]),
        error_="ValueError",
    ),
]

BOXES = [[[0.1, 0.2, 0.6, 0.7], [0.3, 0.1, 0.9, 0.4]]]
SEEDED = dict(seed=3, seed2=5)
for dtype in ("uint8", "int16", "int32", "int64"):
    rows.append(
        row(
            "SampleDistortedBoundingBoxV2",
            "",
            dtype,
            image_size=lit([60, 80, 3]),
            bounding_boxes=f32(BOXES),
            min_object_covered=f32(0.3),
            **SEEDED,
        )
    )
for label, attrs in (
    ("", dict()),
    ("much of it", dict(min_object_covered=0.9, seed=8)),
    ("narrow", dict(aspect_ratio_range=[0.2, 0.3], seed=9)),
    ("one proportion", dict(aspect_ratio_range=[1.0, 1.0], area_range=[0.1, 0.2])),
    ("whole", dict(area_range=[1.0, 1.0], aspect_ratio_range=[1.3, 1.4])),
    ("out of reach", dict(aspect_ratio_range=[50.0, 60.0], area_range=[0.9, 1.0], max_attempts=7)),
    ("once", dict(max_attempts=1, min_object_covered=0.0)),
):
    rows.append(
        row(
            "SampleDistortedBoundingBox",
            label,
            "int32",
            image_size=lit([60, 80, 3]),
            bounding_boxes=f32(BOXES),
            **dict(SEEDED, **attrs),
        )
    )
rows.append(
    row(
        "SampleDistortedBoundingBoxV2",
        "no box",
        "int32",
        image_size=lit([33, 21, 3]),
        bounding_boxes=f32(np.zeros([1, 0, 4])),
        min_object_covered=f32(0.5),
        use_image_if_no_bounding_boxes=True,
        **SEEDED,
    )
)
for label, boxes, attrs in (
    ("no box allowed", np.zeros([1, 0, 4]), dict()),
    ("box beyond", [[[0.0, 0.0, 1.0, 1.5]]], dict()),
    ("area", BOXES, dict(area_range=[0.5, 1.5])),
    ("area of nothing", BOXES, dict(area_range=[0.0, 0.5])),
    ("three proportions", BOXES, dict(aspect_ratio_range=[0.5, 0.6, 0.7])),
    ("no attempt", BOXES, dict(max_attempts=0)),
):
    rows.append(
        row(
            "SampleDistortedBoundingBoxV2",
            label,
            "int32",
            image_size=lit([60, 80, 3]),
            bounding_boxes=f32(boxes),
            min_object_covered=f32(0.3),
            error_="InvalidArgumentError",
            **dict(SEEDED, **attrs),
        )
    )


@script("SampleDistortedBoundingBoxV2")
def distorted_again_and_again(g):
    found = g.raw.SampleDistortedBoundingBoxV2(
        image_size=g.feed([301, 200, 3], "int32"),
        bounding_boxes=g.feed([[[0.2, 0.2, 0.8, 0.8]]], "float32"),
        min_object_covered=g.feed(0.2, "float32"),
        seed=11,
        seed2=12,
    )
    for _ in range(6):
        yield g.run(*found)


CORNERS = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.5, 0.5, 1.2, 1.3], [-0.2, 0, 0.1, 0.2]]
SCORES = [[0.9, 0.2], [0.75, 0.6], [0.6, 0.95], [0.5, 0.1]]
for label, attrs, size in (
    ("", dict(), (3, 5)),
    ("not clipped", dict(clip_boxes=False), (3, 4)),
    ("few", dict(), (1, 1)),
):
    rows.append(
        row(
            "CombinedNonMaxSuppression",
            label,
            boxes=f32(np.array([CORNERS, CORNERS[::-1]])[:, :, None]),
            scores=f32([SCORES, SCORES]),
            max_output_size_per_class=const(size[0]),
            max_total_size=const(size[1]),
            iou_threshold=f32(0.5),
            score_threshold=f32(0.15),
            **attrs,
        )
    )


@script("CombinedNonMaxSuppression", eager=True)
def padded_by_class(g):
    """With sizes that are constants: of others TensorFlow infers negative ones."""
    for total in (3, 9):
        found = g.raw.CombinedNonMaxSuppression(
            boxes=g.feed(np.array([CORNERS, CORNERS[::-1]])[:, :, None]),
            scores=g.feed([SCORES, SCORES]),
            max_output_size_per_class=g.constant(2, "int32"),
            max_total_size=g.constant(total, "int32"),
            iou_threshold=g.feed(0.5),
            score_threshold=g.feed(0.15),
            pad_per_class=True,
        )
        yield g.run(*found)


by_class = np.stack([np.array(CORNERS), np.array(CORNERS) * 0.5], axis=1)[None]
rows += [
    row(
        "CombinedNonMaxSuppression",
        "boxes by class",
        boxes=f32(by_class),
        scores=f32([SCORES]),
        max_output_size_per_class=const(3),
        max_total_size=const(6),
        iou_threshold=f32(0.5),
        score_threshold=f32(0.0),
    ),
    row(
        "CombinedNonMaxSuppression",
        "threshold",
        boxes=f32(by_class),
        scores=f32([SCORES]),
        max_output_size_per_class=const(3),
        max_total_size=const(6),
        iou_threshold=f32(1.5),
        score_threshold=f32(0.0),
        error_="InvalidArgumentError",
    ),
    row(
        "CombinedNonMaxSuppression",
        "boxes of other classes",
        boxes=f32(np.zeros([1, 4, 3, 4])),
        scores=f32([SCORES]),
        max_output_size_per_class=const(3),
        max_total_size=const(6),
        iou_threshold=f32(0.5),
        score_threshold=f32(0.0),
        error_=("ValueError", "InvalidArgumentError"),
    ),
]

FAMILY = Family(
    "image_codecs", rows, [png_there_and_back, distorted_again_and_again, padded_by_class]
)
