"""The asyncio twins of the clients: the same methods, awaited."""
