"""Files of images as they come from outside: cut short, damaged, lying about their size."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import weft as tf
from tests.conformance import image_files as files

WHOLE = {
    name: value
    for name, value in vars(files).items()
    if isinstance(value, bytes) and name.split("_")[0] in ("JPEG", "PNG", "GIF", "BMP")
}


@pytest.fixture(scope="module")
def decoders():
    """kind -> a function of bytes that decodes them in a session."""
    with tf.Graph().as_default(), tf.Session() as session:
        contents = tf.placeholder(tf.string, [])
        made = {
            "JPEG": tf.image.decode_jpeg(contents),
            "RECOVERED": tf.image.decode_jpeg(contents, try_recover_truncated=True),
            "HALF": tf.image.decode_jpeg(contents, acceptable_fraction=0.5),
            "PNG": tf.image.decode_png(contents),
            "PNG16": tf.image.decode_png(contents, dtype=tf.uint16),
            "GIF": tf.image.decode_gif(contents),
            "BMP": tf.image.decode_bmp(contents),
            "SHAPE": tf.image.extract_jpeg_shape(contents),
        }
        yield {
            kind: lambda data, image=image: session.run(image, {contents: data})
            for kind, image in made.items()
        }


def waves(height, width):
    y, x = np.mgrid[:height, :width]
    channels = [128 + 90 * np.sin(x / 9 + i) + 30 * np.cos(y / (5 + i)) for i in range(3)]
    return np.stack(channels, -1).astype(np.uint8)


def jpeg_of(image, **how):
    out = io.BytesIO()
    Image.fromarray(image).save(out, "JPEG", **how)
    return out.getvalue()


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_files_are_images_or_invalid(decoders, data):
    contents = bytearray(WHOLE[data.draw(st.sampled_from(sorted(WHOLE)))])
    for _ in range(data.draw(st.integers(0, 4))):
        contents[data.draw(st.integers(0, len(contents) - 1))] = data.draw(st.integers(0, 255))
    contents = bytes(contents[: data.draw(st.integers(0, len(contents)))])
    kind = data.draw(st.sampled_from(sorted(decoders)))
    try:
        image = decoders[kind](contents)
    except tf.errors.InvalidArgumentError as e:
        assert "Decode" in str(e) or "ExtractJpegShape" in str(e)
        return
    if kind == "SHAPE":
        assert image.shape == (3,) and (image > 0).all()
    else:
        assert image.ndim == (4 if kind == "GIF" else 3)
        assert image.dtype == (np.uint16 if kind == "PNG16" else np.uint8)


@settings(max_examples=100, deadline=None)
@given(contents=st.binary(max_size=200), kind=st.sampled_from(["JPEG", "PNG", "GIF", "BMP"]))
def test_any_bytes(decoders, contents, kind):
    magic = {"JPEG": b"\xff\xd8\xff", "PNG": files.PNG[:16], "GIF": b"GIF89a", "BMP": b"BM"}[kind]
    for given_ in (contents, magic + contents):
        try:
            decoders[kind](given_)
        except tf.errors.InvalidArgumentError:
            pass


def huge(kind):
    if kind == "JPEG":
        at = files.JPEG.index(b"\xff\xc0")
        return files.JPEG[: at + 5] + b"\xff\xff\xff\xff" + files.JPEG[at + 9 :]
    if kind == "PNG":
        head = b"IHDR" + struct.pack(">II", 30000, 10000) + files.PNG[24:29]
        return files.PNG[:12] + head + struct.pack(">I", zlib.crc32(head)) + files.PNG[33:]
    if kind == "GIF":
        at = files.GIF.index(b",\0\0\0\0")
        return files.GIF[: at + 5] + b"\xff\xff\xff\xff" + files.GIF[at + 9 :]
    return files.BMP[:18] + struct.pack("<ii", 30000, 8000) + files.BMP[26:]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP"])
def test_absurd_sizes_are_refused_before_unpacking(decoders, kind, monkeypatch):
    monkeypatch.setattr(np, "asarray", None)  # by which all pixels come from Pillow
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Decode{kind.capitalize()}"):
        decoders[kind](huge(kind))


def test_what_is_missing_of_a_jpeg(decoders):
    image = waves(96, 80)
    whole = jpeg_of(image, quality=90)
    cut = whole[: len(whole) * 8 // 10]
    full = decoders["JPEG"](whole)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid JPEG data"):
        decoders["JPEG"](cut)
    half = decoders["HALF"](cut)
    read = np.flatnonzero(half.any(axis=(1, 2)))[-1] + 1
    assert 48 <= read < 96
    np.testing.assert_array_equal(half[: read - 8], full[: read - 8])
    with pytest.raises(tf.errors.InvalidArgumentError, match="of 96 rows"):
        decoders["HALF"](whole[: len(whole) * 6 // 10])
    recovered = decoders["RECOVERED"](cut)
    np.testing.assert_array_equal(recovered[: read - 8], full[: read - 8])
    assert recovered[read:].any()


def test_the_usual_jpeg_is_near_the_accurate_one(decoders):
    image = waves(64, 48)
    close = decoders["JPEG"](jpeg_of(image, quality=95)).astype(int)
    assert np.abs(close - image).mean() < 2.5


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_comes_back(decoders, dtype, channels):
    generator = np.random.default_rng(channels)
    most = np.iinfo(dtype).max
    image = generator.integers(0, most, (13, 9, channels), dtype, endpoint=True)
    with tf.Graph().as_default(), tf.Session() as session:
        contents = session.run(tf.image.encode_png(tf.constant(image), compression=3))
    kind = "PNG" if dtype is np.uint8 else "PNG16"
    np.testing.assert_array_equal(decoders[kind](contents), image)
    if dtype is np.uint8:
        with Image.open(io.BytesIO(contents)) as reread:
            np.testing.assert_array_equal(np.asarray(reread), image.squeeze())


def test_wrong_format_says_what_it_got(decoders):
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown format starting with 'BM"):
        decoders["JPEG"](files.BMP)
    with pytest.raises(tf.errors.InvalidArgumentError, match="empty file"):
        decoders["PNG"](b"")


def test_quality_as_an_input():
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.constant(waves(32, 32))
        rough, fine = (tf.image.adjust_jpeg_quality(image, q) for q in (5, 95))
        error = [tf.reduce_mean(tf.abs(tf.to_float(x) - tf.to_float(image))) for x in (rough, fine)]
        worse, better = session.run(error)
        assert worse > 2 * better
        chosen = tf.image.random_jpeg_quality(image, 3, 90, seed=7)
        assert session.run(chosen).shape == (32, 32, 3)
    with pytest.raises(ValueError, match="between 0 and 100"):
        tf.image.random_jpeg_quality(image, -1, 90)


@pytest.fixture(scope="module")
def any_image():
    """A function of bytes and the arguments of `decode_image`."""
    with tf.Graph().as_default(), tf.Session() as session:
        contents = tf.placeholder(tf.string, [])
        made = {}

        def decode(data, **arguments):
            key = tuple(sorted(arguments.items()))
            if key not in made:
                made[key] = tf.image.decode_image(contents, **arguments)
            return session.run(made[key], {contents: data})

        yield decode


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP"])
def test_any_format(any_image, decoders, kind):
    contents = WHOLE[kind]
    image = any_image(contents)
    np.testing.assert_array_equal(image, decoders[kind](contents))
    as_floats = any_image(contents, dtype=tf.float32)
    assert as_floats.dtype == np.float32
    np.testing.assert_allclose(as_floats, image / 255, atol=1e-4)


def test_frames_and_channels(any_image):
    assert any_image(files.GIF_FRAMES).ndim == 4
    first = any_image(files.GIF_FRAMES, expand_animations=False)
    np.testing.assert_array_equal(first, any_image(files.GIF_FRAMES)[0])
    assert any_image(files.PNG, channels=1).shape[-1] == 1
    assert any_image(files.PNG_16_GREY, dtype=tf.uint16).dtype == np.uint16
    for contents, channels, kind in (
        (files.JPEG, 4, "JPEG"),
        (files.GIF, 1, "GIF"),
        (files.BMP, 1, "BMP"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"when decoding {kind} images"):
            any_image(contents, channels=channels)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to decode bytes as"):
        any_image(b"no image at all")
    with pytest.raises(ValueError, match="channels must be in"):
        any_image(files.PNG, channels=2)


def test_is_jpeg():
    with tf.Graph().as_default(), tf.Session() as session:
        found = [tf.io.is_jpeg(contents) for contents in (files.JPEG, files.PNG, b"\xff\xd8\xff")]
        assert session.run(found) == [True, False, True]
