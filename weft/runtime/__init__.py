"""What runs a graph: sessions, plans, the executor, and the state that outlives a step."""
