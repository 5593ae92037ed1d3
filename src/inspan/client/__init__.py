"""The typed client of the daemon's HTTP interface."""

__all__: list[str] = []
