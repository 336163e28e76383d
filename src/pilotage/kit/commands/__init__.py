"""The commands: each module has `async def run(session, options) -> int`, and loads what it needs."""
