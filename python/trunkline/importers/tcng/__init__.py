"""Configurations in tcng."""
