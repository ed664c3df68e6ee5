"""What a guest hands back, as the tables of any engine."""
