"""Sets along the last dimension of tensors."""
