"""Ops: array."""
