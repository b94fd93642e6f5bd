"""Ops: state."""
