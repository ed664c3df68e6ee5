"""Guests: what they are made of, how they are prepared, and how one is run."""
