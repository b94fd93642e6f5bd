"""State that operations of several steps share and wait for: queues, barriers, staging areas, accumulators, locks."""
