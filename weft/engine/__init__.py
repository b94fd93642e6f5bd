"""The two tiers that run ops: the interpreter (NumPy) and the compiler (XLA)."""
