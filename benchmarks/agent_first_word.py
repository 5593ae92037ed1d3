"""How long does the own agent take from the start of its process to its first word, beside the model library alone?"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from .figures import Figure, Target
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_RUNS_A_ROUND = 5

_OURS = """
import asyncio, os, sys
from inspan.agent import Agent
from inspan.agent.events import TextDelta

async def main():
    async with Agent.create(workspace=sys.argv[1], home=sys.argv[1] + "/home", model=sys.argv[2]) as agent:
        session = await agent.new_session()
        async for event in session.prompt("PLAIN"):
            if isinstance(event, TextDelta):
                print("word", flush=True)
                os._exit(0)

asyncio.run(main())
"""

_PEER = """
import asyncio, os, sys
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

model = TestModel(custom_output_text="hello there") if sys.argv[2] == "test" else sys.argv[2]

async def main():
    async with Agent(model).run_stream("PLAIN") as result:
        async for text in result.stream_text(delta=True, debounce_by=None):
            if text:
                print("word", flush=True)
                os._exit(0)

asyncio.run(main())
"""


def run(scale: Scale) -> list[Figure]:
    """Measures both in turns; each round's value is the median of a few runs."""
    from support.agent_models import running_server

    runs = scale.count(_RUNS_A_ROUND, small=1)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="isp-") as folder, running_server(Path(folder)) as server:
        reached = {**os.environ, **server.environment("openai-chat")}
        for our_model, peer_model, what, peer_name in (
            ("scripted:demo", "test", "its scripted model", "pydantic-ai with its test model"),
            (
                "openai-chat:scripted-1",
                "openai-chat:scripted-1",
                "a model over HTTP",
                "pydantic-ai with the same model",
            ),
        ):
            ours: list[float] = []
            peer: list[float] = []
            for _ in range(scale.rounds):
                one: list[float] = []
                two: list[float] = []
                for _ in range(runs):
                    one.append(_timed_ms(_OURS, folder, our_model, reached))
                    two.append(_timed_ms(_PEER, folder, peer_model, reached))
                ours.append(sorted(one)[len(one) // 2])
                peer.append(sorted(two)[len(two) // 2])
            figures.append(
                Figure(
                    what=f"a fresh process to its first word, {what}",
                    unit="ms",
                    ours=ours,
                    peer=peer,
                    peer_name=peer_name,
                    target=Target(of="ratio", bound="at most", limit=1.5),
                    note="Ours has its built-in tools and plugins up and its session on disk by then; it loads the"
                    " library only for a provider of it.",
                )
            )
    return figures


def _timed_ms(program: str, folder: str, model: str, environment: Mapping[str, str]) -> float:
    argv = [sys.executable, "-c", program, folder, model]
    began = time.perf_counter()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=dict(environment)) as process:
        assert process.stdout is not None
        word = process.stdout.readline()
        passed_s = time.perf_counter() - began
    if word != b"word\n":
        raise subprocess.CalledProcessError(process.returncode, argv)
    return passed_s * 1000
