"""Ops on images: sizes, colours, boxes, measures and files."""
