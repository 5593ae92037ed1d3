"""What an app has to do to be one: checks as data, a runner for any address, and the app that they were written for."""

__all__: list[str] = []
