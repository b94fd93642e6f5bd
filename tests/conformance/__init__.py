"""Conformance of every registered op with TensorFlow 1.15: cases, expected values, checks."""
