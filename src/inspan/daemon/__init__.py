"""The process that serves one home."""

__all__: list[str] = []
