"""Go's text/template as Stage files use it, with the functions that kwok gives to templates. Parsed once, and bounded.

| module | contents |
|---|---|
| `template` | a template, parsed, and the text or document that it gives |
| `lexer`, `parser` | text to tokens to a tree |
| `nodes`, `operands` | the tree: what writes text, and what has a value |
| `values` | values, as Go has and prints them |
| `builtins`, `library` | the functions of Go, of kwok and of sprig |
| `problems` | errors of a template |
"""
