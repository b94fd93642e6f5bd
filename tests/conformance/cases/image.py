"""Images: sizes, colours, boxes."""

from __future__ import annotations

from ..case import Family, row, script
from ..values import INTS, SINGLES, T, between, const, f32, i32, lit, num, zeros

# What ResizeX takes: bfloat16 by the linear one only
NUMBERS = ("float16", "float32", "float64", "uint8", "uint16") + INTS
WITHOUT_BFLOAT = ("float16",) + SINGLES
HALF = ("float16", "float32")
# TensorFlow's, when it learns of wrong channels late, is hardly one of preconditions.
CHANNELS = ("ValueError", "InvalidArgumentError")

# -- resizing ----------------------------------------------------------------------------------------

SIZES = (
    # label, image, size
    ("", (2, 4, 5, 2), [7, 3]),
    ("same", (1, 3, 4, 1), [3, 4]),
    ("much smaller", (1, 9, 7, 1), [2, 2]),
    ("of one pixel", (1, 1, 1, 3), [3, 2]),
    ("to one pixel", (1, 4, 5, 1), [1, 1]),
    ("much larger", (1, 2, 3, 1), [11, 8]),
    ("no images", (0, 3, 4, 2), [5, 6]),
)
PLACES = (
    ("", dict()),
    ("corners", dict(align_corners=True)),
    ("centres", dict(half_pixel_centers=True)),
)


def named(*parts):
    return ", ".join(part for part in parts if part)


rows = []
for op, dtypes in (
    ("ResizeBilinear", NUMBERS + ("bfloat16",)),
    ("ResizeBicubic", NUMBERS),
    ("ResizeNearestNeighbor", NUMBERS),
    ("ResizeArea", NUMBERS),
):
    for label, image, size in SIZES:
        for place, attrs in PLACES:
            if op == "ResizeArea" and "half_pixel_centers" in attrs:
                continue
            over = dtypes if not label and not place else ("float32",)
            if op in ("ResizeBilinear", "ResizeBicubic"):
                over = tuple(dtype for dtype in over if dtype != "float64")
            rows.append(
                row(op, named(label, place), over, images=num(*image), size=const(size), **attrs)
            )
    if op in ("ResizeBilinear", "ResizeBicubic"):
        rows.append(  # in float32 none the less
            row(
                op,
                "doubles",
                "float64",
                images=num(2, 4, 5, 2),
                size=const([7, 3]),
                numeric_=False,
                tol_=1e4,
            )
        )
    rows += [
        row(
            op, "size of three", images=num(1, 2, 2, 1), size=const([1, 2, 3]), error_="ValueError"
        ),
        row(op, "of three axes", images=num(2, 2, 1), size=const([1, 2]), error_="ValueError"),
        row(
            op,
            "size is zero",
            images=num(1, 2, 2, 1),
            size=i32([0, 3]),
            error_="InvalidArgumentError",
        ),
        row(
            op,
            "image is empty",
            images=num(1, 0, 2, 1),
            size=const([2, 3]),
            error_="InvalidArgumentError",
        ),
    ]
    if op != "ResizeArea":
        rows.append(
            row(
                op,
                "corners and centres",
                images=num(1, 2, 2, 1),
                size=const([2, 3]),
                align_corners=True,
                half_pixel_centers=True,
                error_="InvalidArgumentError",
            )
        )
for op, dtypes in (("ResizeBilinearGrad", HALF), ("ResizeBicubicGrad", ("float32",))):
    for label, image, size in SIZES:
        for place, attrs in PLACES:
            rows.append(
                row(
                    op,
                    named(label, place),
                    dtypes if not label and not place else ("float32",),
                    grads=num(image[0], size[0], size[1], image[3]).typed("float32"),
                    original_image=zeros(*image),
                    grad_="own" if op == "ResizeBilinearGrad" else False,
                    **attrs,
                )
            )
    rows.append(
        row(
            op,
            "doubles",  # times weights of float32
            "float64",
            grads=num(2, 7, 3, 2).typed("float32"),
            original_image=zeros(2, 4, 5, 2),
            grad_=False,
            tol_=1e4,
        )
    )
for label, image, size in SIZES:
    for place, attrs in PLACES:
        rows.append(
            row(
                "ResizeNearestNeighborGrad",
                named(label, place),
                ("float16", "float32", "float64", "uint8", "int8", "int32")
                if not label and not place
                else ("float32",),
                grads=num(image[0], size[0], size[1], image[3]),
                size=const(list(image[1:3])),
                **attrs,
            )
        )

