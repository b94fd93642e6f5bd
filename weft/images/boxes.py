"""Boxes on images, as public functions."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.random_seed import get_seed
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw


@export("image.crop_and_resize")
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Any:
    """Cuts boxes, given in parts of the image, out of a batch of images and resizes them to one size."""
    if box_indices is not None:
        if box_ind is not None:
            raise ValueError("Cannot specify both 'box_indices' and 'box_ind'")
        box_ind = box_indices
    return raw.CropAndResize(
        image,
        boxes,
        box_ind,
        crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )


@export("image.draw_bounding_boxes")
def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Any:
    """Draws the outlines of boxes, given in parts of the image."""
    if colors is None:
        return raw.DrawBoundingBoxes(images, boxes, name=name)
    return raw.DrawBoundingBoxesV2(images, boxes, colors, name=name)


def _threshold(value: Any, name: str) -> Any:
    return convert_to_tensor(value, dtype=dtypes.float32, name=name)


@export("image.non_max_suppression")
def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Any:
    """The positions of the boxes that stay when each suppresses those that overlap it and score less."""
    with name_scope(name, "non_max_suppression"):
        return raw.NonMaxSuppressionV3(
            boxes,
            scores,
            max_output_size,
            _threshold(iou_threshold, "iou_threshold"),
            _threshold(score_threshold, "score_threshold"),
        )


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Any, Any]:
    """As `non_max_suppression`, with the scores; with a sigma, overlapping boxes lose score rather than go."""
    with name_scope(name, "non_max_suppression_with_scores"):
        boxes = convert_to_tensor(boxes)
        dtype = boxes.dtype.base_dtype
        indices, kept, _ = raw.NonMaxSuppressionV5(
            boxes,
            scores,
            max_output_size,
            convert_to_tensor(iou_threshold, dtype=dtype, name="iou_threshold"),
            convert_to_tensor(score_threshold, dtype=dtype, name="score_threshold"),
            convert_to_tensor(soft_nms_sigma, dtype=dtype, name="soft_nms_sigma"),
            pad_to_max_output_size=False,
        )
        return indices, kept


@export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """As `non_max_suppression`, with the number of boxes; padded to a fixed size if asked for."""
    with name_scope(name, "non_max_suppression_padded"):
        indices, count = raw.NonMaxSuppressionV4(
            boxes,
            scores,
            max_output_size,
            _threshold(iou_threshold, "iou_threshold"),
            _threshold(score_threshold, "score_threshold"),
            pad_to_max_output_size=pad_to_max_output_size,
        )
        return indices, count


@export("image.non_max_suppression_overlaps")
def non_max_suppression_with_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Any:
    """As `non_max_suppression`, where the overlap of each pair of boxes is given."""
    with name_scope(name, "non_max_suppression_overlaps"):
        return raw.NonMaxSuppressionWithOverlaps(
            overlaps,
            scores,
            max_output_size,
            _threshold(overlap_threshold, "overlap_threshold"),
            _threshold(score_threshold, "score_threshold"),
        )


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any:
    """The best boxes of all classes of each image, after suppression in each class; padded with zeros."""
    with name_scope(name, "combined_non_max_suppression"):
        return raw.CombinedNonMaxSuppression(
            boxes,
            scores,
            max_output_size_per_class,
            max_total_size,
            _threshold(iou_threshold, "iou_threshold"),
            _threshold(score_threshold, "score_threshold"),
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )


def _given(**attrs: Any) -> dict[str, Any]:
    """The attributes that a caller named; the others have the op's defaults."""
    return {name: value for name, value in attrs.items() if value is not None}


@export("image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """A random crop that keeps enough of some box: begin and size for `tf.slice`, and the crop as a box."""
    with name_scope(name, "sample_distorted_bounding_box"):
        return raw.SampleDistortedBoundingBoxV2(
            image_size,
            bounding_boxes,
            _threshold(min_object_covered, "min_object_covered"),
            name=name,
            **_given(
                seed=seed,
                seed2=seed2,
                aspect_ratio_range=aspect_ratio_range,
                area_range=area_range,
                max_attempts=max_attempts,
                use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes,
            ),
        )


@export("compat.v2.image.sample_distorted_bounding_box")
def sample_distorted_bounding_box_v2(
    image_size: Any,
    bounding_boxes: Any,
    seed: int = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """As `tf.image.sample_distorted_bounding_box`, with one seed."""
    first, second = get_seed(seed) if seed else (0, 0)
    return sample_distorted_bounding_box(
        image_size,
        bounding_boxes,
        first,
        second,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
        name,
    )


@export("image.extract_glimpse")
def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Any:
    """A window of each image around a point of it, with noise where it reaches beyond the image."""
    return raw.ExtractGlimpse(
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )


@export("compat.v2.image.extract_glimpse")
def extract_glimpse_v2(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Any:
    """As `tf.image.extract_glimpse`, with a choice of noise: uniform, gaussian or zero."""
    return raw.ExtractGlimpse(
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=False,
        noise=noise,
        name=name,
    )
