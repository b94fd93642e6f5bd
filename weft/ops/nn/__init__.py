"""Ops: nn."""
