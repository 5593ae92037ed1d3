"""The agent of `inspan app demo`: Inspan's own, with a model that is a script; one task, then it ends.

`python -P -m inspan.cli.demonstration_agent HOME`, with the prompt of a bridge on standard input. Everything but the
model is real: the agent's loop, its shell tool, and its permissions, of which it has one: to run `a2app`. With `--bare`
there is no agent either, and the script's commands are run as they are.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, cast

from inspan.agent import Agent
from inspan.agent.events import ToolEnded
from inspan.agent.models.contract import ModelDefinition
from inspan.agent.models.scripted import ScriptedModel
from inspan.agent.permissions.values import Effect, Rule

__all__ = ["commands_for", "main", "script_for"]

_MODEL = ModelDefinition(
    id="board",
    title="Scripted (no model)",
    context_tokens=200_000,
    input_usd_per_mtok=0.0,
    output_usd_per_mtok=0.0,
)
_LEAVE = Rule(effect=Effect.ALLOW, tool="shell", arguments={"command": "a2app *"}, source="session")
_TASK = re.compile(r"^Task: (\S+)$", re.MULTILINE)
_PAYLOAD = re.compile(
    r"^--- a2app:payload:(\w+) ---\n(.*)^--- end a2app:payload:\1 ---$", re.MULTILINE | re.DOTALL
)


def main(argv: Sequence[str] | None = None) -> int:
    """Does what the prompt on standard input asks for; 1 where a command of it failed."""
    words = list(sys.argv[1:] if argv is None else argv)
    prompt = sys.stdin.read()
    return _run_bare(prompt) if "--bare" in words[1:] else asyncio.run(_work(words[0], prompt))


def commands_for(prompt: str) -> list[list[str]]:
    """The commands by which a bridge's prompt is answered: look, write a summary, report.

    Raises:
        ValueError: The prompt is no bridge's.
    """
    task, payload = _TASK.search(prompt), _PAYLOAD.search(prompt)
    if task is None or payload is None:
        raise ValueError("this is no prompt of a bridge")
    # The data says how many cards are where; it is written down, and nothing else is made of it.
    given: Any = json.loads(payload[2])
    cards = cast("dict[str, Any]", given["cards"])
    summary = "; ".join(f"{name}: {count}" for name, count in cards.items())
    return [
        ["a2app", ".", *words]
        for words in (
            ("tasks", "progress", task[1], "--step", "reading the board", "--percent", "30"),
            ("data", "cards", "list", "--sort", "title"),
            ("board", "add-summary", "--title", "How things stand", "--body", summary),
            ("tasks", "complete", task[1], "--result", json.dumps({"summary": summary})),
        )
    ]


def script_for(prompt: str) -> str:
    """What the model says to a bridge's prompt: look, write a summary, report.

    Raises:
        ValueError: The prompt is no bridge's.
    """
    steps = [
        f"call shell {json.dumps({'command': shlex.join(words)})}\n---" for words in commands_for(prompt)
    ]
    return "\n".join([*steps, "say The board is summed up."])


def _run_bare(prompt: str) -> int:
    for command in commands_for(prompt):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        print((done.stdout or done.stderr)[:200], flush=True)
        if done.returncode != 0:
            return 1
    return 0


async def _work(home: str, prompt: str) -> int:
    failed = False
    async with Agent.create(
        workspace=os.getcwd(),
        home=home,
        model="board-script:board",
        models=[(ScriptedModel(script_for(prompt), id="board-script"), (_MODEL,))],
        rules=(_LEAVE,),
        plugin_config=(),
        cloud_connectors=False,
        is_ephemeral=True,
        environment={},
    ) as agent:
        session = await agent.new_session()
        turn = session.prompt(prompt)
        async for event in turn:
            if isinstance(event, ToolEnded):
                failed = failed or event.result.is_error
                print(event.result.text[:200], flush=True)
        await turn.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
