"""What the runs of a study say: tables, reproductions, pictures, files."""
