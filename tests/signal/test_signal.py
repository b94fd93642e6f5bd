"""tf.signal, against SciPy and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
import scipy.signal

import weft as tf

RANDOM = np.random.RandomState(11)


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("name", ["rfft", "rfft2d", "rfft3d"])
@pytest.mark.parametrize("lengths", [None, "shorter", "longer"])
@pytest.mark.parametrize("known", [True, False])
def test_real_transforms(session, name, lengths, known):
    axes = {"rfft": 1, "rfft2d": 2, "rfft3d": 3}[name]
    x = RANDOM.rand(2, *(5, 6, 4)[:axes]).astype(np.float32)
    change = {None: 0, "shorter": -1, "longer": 2}[lengths]
    length = [n + change for n in x.shape[1:]]
    fed = tf.placeholder(tf.float32, x.shape if known else None)
    y = getattr(tf.signal, name)(fed, None if lengths is None else length)
    found = session.run(y, {fed: x})
    cut = x[(slice(None), *(slice(n) for n in length))]
    wanted = np.fft.rfftn(cut, length, axes=range(1, axes + 1))
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    back = getattr(tf.spectral, "i" + name)(y, length)
    padded = np.zeros((2, *length), np.float32)
    padded[tuple(slice(n) for n in cut.shape)] = cut
    np.testing.assert_allclose(session.run(back, {fed: x}), padded, atol=1e-5)


def test_length_of_a_spectrum(session):
    """Without a length the signal is taken to have an even one."""
    fed = tf.placeholder(tf.complex64, None)
    x = RANDOM.rand(2, 5).astype(np.complex64)
    for spectrum in (fed, tf.constant(x)):
        found = session.run(tf.signal.irfft(spectrum), {fed: x})
        np.testing.assert_allclose(found, np.fft.irfft(x), atol=1e-5)


def test_wrong_lengths(session):
    with pytest.raises(ValueError, match="rank 1"):
        tf.signal.rfft(tf.ones([4]), [[4]])
    with pytest.raises(ValueError, match="rank at least 2"):
        tf.signal.rfft2d(tf.ones([4]))


def test_shifts(session):
    x = np.arange(15).reshape(3, 5)
    for axes in (None, 0, (1,), (0, 1)):
        found = session.run([tf.signal.fftshift(x, axes), tf.signal.ifftshift(x, axes)])
        np.testing.assert_array_equal(found[0], np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(found[1], np.fft.ifftshift(x, axes))
    fed = tf.placeholder(tf.int64, [3, None])
    for axes in (None, 1):
        found = session.run(
            [tf.signal.fftshift(fed, axes), tf.signal.ifftshift(fed, axes)], {fed: x}
        )
        np.testing.assert_array_equal(found[0], np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(found[1], np.fft.ifftshift(x, axes))


@pytest.mark.parametrize("type", [1, 2, 3])
@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("n", [None, 4, 9])
@pytest.mark.parametrize("known", [True, False])
def test_cosine_transforms(session, type, norm, n, known):
    if type == 1 and norm:
        with pytest.raises(ValueError, match="Type-I"):
            tf.signal.dct(tf.ones([4]), type=1, norm="ortho")
        return
    x = RANDOM.rand(2, 6).astype(np.float32)
    fed = tf.placeholder(tf.float32, x.shape if known else [2, None])
    found = session.run(
        [tf.signal.dct(fed, type, n, norm=norm), tf.spectral.idct(fed, type, n, norm=norm)],
        {fed: x},
    )
    resized = np.pad(x, [[0, 0], [0, 3]])[:, : n or 6]
    inverse = {1: 1, 2: 3, 3: 2}[type]
    np.testing.assert_allclose(found[0], scipy.fft.dct(resized, type, norm=norm), atol=1e-4)
    np.testing.assert_allclose(found[1], scipy.fft.dct(resized, inverse, norm=norm), atol=1e-4)


def test_cosine_transform_of_doubtful_arguments(session):
    x = tf.ones([1])
    for how, message in (
        ({"axis": 0}, "axis must be -1"),
        ({"n": 0}, "positive integer"),
        ({"type": 4}, "Types I, II and III"),
        ({"type": 1}, "greater than one"),
        ({"norm": "max"}, "Unknown normalization"),
    ):
        with pytest.raises((ValueError, NotImplementedError), match=message):
            tf.signal.dct(x, **how)


@pytest.mark.parametrize(
    "name, scipy_name", [("hann_window", "hann"), ("hamming_window", "hamming")]
)
def test_windows(session, name, scipy_name):
    fed = tf.placeholder(tf.int32, [])
    for length in (1, 2, 8, 9):
        for periodic in (True, False):
            # Of odd length TensorFlow's periodic windows are symmetric.
            wanted = scipy.signal.get_window(scipy_name, length, periodic and length % 2 == 0)
            for given in (length, fed):
                window = getattr(tf.signal, name)(given, periodic, tf.float64)
                np.testing.assert_allclose(session.run(window, {fed: length}), wanted, atol=1e-12)
    with pytest.raises(ValueError, match="floating point"):
        getattr(tf.signal, name)(4, dtype=tf.int32)


@pytest.mark.parametrize("length, step", [(4, 2), (3, 2), (5, 5), (2, 7), (12, 3)])
@pytest.mark.parametrize("pad_end", [True, False])
@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("known", [True, False])
def test_frames(session, length, step, pad_end, axis, known):
    x = RANDOM.rand(11, 10)
    shape = x.shape if known else None
    fed, fed_step = tf.placeholder(tf.float64, shape), tf.placeholder(tf.int32, [])
    given = step if known else fed_step
    frames = tf.signal.frame(fed, length, given, pad_end, pad_value=7, axis=axis)
    found = session.run(frames, {fed: x, fed_step: step})
    size = x.shape[axis]
    if pad_end:
        count = -(-size // step)
        x = np.moveaxis(x, axis, -1)
        x = np.pad(x, [[0, 0], [0, length + step * count]], constant_values=7)
        x = np.moveaxis(x, -1, axis)
    else:
        count = max(0, 1 + (size - length) // step)
    parts = [np.take(x, np.arange(length) + step * i, axis) for i in range(count)]
    after = axis % 2
    empty = np.zeros([*x.shape[:after], 0, length, *x.shape[after + 1 :]])
    wanted = np.stack(parts, after) if parts else empty
    np.testing.assert_array_equal(found, wanted)
    if known:
        assert frames.shape.as_list() == list(wanted.shape)


@pytest.mark.parametrize("length, step", [(4, 2), (3, 2), (5, 5), (2, 7), (5, 1)])
@pytest.mark.parametrize("known", [True, False])
def test_overlap_and_add(session, length, step, known):
    x = RANDOM.rand(2, 4, length)
    fed, fed_step = (
        tf.placeholder(tf.float64, x.shape if known else None),
        tf.placeholder(tf.int32, []),
    )
    added = tf.signal.overlap_and_add(fed, step if known else fed_step)
    wanted = np.zeros((2, length + 3 * step))
    for i in range(4):
        wanted[:, i * step : i * step + length] += x[:, i]
    np.testing.assert_allclose(session.run(added, {fed: x, fed_step: step}), wanted)
    if known:
        assert added.shape.as_list() == list(wanted.shape)


def test_short_time_transform_and_back(session):
    x = RANDOM.rand(2, 128).astype(np.float32)
    spectra = tf.signal.stft(x, frame_length=16, frame_step=8)
    frames = np.stack([x[:, i : i + 16] for i in range(0, 113, 8)], 1)
    wanted = np.fft.rfft(frames * scipy.signal.get_window("hann", 16))
    np.testing.assert_allclose(session.run(spectra), wanted, atol=1e-4)
    window = tf.signal.inverse_stft_window_fn(8)
    back = session.run(tf.signal.inverse_stft(spectra, 16, 8, window_fn=window))
    np.testing.assert_allclose(back[:, 8:-8], x[:, 8:-8], atol=1e-5)


def test_short_time_transform_of_fed_sizes(session):
    x = RANDOM.rand(50).astype(np.float32)
    fed = tf.placeholder(tf.float32, [None])
    length, step = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    feeds = {fed: x, length: 10, step: 4}
    spectra = tf.signal.stft(fed, length, step, pad_end=True)
    same = tf.signal.stft(x, 10, 4, fft_length=16, pad_end=True)
    a, b = session.run([spectra, same], feeds)
    np.testing.assert_allclose(a, b, atol=1e-5)
    back = [tf.signal.inverse_stft(s, n, k) for s, n, k in ((spectra, length, step), (same, 10, 4))]
    a, b = session.run(back, feeds)
    np.testing.assert_allclose(a, b, atol=1e-5)


def test_gradient_through_frames(session):
    """Each sample counts as often as there are frames that hold it."""
    x = tf.constant(RANDOM.rand(10))
    (grad,) = tf.gradients(tf.reduce_sum(tf.signal.frame(x, 4, 2)), [x])
    np.testing.assert_allclose(session.run(grad), [1, 1, 2, 2, 2, 2, 2, 2, 1, 1])


def test_mel_weights(session):
    """Triangles over the spectrum, even on the mel scale."""
    found = session.run(
        tf.signal.linear_to_mel_weight_matrix(5, 33, 8000, 100.0, 4000.0, tf.float64)
    )
    mel = 1127 * np.log(1 + np.linspace(0, 4000, 33) / 700)
    edges = np.linspace(1127 * np.log(1 + 100 / 700), 1127 * np.log(1 + 4000 / 700), 7)
    wanted = np.stack(
        [np.interp(mel, edges[i : i + 3], [0, 1, 0], left=0, right=0) for i in range(5)], 1
    )
    wanted[0] = 0
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    for arguments, message in (
        ((0,), "num_mel_bins"),
        ((5, 33, 0), "sample_rate"),
        ((5, 33, 8000, -1.0), "non-negative"),
        ((5, 33, 8000, 500.0, 400.0), ">="),
        ((5, 33, 8000, 100.0, 5000.0), "Nyquist"),
        ((5, 33, 8000, 100.0, 300.0, tf.int32), "floating"),
        ((5, 33, tf.placeholder(tf.float32)), "constant"),
    ):
        with pytest.raises(ValueError, match=message):
            tf.signal.linear_to_mel_weight_matrix(*arguments)


def test_cepstral_coefficients(session):
    x = RANDOM.rand(2, 3, 13).astype(np.float32)
    found = session.run(tf.signal.mfccs_from_log_mel_spectrograms(x))
    np.testing.assert_allclose(found, scipy.fft.dct(x) / np.sqrt(26), atol=1e-5)
    with pytest.raises(ValueError, match="must be positive"):
        tf.signal.mfccs_from_log_mel_spectrograms(tf.ones([2, 0]))
