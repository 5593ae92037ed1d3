"""Writes what the recordings of a harness come to: `python -m inspan.conformance.expect FOLDER [--check]`.

With `--check` nothing is written, and the exit status is 1 where a recording comes to something else. Look at the
difference before you keep it: it is what every later replay is held to.
"""

from __future__ import annotations

import sys
from pathlib import Path

from inspan.model.errors import InspanError
from inspan.plugin.manifest_file import load_manifest

from .outcomes import Outcomes, find_outcomes, find_recordings, read_expected, replay_in_mode, write_expected

__all__ = ["expect", "main"]


def expect(folder: Path) -> dict[str, Outcomes]:
    """What the recordings of the harness in `folder` come to, by the file's name.

    A recording belongs to the mode that its name, or its folder's, begins with.

    Raises:
        ManifestError: The manifest or a recording cannot be read.
    """
    found: dict[str, Outcomes] = {}
    for name, mode in load_manifest(folder).modes.items():
        for key, file in find_recordings(folder / "recordings", name, mode).items():
            found[key] = find_outcomes(replay_in_mode(file, mode), mode)
    return found


def main(arguments: list[str]) -> int:
    """Writes or checks, and gives the exit status."""
    is_check = "--check" in arguments
    folders = [Path(one) for one in arguments if one != "--check"]
    if not folders or any(str(one).startswith("-") for one in folders):
        print("usage: python -m inspan.conformance.expect FOLDER... [--check]", file=sys.stderr)
        return 2
    stale = 0
    for folder in folders:
        recordings = folder / "recordings"
        try:
            found = expect(folder.resolve())
            known = read_expected(recordings)
        except InspanError as error:
            print(error, file=sys.stderr)
            return 1
        if found == known:
            continue
        stale += 1
        for name in sorted(found.keys() | known.keys()):
            if found.get(name) != known.get(name):
                print(f"{recordings / name} comes to something else", file=sys.stderr)
        if not is_check:
            write_expected(recordings, found)
            print(f"wrote {recordings}")
    return 1 if is_check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
