"""What whoever makes an agent may set about its built-in tools."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

__all__ = ["FetchSettings", "ShellSettings", "ToolSettings"]


class ShellSettings(Struct, frozen=True, kw_only=True):
    """How commands are run.

    Attributes:
        default_limit_s: How long a command may run when the call does not say.
        longest_limit_s: The longest that a call may ask for.
        keep: Names of variables (patterns with `*`) that a command gets although they look like secrets.
        only: If not empty, the names of variables (patterns) that a command gets at all; `keep` adds to it.
        variables: Variables that each command gets besides, as they are.
    """

    default_limit_s: float = 120.0
    longest_limit_s: float = 1800.0
    keep: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    variables: dict[str, str] = {}


class FetchSettings(Struct, frozen=True, kw_only=True):
    """What may be fetched from the net.

    Attributes:
        private_hosts: Hosts, as they stand in an address, that may resolve to an address that is not public.
        limit_bytes: The most that is read of an answer, unpacked.
        limit_s: How long one call may take, redirects included.
        redirects: How many redirects are followed, on the same host alone.
    """

    private_hosts: tuple[str, ...] = ()
    limit_bytes: int = 5 * 1024 * 1024
    limit_s: float = 30.0
    redirects: int = 5


class ToolSettings(Struct, frozen=True, kw_only=True):
    """Of all built-in tools.

    Attributes:
        roots: Absolute folders beside the workspace that file tools may read and change.
        read_roots: Absolute folders that file tools may read alone.
        shell: How commands are run; None leaves the tool out.
        fetch: What may be fetched; None, the default, leaves the tool out.
        search_program: A ripgrep to search with: None looks for `rg` on the path, an empty text uses none.
        output_limit_chars: The most text that a command's or a search's result has; the rest of a command's is in a file.
        spill_limit_bytes: The most of a command's output that is kept in such a file.
        subagent_depth: How deep child agents may make child agents; 0 leaves the tool out.
    """

    roots: tuple[Path, ...] = ()
    read_roots: tuple[Path, ...] = ()
    shell: ShellSettings | None = ShellSettings()
    fetch: FetchSettings | None = None
    search_program: str | None = None
    output_limit_chars: int = 32_000
    spill_limit_bytes: int = 64 * 1024 * 1024
    subagent_depth: int = 2
