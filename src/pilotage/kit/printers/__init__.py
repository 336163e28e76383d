"""How objects are printed: tables, documents, names, JSONPath templates, columns of the user."""
