"""Unstated parameters inferred from published values, and scenarios fitted to measurements."""
