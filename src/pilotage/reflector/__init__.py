"""Reflector: a collection as a stream of changes that continues after every failure."""

from pilotage.reflector.change import Applied, Bookmark, Change, Deleted, Listening, Replaced, Trouble, Undecodable
from pilotage.reflector.reflector import ReflectorOptions, changes

__all__ = [
    "Applied",
    "Bookmark",
    "Change",
    "Deleted",
    "Listening",
    "ReflectorOptions",
    "Replaced",
    "Trouble",
    "Undecodable",
    "changes",
]
