"""`agent-app`: what apps are built, served and managed with."""

__all__: list[str] = []
