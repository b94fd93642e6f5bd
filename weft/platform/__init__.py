"""What programs use around the graph: flags, `app.run`, and logging."""
