"""What a harness author imports."""

__all__: list[str] = []
