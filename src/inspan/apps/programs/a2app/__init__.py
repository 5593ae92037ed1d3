"""`a2app`: what an agent operates a running app with."""

__all__: list[str] = []
