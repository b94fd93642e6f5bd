"""Lookup tables: what they hold (`tables`, `dense_table`), how files become tables, and the ops."""
