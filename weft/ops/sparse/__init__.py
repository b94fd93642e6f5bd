"""Ops on sparse tensors: positions, elements and the shape of the whole."""
