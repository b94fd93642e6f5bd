"""Ops: flow."""
