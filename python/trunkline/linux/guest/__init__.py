"""Guests: their parts, their preparation, and their runs."""
