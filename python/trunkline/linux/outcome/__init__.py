"""Output of a guest, as the tables of any engine."""
