"""The texts of the files that are written."""
