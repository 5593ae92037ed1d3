"""Inspan's own harness: agent loop, sessions, permissions, tools, skills, models, memory, and the host of its plugins.

```python
async with Agent.create(workspace=".", model="scripted:demo") as agent:
    session = await agent.new_session()
    async for event in session.prompt("Hello"):
        print(event)
```

Here is what whoever makes an agent needs: the agent, and what it is given. What it tells stands in `inspan.agent.events`,
what a plugin is written against in `inspan.agent.plugins.contract`.
"""

from __future__ import annotations

from .agent import Agent, AgentCreation, AgentLimits
from .engine.contract import StopReason
from .events import TurnEnded
from .models.contract import ModelDefinition, ModelProvider
from .permissions.values import Answer, Effect, PermissionMode, PermissionQuestion, Responder, Rule
from .plugins.contract import PluginStatus, RuntimePlugin
from .plugins.entries import InlinePlugin, InlinePlugins
from .session import Session
from .tools.contract import Tool, ToolCallContext
from .tools.settings import FetchSettings, ShellSettings, ToolSettings
from .turn import Turn
from .values import ToolResult

__all__ = [
    "Agent",
    "AgentCreation",
    "AgentLimits",
    "Answer",
    "Effect",
    "FetchSettings",
    "InlinePlugin",
    "InlinePlugins",
    "ModelDefinition",
    "ModelProvider",
    "PermissionMode",
    "PermissionQuestion",
    "PluginStatus",
    "Responder",
    "Rule",
    "RuntimePlugin",
    "Session",
    "ShellSettings",
    "StopReason",
    "Tool",
    "ToolCallContext",
    "ToolResult",
    "ToolSettings",
    "Turn",
    "TurnEnded",
]
