"""ControllerRevisions: the history of the template of a StatefulSet or a DaemonSet.

- `data`: what a revision stores, in the bytes of Go, and its hash
- `history`: which revision is the current one, and which are deleted
- `store`: reading, creating and adopting them
"""
