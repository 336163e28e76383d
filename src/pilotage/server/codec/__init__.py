"""Objects of built-in kinds between their JSON and the form that strategies work on, as Go's codec does it.

`Structure.decode` checks types and gives the internal form: no nulls, nothing that says the same as being absent, the
structures that are always there (`metadata`, `spec`, `resources` of a container), canonical quantities, times and
base64. `Structure.encode` fills in what Kubernetes writes even where it is empty (`rules: null`, `name: ""`). Both
follow the OpenAPI of the kind and a table of facts about the Go types (`types/data/encoding.json`).
"""
