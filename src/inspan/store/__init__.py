"""The append-only log and its projections."""

__all__: list[str] = []
