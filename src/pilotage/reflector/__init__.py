"""Reflector: a collection as a stream of changes that survives anything."""

from pilotage.reflector.change import Applied, Bookmark, Change, Deleted, Listening, Replaced, Trouble, Undecodable
from pilotage.reflector.reflector import ChangesOptions, changes

__all__ = [
    "Applied",
    "Bookmark",
    "Change",
    "ChangesOptions",
    "Deleted",
    "Listening",
    "Replaced",
    "Trouble",
    "Undecodable",
    "changes",
]
