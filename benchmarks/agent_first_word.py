"""How long does the own agent take from the start of its process to its first word, beside the model library alone?"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

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
    async with Agent.create(workspace=sys.argv[1], home=sys.argv[1] + "/home", model="scripted:demo") as agent:
        session = await agent.new_session()
        async for event in session.prompt("hello"):
            if isinstance(event, TextDelta):
                print("word", flush=True)
                os._exit(0)

asyncio.run(main())
"""

_PEER = """
import asyncio, os
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

async def main():
    async with Agent(TestModel(custom_output_text="hello there")).run_stream("hello") as result:
        async for text in result.stream_text(delta=True, debounce_by=None):
            if text:
                print("word", flush=True)
                os._exit(0)

asyncio.run(main())
"""


def run(scale: Scale) -> list[Figure]:
    """Measures both in turns; each round's value is the median of a few runs."""
    runs = scale.count(_RUNS_A_ROUND, small=1)
    ours: list[float] = []
    peer: list[float] = []
    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        for _ in range(scale.rounds):
            one: list[float] = []
            two: list[float] = []
            for _ in range(runs):
                one.append(_timed_ms(_OURS, folder))
                two.append(_timed_ms(_PEER, folder))
            ours.append(sorted(one)[len(one) // 2])
            peer.append(sorted(two)[len(two) // 2])
    return [
        Figure(
            what="a fresh process to its first word",
            unit="ms",
            ours=ours,
            peer=peer,
            peer_name="pydantic-ai with its test model",
            target=Target(of="ratio", bound="at most", limit=1.5),
            note="Ours has its built-in tools and plugins up and its session on disk by then; it loads the library only"
            " for a provider of it.",
        )
    ]


def _timed_ms(program: str, folder: str) -> float:
    argv = [sys.executable, "-c", program, folder]
    began = time.perf_counter()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=dict(os.environ)) as process:
        assert process.stdout is not None
        word = process.stdout.readline()
        passed_s = time.perf_counter() - began
    if word != b"word\n":
        raise subprocess.CalledProcessError(process.returncode, argv)
    return passed_s * 1000
