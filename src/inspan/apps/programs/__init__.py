"""The two programs: `a2app` operates a running app, `agent-app` builds and manages apps."""

__all__: list[str] = []
