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
| `journal/OFFSET.seg` | the harness's standard output; the name is the offset of the first byte |
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
| `input` | what the harness reads: one operation at a time, each exactly once |
| `ending` | stopping in steps, the exit, and what the harness left behind |
| `journal`, `operations`, `folder`, `processes`, `frames` | shapes shared with the other side |
"""

from __future__ import annotations

__all__ = ["PROTOCOL", "VERSION"]

PROTOCOL = 1
"""The version of frames and requests; a difference is refused in the handshake and harms no harness."""

VERSION = "1.0"
"""The version of the holder, told in the handshake and in `holder.json`."""
