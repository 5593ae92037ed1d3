"""Where a harness is told of MCP servers, as its manifest says it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = ["McpPlace"]

Text = Annotated[str, msgspec.Meta(min_length=1)]


class McpPlace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The operator's own file in which a harness is told of MCP servers, and the shape of one server in it.

    In `entry`, `{program}` stands for the server's program, `{args}` for its arguments as an array, `{command}` for
    both as one array, `{name}` for the server's name; all but the name are JSON, which TOML and YAML read too.

    Attributes:
        path: Absolute, with `{config}` (the harness's configuration folder) or `{home}`.
        moved_path: The same where the variable of the configuration folder is set, if it is another then.
        format: `json` (comments and last commas are kept), `toml` (a table of its own at the file's end), or `yaml`
            (a block of its own at the file's end, where the file has no `under` yet).
        under: Keys that lead to the object of servers.
        entry: With `json`, the server's value; with `toml`, its whole table; with `yaml`, the lines below its name.
        needs: What a person must still do, such as to allow the server once.
        source: Where the fact comes from.
        verified: Date and version.
    """

    path: Text
    moved_path: str = ""
    format: Literal["json", "toml", "yaml"] = "json"
    under: tuple[str, ...] = ("mcpServers",)
    entry: Text = '{"command": {program}, "args": {args}}'
    needs: str = ""
    source: str = ""
    verified: str = ""
