"""Data sets: where their files are, and how they are read."""

from __future__ import annotations

from typing import Any


class Dataset:
    """Files, the reader of their records, and the decoder of these; further arguments become attributes."""

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int | None,
        items_to_descriptions: Any,
        **kwargs: Any,
    ):
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions
        self.__dict__.update(kwargs)
