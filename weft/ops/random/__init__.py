"""Ops: random."""
