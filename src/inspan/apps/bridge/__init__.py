"""The bridge: takes the work that an app queues to an agent, by the deepest way that there is to its harness."""

__all__: list[str] = []
