"""Fixtures of consoles: recorded screens with what each of them *is*, which rules must match or spare.

They lie in a harness's folder as `recordings/terminal/SET.json`, one file a set: the size of the terminal, where
the set comes from, and its states by name. A state is the screen after so many bytes: of a stream that several
states share (`SET.0.raw`, or `SET.0.raw.xz`), of a recording of its own (`SET/STATE.raw`, or `.raw.xz`), or of
`text` in the file itself, for what was made by hand.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from inspan.model.errors import ManifestError
from inspan.model.screen_rules import Sign
from inspan.plugin.faults import tell_fault
from inspan.transports.terminal.opening import open_screen
from inspan.transports.terminal.screen import ScreenSize, Snapshot

__all__ = [
    "FIXTURES",
    "MAX_STREAM_BYTES",
    "ConsoleSet",
    "ConsoleState",
    "FixtureProvenance",
    "bytes_of",
    "read_bytes",
    "read_sets",
    "snapshots_of",
    "streams_of",
]

FIXTURES = Path("recordings", "terminal")
"""Where the sets lie in a harness's folder."""
MAX_STREAM_BYTES = 64 * 1024 * 1024
"""The longest recording that is read, unpacked."""

FixtureProvenance = Literal["live", "derived", "synthesised"]
"""Captured from the program, made out of a capture, or made from what is said of it."""

Side = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class ConsoleState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One screen, and what it is.

    Attributes:
        state: What the session does; `gone` where its program has exited, which no screen tells; empty where
            nobody says.
        kind: What a person owes, where it needs one; `gate` for any dialog before the session.
        error: The code of the error that is kept.
        error_kept: An error is kept, whatever its code.
        signs: What else must be seen.
        stream: The stream that it is a place in; `None` where it has a recording or a text of its own.
        offset: After how many bytes of that stream.
        text: The bytes themselves, as text.
        osc7501: The last status record of the root, for readers.
        background: For readers: work goes on beside the turn.
        queued: For readers: a prompt waits.
        retrying: It waits for another try.
        draft: The composer holds typed text.
        children: For readers: the last status records of background work, by id.
        note: For readers.
    """

    state: Literal["running", "idle", "needs_input", "unknown", "gone", ""] = ""
    kind: str = ""
    error: str = ""
    error_kept: bool = False
    signs: tuple[Sign, ...] = ()
    stream: int | None = None
    offset: int = 0
    text: str = ""
    osc7501: str | None = None
    background: bool = False
    queued: bool = False
    retrying: bool = False
    draft: bool = False
    children: dict[str, str] = {}
    note: str = ""


class ConsoleSet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """States of one console, at one size, from one source.

    Attributes:
        provenance: Where it comes from.
        columns: Width of the terminal.
        rows: Height of the terminal.
        states: By name, those of one stream in the order of their offsets.
        terminal: What it was recorded on: one that answers what programs ask, or tmux, which answers less.
        name: Its file's name.
        folder: The folder that it lies in.
    """

    provenance: FixtureProvenance
    columns: Side
    rows: Side
    states: dict[str, ConsoleState]
    terminal: Literal["answering", "tmux", "none"] = "none"
    name: str = ""
    folder: str = ""

    @property
    def size(self) -> ScreenSize:
        """The size of its screen."""
        return ScreenSize(rows=self.rows, columns=self.columns)

    @property
    def harness(self) -> str:
        """The harness whose folder it lies in."""
        return Path(self.folder).parents[1].name


def read_sets(folder: Path) -> tuple[ConsoleSet, ...]:
    """The sets in a harness's folder, by name; none where it has none.

    Raises:
        ManifestError: `recording_invalid`: a file cannot be read, or is no set.
    """
    found: list[ConsoleSet] = []
    for path in sorted((folder / FIXTURES).glob("*.json")):
        try:
            text = path.read_bytes()
        except OSError as error:
            raise _invalid(path, str(error)) from error
        try:
            one = msgspec.json.decode(text, type=ConsoleSet)
        except msgspec.MsgspecError as error:
            raise _invalid(path, tell_fault(text, ConsoleSet, error)) from error
        found.append(msgspec.structs.replace(one, name=path.stem, folder=str(path.parent)))
    return tuple(found)


def streams_of(one: ConsoleSet) -> Iterator[tuple[bytes, dict[str, ConsoleState]]]:
    """The recordings of a set, each with its states in the order in which they come.

    Raises:
        ManifestError: `recording_invalid`: a recording is missing, damaged, too long, or shorter than its states.
    """
    shared = sorted({state.stream for state in one.states.values() if state.stream is not None})
    for number in shared:
        stream = read_bytes(Path(one.folder, f"{one.name}.{number}.raw"))
        places = sorted(
            ((state.offset, name) for name, state in one.states.items() if state.stream == number),
        )
        if places[-1][0] > len(stream):
            raise _invalid(
                Path(one.folder, f"{one.name}.json"), f"{places[-1][1]} lies beyond its recording's end"
            )
        yield stream, {name: one.states[name] for _, name in places}
    for name, state in one.states.items():
        if state.stream is None:
            stream = bytes_of(one, name)
            yield stream, {name: msgspec.structs.replace(state, offset=len(stream))}


def bytes_of(one: ConsoleSet, name: str) -> bytes:
    """The bytes that lead to a state, from the start of its program on.

    Raises:
        ManifestError: `recording_invalid`.
    """
    state = one.states[name]
    if state.stream is not None:
        return read_bytes(Path(one.folder, f"{one.name}.{state.stream}.raw"))[: state.offset]
    if state.text:
        return state.text.replace("\n", "\r\n").encode("utf-8", "surrogatepass")
    return read_bytes(Path(one.folder, one.name, f"{name}.raw"))


def snapshots_of(sets: tuple[ConsoleSet, ...]) -> dict[str, Snapshot]:
    """The screen of every state, by `SET/STATE`, as rules name it.

    Raises:
        ManifestError: `recording_invalid`.
    """
    seen: dict[str, Snapshot] = {}
    for one in sets:
        for stream, states in streams_of(one):
            screen, at = open_screen(one.size), 0
            for name, state in states.items():
                screen.feed(stream[at : state.offset])
                at = state.offset
                seen[f"{one.name}/{name}"] = screen.painted()
            screen.close()
    return seen


def read_bytes(path: Path) -> bytes:
    """The bytes of a recording, packed (`.xz`, also where the name leaves that out) or not.

    Raises:
        ManifestError: `recording_invalid`: it is missing, damaged, or too long.
    """
    packed = path if path.suffix == ".xz" else path.with_name(path.name + ".xz")
    try:
        if path.suffix == ".xz" or (packed.is_file() and not path.is_file()):
            with lzma.open(packed) as file:
                data = file.read(MAX_STREAM_BYTES + 1)
        else:
            with path.open("rb") as file:
                data = file.read(MAX_STREAM_BYTES + 1)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise _invalid(path, f"it cannot be read: {error}") from error
    if len(data) > MAX_STREAM_BYTES:
        raise _invalid(path, f"it is over {MAX_STREAM_BYTES} bytes")
    return data


def _invalid(path: Path, problem: str) -> ManifestError:
    return ManifestError(
        f"The recording {path} is of no use: {problem}.",
        code="recording_invalid",
        hint="docs/manifest.md says how recordings of consoles are laid out.",
        detail={"file": str(path)},
    )
