"""Quantization: numbers of few bits that stand for a range, and training as if they did."""
