"""The server of an app: the protocol over HTTP, records and queue in SQLite, and the chain that each call passes."""

__all__: list[str] = []
