"""How many MiB a distribution occupies with all that it needs: `python installed_size.py NAME`.

Reads what is installed in the environment of the interpreter that runs it, with the standard library alone, so
that any environment can be asked. A source file counts twice, since it is compiled on first use.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

__all__ = ["of_distribution"]


def of_distribution(name: str) -> float:
    """MiB of a distribution and of everything that it requires here, extras left out.

    Raises:
        PackageNotFoundError: It is not installed.
    """
    seen: set[str] = set()
    waiting = [name]
    total = 0
    while waiting:
        key = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if key in seen:
            continue
        seen.add(key)
        try:
            found = distribution(key)
        except PackageNotFoundError:
            if key == name:
                raise
            continue  # a requirement for other platforms or Pythons
        total += _bytes_of(found)
        for requirement in found.requires or ():
            if "extra ==" not in requirement:
                waiting.append(re.split(r"[\s;\[<>=!~(]", requirement, maxsplit=1)[0])
    return total / (1 << 20)


def _bytes_of(found: Distribution) -> int:
    files = [Path(str(found.locate_file(file))) for file in found.files or ()]
    editable = [file for file in files if file.suffix == ".pth" and file.name.startswith("_editable")]
    for file in editable:
        # An editable installation is a folder of sources elsewhere.
        for root in file.read_text(encoding="utf-8").splitlines():
            package = Path(root) / found.metadata["Name"]
            files += [one for one in package.rglob("*") if "__pycache__" not in one.parts]
    total = 0
    for file in files:
        if file.is_file() and file.suffix != ".pyc":
            total += file.stat().st_size * (2 if file.suffix == ".py" else 1)
    return total


if __name__ == "__main__":
    print(of_distribution(sys.argv[1]))
