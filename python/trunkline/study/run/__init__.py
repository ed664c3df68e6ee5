"""Plans of runs, their execution and their store."""
