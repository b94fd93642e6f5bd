"""Heads: what a model's logits mean. Each knows its loss, its predictions and its metrics."""
