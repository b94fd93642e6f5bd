"""Data sets of `slim`: files of records, read by queues, decoded into items."""
