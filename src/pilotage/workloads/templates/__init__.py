"""The hash of a Pod template, in the label `pod-template-hash` and in the names of ReplicaSets.

- `hashes`: the hash, and its text
- `dumps`: the text of a template that is hashed, as Go prints its structs
- `quantities`: how Go keeps a quantity in memory, which is a part of that text
- `gotypes.json`: the Go types, which `hack/templates` writes
"""
