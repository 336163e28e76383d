"""Storage in a SQLite file."""

from .storage import SqliteStorage as SqliteStorage
