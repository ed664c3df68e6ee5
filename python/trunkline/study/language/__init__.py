"""What a study file says: its types, formulas and claims, read and checked."""
