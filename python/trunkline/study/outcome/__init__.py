"""Output of the runs of a study: tables, reproductions, pictures, files."""
