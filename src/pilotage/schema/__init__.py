"""CustomResourceDefinitions and their schemas.

| package | what it does |
|---|---|
| `generate` | Python classes to schemas and CustomResourceDefinitions |
| `definition` | default and validate CustomResourceDefinitions |
| `structural` | prune, default and validate documents by a schema |
| `cel` | CEL rules: compile, bound their cost, evaluate |
| `compatibility` | compare CustomResourceDefinitions: which changes break stored objects or clients |
| `reference` | a reference page in Markdown from CustomResourceDefinitions |
"""
