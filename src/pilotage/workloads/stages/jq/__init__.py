"""The part of jq that Stage files use, evaluated as gojq does: parsed once, run on documents, and bounded.

| module | contents |
|---|---|
| `query` | an expression, parsed, and its outputs for a document |
| `tokens`, `parser` | text to tokens to a filter |
| `filters` | filters, made of other filters |
| `functions` | the functions by name and number of arguments |
| `values` | arithmetic and comparison, and the limits of an evaluation |
"""
