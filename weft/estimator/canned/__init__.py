"""Estimators that are made already: linear models, networks, both together, and what is learnt without features."""
