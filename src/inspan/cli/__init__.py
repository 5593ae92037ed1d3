"""The command line: argv in, text or JSON out."""

__all__: list[str] = []
