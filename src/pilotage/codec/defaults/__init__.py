"""The defaults of built-in kinds: what an API server fills in before it admits an object. They are functions over the
internal form of a document. The server applies them to every write; a client applies them to the object that it wants,
to compare that with what a server has stored. `table.default_of` finds the function of a kind.
"""
