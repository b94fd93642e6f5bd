"""Files and what stands in them: reading, writing, decoding, parsing."""
