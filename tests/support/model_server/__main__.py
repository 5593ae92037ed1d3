"""Run the scripted model: `python -m support.model_server --port 0 --log FILE` (with `tests/` on the path).

Prints the port on standard output, one line, then serves until it is stopped. With `--stop-with-stdin` it
also stops when its standard input ends, so that it never outlives a test run that was killed.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path

from support.model_server.request_log import RequestLog
from support.model_server.server import ModelServer


def main() -> None:
    """Parse the arguments and serve."""
    parser = argparse.ArgumentParser(prog="scripted-model")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, default=None)
    parser.add_argument("--stop-with-stdin", action="store_true")
    arguments = parser.parse_args()
    server = ModelServer(arguments.port, RequestLog(arguments.log))
    print(server.server_address[1], flush=True)
    if arguments.stop_with_stdin:
        threading.Thread(target=_stop_with_stdin, daemon=True).start()
    server.serve_forever()


def _stop_with_stdin() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    # Streams may still be open in other threads, and nothing here needs to be put away.
    os._exit(0)


if __name__ == "__main__":
    main()
