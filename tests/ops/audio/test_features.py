"""Features of speech by the names that programs use."""

import numpy as np

import weft as tf


def test_the_way_of_speech_commands():
    audio_ops = tf.contrib.framework.python.ops.audio_ops
    rate = 16000
    at = np.arange(rate, dtype=np.float32) / rate
    tone = np.sin(2 * np.pi * 1000 * at)[:, None]
    with tf.Graph().as_default(), tf.Session() as session:
        wav = audio_ops.encode_wav(tone, rate)
        decoded = audio_ops.decode_wav(wav, desired_channels=1, desired_samples=rate)
        spectrogram = audio_ops.audio_spectrogram(
            decoded.audio, window_size=480, stride=160, magnitude_squared=True
        )
        assert spectrogram.shape.as_list() == [1, 98, 257]
        features = audio_ops.mfcc(spectrogram, decoded.sample_rate, dct_coefficient_count=40)
        power, features = session.run([spectrogram, features])
    # 1,000 Hz lies in the 32nd of bins of 31.25 Hz.
    assert (power[0].argmax(axis=1) == 32).all()
    assert features.shape == (1, 98, 40) and np.isfinite(features).all()


def test_channels_do_not_run_into_each_other():
    """In TensorFlow what is left of one gets into the next, or fails."""
    sound = np.random.default_rng(0).standard_normal((40, 2)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:

        def of(x):
            return tf.raw_ops.AudioSpectrogram(input=x, window_size=8, stride=3)

        both, first, second = session.run([of(sound), of(sound[:, :1]), of(sound[:, 1:])])
    np.testing.assert_allclose(both, np.concatenate([first, second]), rtol=1e-5)
