"""Inspan's own harness: agent loop, sessions, permissions, tools, skills, models, memory, and the host of its plugins.

```python
async with Agent.create(workspace=".", model="scripted:demo") as agent:
    session = await agent.new_session()
    async for event in session.prompt("Hello"):
        print(event)
```
"""

from __future__ import annotations

from .agent import Agent, AgentLimits
from .session import Session
from .turn import Turn

__all__ = ["Agent", "AgentLimits", "Session", "Turn"]