KERNELS = "lanczos1 lanczos3 lanczos5 gaussian box triangle keyscubic mitchellcubic".split()
for kernel in KERNELS:
    for antialias in (True, False):
        attrs = dict(kernel_type=kernel, antialias=antialias)
        label = kernel + ("" if antialias else ", not smoothed")
        rows += [
            row(
                "ScaleAndTranslate",
                label,
                images=num(2, 6, 5, 2),
                size=const([4, 7]),
                scale=const(f32([0.6, 1.5])),
                translation=const(f32([0.4, -0.7])),
                grad_=["images"],
                tol_=4,
                **attrs,
            ),
            row(
                "ScaleAndTranslateGrad",
                label,
                grads=num(2, 4, 7, 2),
                original_image=zeros(2, 6, 5, 2),
                scale=const(f32([0.6, 1.5])),
                translation=const(f32([0.4, -0.7])),
                grad_=False,
                tol_=4,
                **attrs,
            ),
        ]
rows += [
    row(
        "ScaleAndTranslate",
        "",
        NUMBERS,
        images=num(1, 6, 5, 2),
        size=const([4, 7]),
        scale=const(f32([0.6, 1.5])),
        translation=const(f32([0.4, -0.7])),
        grad_=False,  # TensorFlow's mixes up the dtypes
        tol_=4,
    ),
    row(
        "ScaleAndTranslate",
        "beyond the image",
        images=num(1, 3, 3, 1),
        size=const([6, 6]),
        scale=const(f32([1.0, 1.0])),
        translation=const(f32([2.0, -2.0])),
        grad_=["images"],
    ),
    row(
        "ScaleAndTranslate",
        "scale is zero",
        images=num(1, 3, 3, 1),
        size=const([6, 6]),
        scale=f32([1.0, 0.0]),
        translation=f32([0.0, 0.0]),
        error_="InvalidArgumentError",
    ),
    row(
        "ScaleAndTranslate",
        "unknown kernel",
        images=num(1, 3, 3, 1),
        size=const([6, 6]),
        scale=f32([1.0, 1.0]),
        translation=f32([0.0, 0.0]),
        kernel_type="sinc",
        error_="InvalidArgumentError",
    ),
]

# -- colours -----------------------------------------------------------------------------------------

EDGES = [
    [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.5, 0.5, 0.5], [1.0, 0.0, 0.0]],
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]],
    [[1.0, 0.0, 1.0], [0.2, 0.2, 0.7], [0.7, 0.2, 0.2], [0.2, 0.7, 0.2]],
]
rows += [
    row("RGBToHSV", "", images=between(0.02, 0.98, 3, 4, 3), tol_=4),
    row("RGBToHSV", "grey and pure", images=lit(EDGES), numeric_=False),
    # Its gradient multiplies float64 and float32 in TensorFlow
    row("RGBToHSV", "double", "float64", images=between(0.02, 0.98, 3, 4, 3), grad_="own"),
    row("RGBToHSV", "grey and pure doubles", "float64", images=lit(EDGES), grad_=False),
    row("RGBToHSV", "one pixel", images=f32([0.25, 0.5, 0.125])),
    row("RGBToHSV", "none", images=zeros(0, 2, 3)),
    row("RGBToHSV", "four channels", images=zeros(2, 2, 4), error_=CHANNELS),
    row("HSVToRGB", "", SINGLES, images=between(0.02, 0.98, 3, 4, 3), tol_=4),
    row("HSVToRGB", "edges", SINGLES, images=lit(EDGES)),
    row("HSVToRGB", "none", images=zeros(0, 2, 3)),
    row("HSVToRGB", "two channels", images=zeros(2, 2, 2), error_=CHANNELS),
    row("AdjustHue", "", HALF, images=between(0.02, 0.98, 2, 3, 3), delta=f32(0.3), grad_=False),
    row("AdjustHue", "back", images=between(0, 1, 2, 2, 3, 3), delta=f32(-0.7), grad_=False),
    row("AdjustHue", "grey and pure", images=lit(EDGES), delta=f32(0.1), grad_=False),
    row("AdjustHue", "out of bounds", images=num(2, 3, 3), delta=f32(0.25), grad_=False),
    row("AdjustHue", "two axes", images=zeros(3, 3), delta=f32(0.1), error_="ValueError"),
    row(
        "AdjustHue",
        "one channel",
        images=zeros(2, 3, 1),
        delta=f32(0.1),
        error_=("InvalidArgumentError", "ValueError"),
    ),
]
for scale in (0.0, 0.5, 1.7):
    rows += [
        row(
            "AdjustSaturation",
            "by %s" % scale,
            HALF,
            images=between(0.02, 0.98, 2, 3, 3),
            scale=f32(scale),
            grad_=False,
        ),
        row(
            "AdjustSaturation",
            "grey and pure by %s" % scale,
            images=lit(EDGES),
            scale=f32(scale),
            grad_=False,
        ),
        row(
            "AdjustContrastv2",
            "by %s" % scale,
            HALF,
            images=num(2, 3, 4, 2),
            contrast_factor=f32(scale),
            grad_=False,
        ),
    ]
