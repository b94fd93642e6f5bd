"""Summaries: values as serialized `Summary` messages."""
