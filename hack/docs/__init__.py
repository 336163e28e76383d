"""The site of the documentation."""
