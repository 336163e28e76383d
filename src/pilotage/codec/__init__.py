"""Converts objects of built-in kinds between their JSON and the internal form that strategies work on, as Go's codec
does. `Structure.decode` checks types and returns the internal form: no nulls, no values that are equivalent to an
absent field, the structures that always exist (`metadata`, `spec`, `resources` of a container), canonical quantities,
times and base64. `Structure.encode` fills in what Kubernetes writes even where it is empty (`rules: null`, `name: ""`).
Both follow the OpenAPI of the kind and a table of facts about the Go types (`types/data/encoding.json`).
"""
