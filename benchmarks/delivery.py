"""How long does a prompt take to the terminal of its console, beside `tmux` told to paste it?

One prompt of 500 bytes at a time to a console that is idle. Ours is asked of a running daemon by the library, and is
durable, checked against what the screen shows, and noted before each write. The peer is what most programs do:
`load-buffer`, `paste-buffer` and `send-keys Enter`, one after the other, on a server that runs. The console says
when it read the bytes, by the clock that all processes share.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Generator
from pathlib import Path

from . import fake_composer
from .figures import Figure, Target
from .ground import Ground, Play, open_ground, throwaway_folder, write_agent_program
from .peers import tmux
from .received import percentile
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_TEXT = ("Look at the last commit, and say in a sentence what it does. " * 9)[:500]
_REST_S = 0.5
"""How long a console is left alone before the next prompt."""
_DEADLINE_S = 30.0
_RAM_DISK = Path("/dev/shm")
_HAS_RAM_DISK = _RAM_DISK.is_dir()

_MANIFEST = """
[modes.terminal]
transport = "terminal"
inactivity_limit_s = 3600.0
handshake_timeout_s = 3600.0
capabilities.activity = { support = "supported", source = "fake_composer.py" }
capabilities.permission_report = { support = "supported", source = "fake_composer.py" }

[[modes.terminal.postures]]
approvals = "ask"

[modes.terminal.terminal]
rules_file = "rules.toml"
columns = 200
rows = 50

[modes.terminal.terminal.typing]
composer = { home = '^> ' }
submit_delay_s = 0.0
"""
_RULES = r"""
schema = 1
source = "fake_composer.py"
verified = "2026-12-01"

[[rules]]
name = "working"
report = "running"
priority = 500
all = ['^\* working$']

[[rules]]
name = "idle"
report = "idle"
priority = 100
all = ['^> ?', '^  model: fake$']

[[rules]]
name = "ready"
report = "ready"
priority = 100
all = ['^> ?', '^  model: fake$']
"""
_NOTE = (
    "Ours waits for a commit of the log, a question who has the terminal, and a note of the holder before the write, one "
    "after the other; the key is pressed once the text is seen in the input line. The peer looks at nothing and keeps "
    "nothing."
)
_COMPOSER = Play(mode="terminal", manifest=_MANIFEST, program=fake_composer.__file__, rules=_RULES)


def run(scale: Scale) -> list[Figure]:
    """Measures both sides in turns, each with its console alone on the machine."""
    tmux.find_tmux()
    return asyncio.run(_run(scale))


async def _run(scale: Scale) -> list[Figure]:
    count = scale.count(30, small=2)
    ours: list[_Typed] = []
    on_ram: list[_Typed] = []
    peer: list[_Typed] = []
    for _ in range(scale.rounds):
        async with open_ground(play=_COMPOSER) as ground:
            ours.append(await _send(ground, count))
        if _HAS_RAM_DISK:
            async with open_ground(_RAM_DISK, play=_COMPOSER) as ground:
                on_ram.append(await _send(ground, count))
        with throwaway_folder() as folder:
            peer.append(await _paste(folder, count))
    peer_name = f"{tmux.tmux_version()}, load-buffer, paste-buffer and send-keys"
    figures = [
        Figure(
            what="p50 from the request until a prompt is at the pty",
            unit="ms",
            ours=[_p50_ms(one.text_us) for one in ours],
            peer=[_p50_ms(one.enter_us) for one in peer],
            peer_name=peer_name,
            target=Target(of="ratio", bound="at most", limit=0.1),
            note=_NOTE,
        ),
        Figure(
            what="p50 from the request until the key that submits it is at the pty",
            unit="ms",
            ours=[_p50_ms(one.enter_us) for one in ours],
            peer=[_p50_ms(one.enter_us) for one in peer],
            peer_name=peer_name,
        ),
        Figure(
            what="p50 from the request until a prompt is at the pty, beside the first two alone",
            unit="ms",
            ours=[_p50_ms(one.text_us) for one in ours],
            peer=[_p50_ms(one.text_us) for one in peer],
            peer_name=f"{tmux.tmux_version()}, load-buffer and paste-buffer",
        ),
    ]
    if on_ram:
        figures.append(
            Figure(
                what="The same with Inspan's home on a RAM disk: p50 from the request until a prompt is at the pty",
                unit="ms",
                ours=[_p50_ms(one.text_us) for one in on_ram],
                peer=[_p50_ms(one.enter_us) for one in peer],
                peer_name=peer_name,
                note="Only to tell the disk's part of the time from the program's.",
            )
        )
    return figures


class _Typed:
    """How many microseconds passed from each request to the text, and to the key that submits it."""

    def __init__(self) -> None:
        self.text_us: list[int] = []
        self.enter_us: list[int] = []


class _Told:
    """What the console in a folder tells."""

    def __init__(self, socket_: socket.socket) -> None:
        self._socket = socket_

    async def take(self, typed: _Typed, *, begun_us: int) -> None:
        """Waits for one prompt, text and key, which was asked for then."""
        loop = asyncio.get_running_loop()
        for what, latencies_us in (("text", typed.text_us), ("enter", typed.enter_us)):
            async with asyncio.timeout(_DEADLINE_S):
                said = await loop.sock_recv(self._socket, 100)
            word, clock_us = said.decode().split()
            if word != what:
                raise RuntimeError(f"the console read {word} where {what} was to come")
            latencies_us.append(int(clock_us) - begun_us)


async def _send(ground: Ground, count: int) -> _Typed:
    typed = _Typed()
    with _listening(ground.workspace) as told:
        (seat,) = await ground.open_seats(1)
        async with asyncio.timeout(_DEADLINE_S):
            while (console := (await ground.client.get_seat(seat)).console) is None or not console.is_ready:
                await asyncio.sleep(0.02)
        for _ in range(count):
            await asyncio.sleep(_REST_S)
            begun_us = time.monotonic_ns() // 1000
            sent = await ground.client.send(seat, _TEXT)
            await told.take(typed, begun_us=begun_us)
            await ground.client.wait_turn(sent.id, timeout_s=_DEADLINE_S)
    return typed


async def _paste(folder: Path, count: int) -> _Typed:
    typed = _Typed()
    program = write_agent_program(folder / "bin", source=_COMPOSER.program)
    with _listening(folder) as told, tmux.serving(folder, program, 1) as server:
        for _ in range(count):
            await asyncio.sleep(_REST_S)
            begun_us = time.monotonic_ns() // 1000
            await asyncio.to_thread(server.paste, _TEXT)
            await told.take(typed, begun_us=begun_us)
    return typed


@contextlib.contextmanager
def _listening(folder: Path) -> Generator[_Told]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.setblocking(False)
        server.bind(str(folder / fake_composer.SOCKET))
        yield _Told(server)


def _p50_ms(latencies_us: list[int]) -> float:
    return percentile(latencies_us, 50) / 1000
