"""How long does a prompt take to the terminal of its console, beside `tmux` told to paste it?

One prompt of 500 bytes at a time to a console that is idle. The peer is what most programs do: `load-buffer`,
`paste-buffer` and `send-keys Enter`, one after the other, on a server that runs. The same part of ours is from the moment
its delivery is on record: the screen is checked, the write is noted, the foreground is looked at, the text is written.
What goes before it, the way of a request to the daemon and a commit of the log, has no counterpart in the peer, and a
figure of its own. The console says when it read the bytes, by the clock that all processes share.
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
    "Ours is checked against what the screen shows, noted by the holder, and written if nothing stands in front of the "
    "harness at that moment; its intent is durable before. The peer looks at nothing and keeps nothing."
)
_WHOLE_NOTE = (
    "With the request over HTTP and the commit of the log, which the peer has not: it is called as a program, and keeps "
    "nothing. The key that submits is pressed once the text is seen in the input line."
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
        async with open_ground(play=_COMPOSER, tell_in=fake_composer.SOCKET) as ground:
            ours.append(await _send(ground, count))
        if _HAS_RAM_DISK:
            async with open_ground(_RAM_DISK, play=_COMPOSER, tell_in=fake_composer.SOCKET) as ground:
                on_ram.append(await _send(ground, count))
        with throwaway_folder() as folder:
            peer.append(await _paste(folder, count))
    peer_name = f"{tmux.tmux_version()}, load-buffer, paste-buffer and send-keys"
    figures = [
        Figure(
            what="p50 of a delivery to the pty, from the moment it is on record until its text is there",
            unit="ms",
            ours=[_p50_ms(one.delivery_us) for one in ours],
            peer=[_p50_ms(one.enter_us) for one in peer],
            peer_name=peer_name,
            target=Target(of="ratio", bound="at most", limit=0.1),
            note=_NOTE,
        ),
        Figure(
            what="p50 from a client's request until the text is at the pty",
            unit="ms",
            ours=[_p50_ms(one.text_us) for one in ours],
            peer=[_p50_ms(one.enter_us) for one in peer],
            peer_name=peer_name,
            note=_WHOLE_NOTE,
        ),
        Figure(
            what="p50 from a client's request until the key that submits it is at the pty",
            unit="ms",
            ours=[_p50_ms(one.enter_us) for one in ours],
            peer=[_p50_ms(one.enter_us) for one in peer],
            peer_name=peer_name,
        ),
        Figure(
            what="p50 from a client's request until the text is at the pty, beside the first two alone",
            unit="ms",
            ours=[_p50_ms(one.text_us) for one in ours],
            peer=[_p50_ms(one.text_us) for one in peer],
            peer_name=f"{tmux.tmux_version()}, load-buffer and paste-buffer",
        ),
    ]
    if on_ram:
        figures.append(
            Figure(
                what="The same with Inspan's home on a RAM disk: p50 from a client's request until the text is at the pty",
                unit="ms",
                ours=[_p50_ms(one.text_us) for one in on_ram],
                peer=[_p50_ms(one.enter_us) for one in peer],
                peer_name=peer_name,
                note="Only to tell the disk's part of the time from the program's.",
            )
        )
    return figures


class _Typed:
    """How many microseconds passed from each request to the text, and to the key that submits it.

    Attributes:
        text_us: From the request to the text.
        enter_us: From the request to the key.
        delivery_us: From the moment the delivery was on record to the text; empty for the peer, which has no record.
    """

    def __init__(self) -> None:
        self.delivery_us: list[int] = []
        self.text_us: list[int] = []
        self.enter_us: list[int] = []


class _Told:
    """What the console in a folder tells, and the daemon that types into it."""

    def __init__(self, socket_: socket.socket) -> None:
        self._socket = socket_

    async def take(self, typed: _Typed, *, begun_us: int) -> None:
        """Waits for one prompt, text and key, which was asked for then."""
        at_us: dict[str, int] = {}
        while "enter" not in at_us:
            word, clock_us = await self._hear()
            if word in at_us or (word == "enter" and "text" not in at_us):
                raise RuntimeError(f"{word} came where it was not to come")
            at_us[word] = clock_us
        typed.text_us.append(at_us["text"] - begun_us)
        typed.enter_us.append(at_us["enter"] - begun_us)
        if "began" in at_us:
            typed.delivery_us.append(at_us["text"] - at_us["began"])

    async def _hear(self) -> tuple[str, int]:
        async with asyncio.timeout(_DEADLINE_S):
            said = await asyncio.get_running_loop().sock_recv(self._socket, 100)
        word, clock_us = said.decode().split()
        return word, int(clock_us)


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
