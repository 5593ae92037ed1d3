"""The holder: keeps one harness process alive, journals what it writes and serves one owner.

Started as `python -I -S .../program/__main__.py LAUNCH_DIR`. The package is the standard library alone and
imports nothing of the package around it, so that a holder stays near 10 MB, starts at once, and goes on
unchanged while everything around it is upgraded. The other side imports *it*, for what both must agree
on: framing, who a process is, and the shapes on disk.

What lies in `LAUNCH_DIR` (mode 0700, every file 0600):

| file | what it is |
|---|---|
| `launch.json` | what to start; `env` and `nonce` are taken out as soon as they were read |
| `claim` | made once, atomically: `holder PID START_TIME`, or `abandoned` |
| `failed.json` | why a claimed launch never started its harness |
| `holder.json` | holder and harness, each a pid with its start time, and the socket |
| `journal/OFFSET.seg` | what the harness writes to its standard output or its terminal; the name is the offset of the first byte |
| `sizes.json` | with a terminal: its sizes, each with the offset of the output from which on it counts |
| `stderr.0`, `stderr.1` | the newer and the older part of its standard error |
| `ops` | the last write to its standard input: begun, done or failed |
| `exit.json` | how it ended |
| `holder.log` | the holder's own log; it never holds secrets |

| module | owns |
|---|---|
| `start` | from an empty process to a running harness, or a typed error and nothing left |
| `spawn` | fork and exec of the harness |
| `holding` | the loop: what is waited for, and the answers to an owner's requests |
| `clients` | connections: handshake, the one owner, frames in, bounded frames out |
| `output` | what the harness writes: into the journal and the two files of standard error |
| `input` | what the harness reads: one operation at a time, each exactly once, and keys between them |
| `ptys` | the pair of descriptors that is a terminal |
| `terminal` | what an owner may ask of the terminal: keys, answers, its size, its foreground |
| `ending` | stopping in steps, the exit, and what the harness left behind |
| `journal`, `operations`, `sizes`, `folder`, `processes`, `frames` | shapes shared with the other side |
"""

from __future__ import annotations

__all__ = ["OLDEST_PROTOCOL", "PROTOCOL", "VERSION"]

PROTOCOL = 3
"""The version of frames and requests that is spoken here. An owner that speaks none from `OLDEST_PROTOCOL`
to this one is refused in the handshake, which harms no harness. Version 2 has terminals,
version 3 guarded writes.
"""

OLDEST_PROTOCOL = 1
"""The oldest version that is still understood: what a later one added, an owner of an older one never asks for."""

VERSION = "1.2"
"""The version of the holder, told in the handshake and in `holder.json`."""
