"""The part of jq that Stage files use, evaluated as gojq does: parsed once, run on documents, and bounded.

| module | contents |
|---|---|
| `query` | an expression, parsed, and its outputs for a document |
| `tokens`, `parser`, `nodes` | text to tokens to a tree |
| `evaluation` | the outputs of a tree |
| `functions`, `conversions` | the functions by name and number of arguments |
| `operators` | arithmetic and comparison |
| `limits` | errors of an evaluation, and how much it may do |
"""
