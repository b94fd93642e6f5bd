"""Signals: Fourier transforms."""