rows += [
    row(
        "AdjustSaturation",
        "of no axes",
        images=lit(0.5),
        scale=f32(0.1),
        error_="ValueError",
    ),
    row(
        "AdjustSaturation",
        "scale is a vector",
        images=zeros(2, 3, 3),
        scale=f32([0.1]),
        error_=("InvalidArgumentError", "ValueError"),
    ),
    row("AdjustContrastv2", "one", images=num(3, 4, 5), contrast_factor=f32(2.0), grad_=False),
    row(
        "AdjustContrastv2",
        "two axes",
        images=zeros(3, 3),
        contrast_factor=f32(0.1),
        error_="ValueError",
    ),
]

# -- boxes -------------------------------------------------------------------------------------------

CORNERS = [
    [0.05, 0.1, 0.7, 0.93],
    [-0.2, 0.3, 0.5, 1.4],
    [0.8, 0.9, 0.1, 0.2],
    [0.3, 0.4, 0.3, 0.4],
]
WHICH = [0, 1, 1, 0]
for method in ("bilinear", "nearest"):
    for label, size in (("", [3, 4]), (" to one pixel", [1, 1])):
        rows += [
            row(
                "CropAndResize",
                method + label,
                NUMBERS if not label else ("float32",),
                image=num(2, 5, 4, 2),
                boxes=f32(CORNERS),
                box_ind=i32(WHICH),
                crop_size=const(size),
                method=method,
                extrapolation_value=0.5,
                numeric_=False,
            ),
            row(
                "CropAndResizeGradImage",
                method + label,
                WITHOUT_BFLOAT if not label else ("float32",),
                grads=num(4, size[0], size[1], 2).typed("float32"),
                boxes=f32(CORNERS),
                box_ind=i32(WHICH),
                image_size=const([2, 5, 4, 2]),
                T=T,
                method=method,
                grad_=False,
            ),
        ]
for label, size in (("", [3, 4]), ("to one pixel", [1, 1])):
    rows.append(
        row(
            "CropAndResizeGradBoxes",
            label,
            NUMBERS if not label else ("float32",),
            grads=num(4, size[0], size[1], 2).typed("float32"),
            image=num(2, 5, 4, 2),
            boxes=f32(CORNERS),
            box_ind=i32(WHICH),
            grad_=False,
        )
    )
rows += [
    row(
        "CropAndResize",
        "smooth",
        image=num(1, 6, 6, 1),
        boxes=f32([[0.11, 0.23, 0.71, 0.84]]),
        box_ind=i32([0]),
        crop_size=const([2, 3]),
    ),
    row(
        "CropAndResize",
        "no boxes",
        image=num(1, 3, 3, 1),
        boxes=zeros(0, 4),
        box_ind=zeros(0).typed("int32"),
        crop_size=const([2, 3]),
        grad_=False,
    ),
    row(
        "CropAndResize",
        "no such image",
        image=num(1, 3, 3, 1),
        boxes=f32([[0.0, 0.0, 1.0, 1.0]]),
        box_ind=i32([1]),
        crop_size=const([2, 3]),
        error_=("OutOfRangeError", "InvalidArgumentError"),
    ),
    row(
        "CropAndResize",
        "boxes of three",
        image=num(1, 3, 3, 1),
        boxes=zeros(1, 3),
        box_ind=i32([0]),
        crop_size=const([2, 3]),
        error_="ValueError",
    ),
    row(
        "CropAndResize",
        "more boxes than indices",
        image=num(1, 3, 3, 1),
        boxes=zeros(2, 4),
        box_ind=i32([0]),
        crop_size=const([2, 3]),
        error_="ValueError",
    ),
]
OUTLINES = [
    [[0.1, 0.2, 0.9, 0.8], [0.0, 0.0, 1.0, 1.0], [0.5, 0.5, 0.2, 0.2]],
    [[-0.5, -0.5, 0.6, 0.6], [1.2, 1.3, 1.5, 1.6], [0.4, 0.4, 0.4, 0.4]],
]
for depth in (1, 3, 4):  # float alone: of half TensorFlow dies
    rows += [
        row(
            "DrawBoundingBoxes",
            "%d channels" % depth,
            images=between(0, 1, 2, 6, 7, depth),
            boxes=f32(OUTLINES),
            grad_=False,
        ),
        row(
            "DrawBoundingBoxesV2",
            "%d channels" % depth,
            images=between(0, 1, 2, 6, 7, depth),
            boxes=f32(OUTLINES),
            colors=between(0, 1, 2, depth).typed("float32"),
            grad_=False,
        ),
    ]
