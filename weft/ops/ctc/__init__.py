"""Connectionist temporal classification: sequences of labels in longer sequences of classes."""
