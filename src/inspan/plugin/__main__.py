"""`python -m inspan.plugin FOLDER`: serves the plugin of any harness folder, data only or with code."""

from __future__ import annotations

import sys
from pathlib import Path

from .context import PluginContext
from .contract import HarnessPlugin
from .loading import load_factory
from .serve import serve


def main(arguments: list[str]) -> int:
    """Serves the folder that is named, and gives the exit status."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m inspan.plugin FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0]).resolve()
    # The folder's files are pinned: running them must add none. Last on the path, they can hide no module.
    sys.dont_write_bytecode = True
    sys.path.append(str(folder))

    def make(context: PluginContext) -> HarnessPlugin:
        return load_factory(folder, context.manifest.plugin)(context)

    return serve(make, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
