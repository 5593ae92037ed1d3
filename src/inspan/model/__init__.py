"""The nouns of Inspan: frozen values and pure functions, no input or output."""

__all__: list[str] = []
