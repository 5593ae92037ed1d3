"""Built-in harnesses, one folder each."""

__all__: list[str] = []
