"""`python -m inspan.apps.conformance [URL]`: checks an app, or our own server where no address is given."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from pathlib import Path

import msgspec
import uvicorn

from inspan.apps.server.running import server_config
from inspan.model.errors import UsageError

from .reference import FULL_TOKEN, READONLY_TOKEN, make_reference_app, queue_work, write_folder
from .runner import Outcome, Target, run_class
from .suite import built_in_classes, load_class

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what is asked for: 0 where every check held or was skipped, 1 where one failed, 2 where the call is wrong."""
    options = _parser().parse_args(argv)
    try:
        classes = [load_class(letter) for letter in options.classes or built_in_classes()]
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    a2app = tuple(shlex.split(options.a2app or shutil.which("a2app") or ""))
    failed = 0
    with (
        _own_app() if options.url is None else contextlib.nullcontext((options.url, options.app_dir)) as (
            url,
            app_dir,
        )
    ):
        for checks in classes:
            target = Target(
                url=url,
                tokens={"full": options.token, "readonly": options.readonly_token},
                app_dir=app_dir,
                a2app=a2app,
            )
            outcomes = run_class(checks, target)
            failed += sum(outcome.status == "failed" for outcome in outcomes)
            _say(f"class {checks.letter}, {checks.name}", outcomes, as_json=options.json)
    return 1 if failed else 0


def _say(title: str, outcomes: list[Outcome], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode({"class": title, "outcomes": outcomes}).decode() + "\n")
        return
    counts = ", ".join(
        f"{count} {status}"
        for status in ("passed", "failed", "skipped")
        if (count := sum(outcome.status == status for outcome in outcomes))
    )
    print(f"{title}: {counts}")
    for outcome in outcomes:
        if outcome.status != "passed":
            print(f"  {outcome.status}: {outcome.name}")
            for problem in outcome.problems:
                print(f"    {problem}")


@contextlib.contextmanager
def _own_app() -> Generator[tuple[str, Path | None]]:
    """The reference app on our own server, on a free port, for the block."""
    with tempfile.TemporaryDirectory(prefix="isp-") as folder, socket.socket() as listener:
        app = make_reference_app(Path(folder))
        queue_work(app)
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        server = uvicorn.Server(server_config(app.asgi(), port=port))
        listener.listen()  # so that the first request waits for the server, and is not refused
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            write_folder(Path(folder), port)
            yield f"http://127.0.0.1:{port}", Path(folder)
        finally:
            server.should_exit = True
            thread.join()
            app.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m inspan.apps.conformance",
        description="Check an app that serves conformance_kanban, or our own server where no address is given.",
    )
    parser.add_argument("url", nargs="?", help="the app's address, such as http://127.0.0.1:8090")
    parser.add_argument(
        "--class", dest="classes", action="append", metavar="LETTER", help="which class; all by default"
    )
    parser.add_argument("--token", default=FULL_TOKEN, help="a token that may do everything")
    parser.add_argument(
        "--readonly-token", default=READONLY_TOKEN, help="a token of cred_ro, that may read alone"
    )
    parser.add_argument(
        "--app-dir", type=Path, help="the app's folder, for checks that run the operate program"
    )
    parser.add_argument("--a2app", default="", help="the operate program; without it such checks are skipped")
    parser.add_argument("--json", action="store_true", help="one JSON line a class")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
