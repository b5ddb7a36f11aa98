"""The asyncio variants of the clients: the same methods as coroutines."""
