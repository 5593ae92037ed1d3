"""A scripted harness that needs nothing: no key, no network, no installation."""

__all__: list[str] = []
