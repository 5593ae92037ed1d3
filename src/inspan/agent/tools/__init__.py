"""The tools of the agent: what a tool is, and the ones that it brings."""
