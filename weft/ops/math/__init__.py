"""Ops: math."""
