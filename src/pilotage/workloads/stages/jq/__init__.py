"""The part of jq that Stage files use, evaluated as gojq does: parsed once.

| module | contents |
|---|---|
| `query` | an expression, parsed, and its outputs for a document |
| `tokens`, `parser` | text to tokens to a filter |
| `filters` | filters, made of other filters |
| `functions` | the functions by name and number of arguments |
| `values` | arithmetic and comparison |
"""
