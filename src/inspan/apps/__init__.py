"""Apps for agents: an app's operations inside each harness, and its work taken to an agent."""

__all__: list[str] = []
