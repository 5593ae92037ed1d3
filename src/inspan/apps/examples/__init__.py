"""Apps to learn from and to try: each is a program of its own, `python -m inspan.apps.examples.NAME`."""

__all__: list[str] = []
