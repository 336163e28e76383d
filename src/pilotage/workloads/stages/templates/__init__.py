"""Go's text/template as Stage files use it, with the functions that kwok gives to templates. Parsed once, and bounded.

| module | contents |
|---|---|
| `template` | a template, parsed, and the text or document that it gives |
| `lexer`, `parser`, `nodes` | text to tokens to a tree |
| `evaluation` | a tree and a document to text |
| `govalues`, `literals`, `printf` | values, as Go has, reads and prints them |
| `functions` | functions with the types of their arguments |
| `builtins`, `general`, `texts`, `collections`, `numbers` | the functions of Go, of kwok and of sprig |
| `limits` | errors of a template, and how much it may do |
"""
