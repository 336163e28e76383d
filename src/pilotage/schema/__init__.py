"""Python classes to structural OpenAPI schemas and CRDs; documents defaulted, pruned and validated by them."""