rows += [
    row(
        "DrawBoundingBoxesV2",
        "fewer colours than channels",
        images=between(0, 1, 2, 6, 7, 3),
        boxes=f32(OUTLINES),
        colors=zeros(1, 2),
        error_="InvalidArgumentError",
    ),
    row(
        "DrawBoundingBoxes",
        "two channels",
        images=zeros(1, 3, 3, 2),
        boxes=f32([[[0.0, 0.0, 1.0, 1.0]]]),
        error_="InvalidArgumentError",
    ),
    row(
        "DrawBoundingBoxes",
        "boxes of three",
        images=zeros(1, 3, 3, 3),
        boxes=zeros(1, 1, 3),
        error_="ValueError",
    ),
]

PILE = [
    [0.0, 0.0, 1.0, 1.0],
    [0.0, 0.1, 1.0, 1.1],
    [0.0, -0.1, 1.0, 0.9],
    [0.0, 10.0, 1.0, 11.0],
    [0.0, 10.1, 1.0, 11.1],
    [1.0, 101.0, 0.0, 100.0],
    [0.0, 0.0, 0.0, 5.0],
]
SCORES = [0.9, 0.75, 0.6, 0.95, 0.5, 0.3, 0.5]


def pile(version, label, over=HALF, **arguments):
    given = dict(boxes=lit(PILE), scores=lit(SCORES), max_output_size=const(4), grad_=False)
    if version > 1:
        given.update(iou_threshold=lit(0.5))
    if version > 2:
        given.update(score_threshold=lit(0.0))
    if version > 4:
        given.update(soft_nms_sigma=lit(0.0))
    given.update(arguments)
    op = "NonMaxSuppression" + ("V%d" % version if version > 1 else "")
    return row(op, label, over if version > 1 else ("float32",), **given)


for version in (1, 2, 3, 4, 5):
    rows += [
        pile(version, ""),
        pile(version, "few", max_output_size=const(2)),
        pile(version, "more than there are", max_output_size=const(30)),
        pile(version, "none wanted", ("float32",), max_output_size=const(0)),
        pile(version, "none there", ("float32",), boxes=zeros(0, 4), scores=zeros(0)),
        pile(version, "fewer scores", ("float32",), scores=lit(SCORES[:3]), error_="ValueError"),
        pile(version, "boxes of three", ("float32",), boxes=zeros(7, 3), error_="ValueError"),
    ]
    if version > 1:
        for threshold in (0.0, 0.85, 1.0):
            rows.append(
                pile(version, "overlap %s" % threshold, ("float32",), iou_threshold=lit(threshold))
            )
        rows.append(
            pile(
                version,
                "bad threshold",
                ("float32",),
                iou_threshold=lit(1.5),
                error_="InvalidArgumentError",
            )
        )
    if version > 2:
        rows.append(pile(version, "least score", ("float32",), score_threshold=lit(0.55)))
    if version > 3:
        rows.append(pile(version, "padded", pad_to_max_output_size=True, max_output_size=const(9)))
for sigma in (0.2, 0.5, 3.0):
    rows += [
        pile(
            5,
            "softly by %s%s" % (sigma, ", all overlaps" if overlap == 1.0 else ""),
            soft_nms_sigma=lit(sigma),
            iou_threshold=lit(overlap),
            score_threshold=lit(0.1),
            max_output_size=const(7),
        )
        for overlap in (0.5, 1.0)
    ]
rows += [
    row(
        "NonMaxSuppressionWithOverlaps",
        label,
        overlaps=f32([[1.0, 0.9, 0.2], [0.9, 1.0, 0.6], [0.2, 0.6, 1.0]]),
        scores=f32([0.4, 0.5, 0.3]),
        max_output_size=const(3),
        overlap_threshold=f32(threshold),
        score_threshold=f32(least),
        grad_=False,
    )
    for label, threshold, least in (
        ("", 0.5, 0.0),
        ("all stay", 0.95, 0.0),
        ("least score", 0.7, 0.35),
    )
]
rows += [
    row(
        "NonMaxSuppressionWithOverlaps",
        "not square",
        overlaps=zeros(3, 2),
        scores=zeros(3),
        max_output_size=const(3),
        overlap_threshold=f32(0.5),
        score_threshold=f32(0.0),
        error_=("InvalidArgumentError", "ValueError"),
    ),
]


@script("AdjustContrast")
def old_contrast(g):
    """Of the oldest graphs only."""
    pixels = [[[[1, 9], [3, 2]], [[0, 5], [7, 4]]], [[[8, 2], [6, 6]], [[2, 1], [3, 5]]]]
    for dtype in ("float32", "float64", "uint8", "int8", "int16", "int32"):
        images = g.feed(pixels, dtype)
        numbers = dict(contrast_factor=g.feed(1.5), min_value=g.feed(-1.0), max_value=g.feed(8.0))
        found = g.old_op("AdjustContrast", dict(images=images, **numbers), 1, T=images.dtype)
        yield g.run(*found)


FAMILY = Family("image", rows, [old_contrast])
