"""The language of study files: types, formulas and claims, read and checked."""
