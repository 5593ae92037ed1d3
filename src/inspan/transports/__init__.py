"""Transports: bytes to and from a harness, as typed reports; they know no harness."""

__all__: list[str] = []
