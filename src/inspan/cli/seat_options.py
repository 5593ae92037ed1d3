"""The options that describe a new seat, and the request made from them: `seat add` and `run` share them."""

from __future__ import annotations

import argparse
import os

from inspan.model.errors import UsageError

from .arguments import Namespace, Parser, seconds
from .fields import Json, texts

__all__ = ["add_seat_options", "new_seat", "withheld_note"]

_APPROVALS = ("ask", "edits", "bypass")
_SANDBOXES = ("none", "workspace", "read_only")
_NO_HOOKS = "INSPAN_NO_HOOKS"
"""The variable by which a seat does without hooks."""
_SHARES = ("sign_in", "settings")
_UNATTENDED = ("person", "reject", "allow_once", "allow_always")


def add_seat_options(parser: Parser) -> None:
    """Adds `--workspace`, `--mode`, `--model`, `--effort`, `--env`, and the options of isolation and posture."""
    parser.add_argument(
        "--workspace", metavar="DIR", default=".", help="the folder it works in (default: this one)"
    )
    parser.name_option("--mode", "mode", "the way to drive the harness (default: the manifest's)")
    parser.add_argument("--model", metavar="M", help="the model to ask for, in the harness's own spelling")
    parser.add_argument(
        "--effort",
        metavar="E",
        help="how hard it is to think, in the harness's own words, where it can be told",
    )
    parser.add_argument(
        "--guidance",
        metavar="FILE",
        help="what it is told as the first turn of a conversation, where its harness reads no file of guidance",
    )
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="what else its launches are told, such as a further folder, by the names in `inspan harness show`; "
        "repeatable",
    )
    parser.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="a variable for the harness; NAME alone takes its value from this environment; repeatable",
    )
    parser.add_argument(
        "--no-hooks",
        action="store_true",
        help="do not tell the harness's own hook system of this seat; a prompt in its console then has no witness",
    )
    parser.add_argument(
        "--trust-workspace",
        action="store_true",
        help="answer a console that asks whether this workspace is trusted with yes, once a launch, if it names "
        "just this folder",
    )
    around = parser.add_argument_group(
        "isolation: what of yours the harness finds",
        "Unless you say so, its configuration is your own, but for a harness that would write a launch's flags into it, "
        "and it is not handed the variables that sign in.",
    )
    around.add_argument(
        "--isolated", action="store_true", help="give it a configuration folder of the seat's own"
    )
    around.add_argument("--shared-config", action="store_true", help="let it use your own configuration")
    around.add_argument(
        "--share",
        metavar="WHAT",
        choices=_SHARES,
        action="append",
        default=[],
        help="with a folder of its own: put your sign-in (sign_in) or your settings (settings) into it, where the "
        "manifest says which files those are; repeatable",
    )
    around.add_argument(
        "--forward-auth",
        action="store_true",
        help="hand it the variables that sign in, such as the key of its provider, from the daemon's environment",
    )
    around.add_argument(
        "--clean-env",
        action="store_true",
        help="of the daemon's environment, hand it only what any program needs and what the manifest names",
    )
    posture = parser.add_argument_group(
        "posture: what the seat may do unasked",
        "What a harness cannot honour is refused, never weakened.",
    )
    posture.add_argument(
        "--approvals",
        choices=_APPROVALS,
        help="what the harness asks first: all that it asks about at all (ask, the default), all but edits, or nothing",
    )
    posture.add_argument(
        "--sandbox",
        choices=_SANDBOXES,
        help="what the harness's own sandbox lets it write: as it comes (none, the default), in the workspace "
        "alone, or nowhere (read_only)",
    )
    posture.add_argument(
        "--unattended",
        choices=_UNATTENDED,
        help="how Inspan answers what the harness asks: it leaves that to you (person, the default), or answers at "
        "once by itself",
    )
    posture.add_argument(
        "--permission-timeout",
        metavar="S",
        type=_timeout,
        default=argparse.SUPPRESS,
        help="seconds after which a request that nobody answers is rejected, or none (default: 3600)",
    )


def new_seat(args: Namespace, name: str) -> Json:
    """The request for a new seat."""
    body: Json = {
        "name": name,
        "harness": args.harness,
        "workspace": os.path.abspath(os.path.expanduser(args.workspace)),
        "mode": args.mode,
        "model": args.model,
        "effort": args.effort,
        "trusts_workspace": args.trust_workspace or None,
        "guidance": None if args.guidance is None else _guidance(args.guidance),
        "axes": _axes(args.option),
        "isolated": _isolation(args),
        "shares": list(dict.fromkeys(args.share)),
        "forwards_auth": args.forward_auth or None,
        "clean_environment": args.clean_env or None,
        "posture": _posture(args),
        "environment": dict(map(_variable, args.env)) | ({_NO_HOOKS: "1"} if args.no_hooks else {}),
    }
    return {field: value for field, value in body.items() if value not in (None, {}, [])}


def withheld_note(seat: Json) -> str:
    """What is to be said of variables that sign in and were not handed over; empty where there is nothing."""
    names = texts(seat, "withheld")
    if not names:
        return ""
    is_set = "is set here and is" if len(names) == 1 else "are set here and are"
    return f"{', '.join(names)} {is_set} not handed to the harness; --forward-auth does that"


def _isolation(args: Namespace) -> bool | None:
    if args.isolated and args.shared_config:
        raise UsageError(
            "A seat has a configuration folder of its own, or yours, not both.",
            hint="Leave out --isolated or --shared-config.",
        )
    if args.share and args.shared_config:
        raise UsageError("--share is for a folder of its own.", hint="Leave out --share or --shared-config.")
    # What is to be put into a folder of its own asks for one.
    return True if args.isolated or args.share else False if args.shared_config else None


def _guidance(path: str) -> str:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise UsageError(
            f"The guidance {path} cannot be read: {reason}.", hint="Name a file of text."
        ) from error


def _axes(words: list[str]) -> dict[str, list[str]]:
    axes: dict[str, list[str]] = {}
    for word in words:
        name, is_given, value = word.partition("=")
        if not (name and is_given and value):
            raise UsageError(f"{word!r} is no option.", hint="Give it as --option NAME=VALUE.")
        axes.setdefault(name, []).append(value)
    return axes


def _posture(args: Namespace) -> Json | None:
    chosen: Json = {
        field: getattr(args, field)
        for field in ("approvals", "sandbox", "unattended")
        if getattr(args, field)
    }
    if "permission_timeout" in args:
        chosen["permission_timeout_s"] = args.permission_timeout
    return {**chosen, "source": "operator"} if chosen else None


def _timeout(word: str) -> float | None:
    return None if word == "none" else seconds(word)


def _variable(word: str) -> tuple[str, str]:
    name, is_given, value = word.partition("=")
    if not name or "\0" in word:
        raise UsageError(f"{word!r} is no variable.", hint="Give it as --env NAME=VALUE, or --env NAME.")
    if not is_given:
        if name not in os.environ:
            raise UsageError(
                f"The variable {name!r} is not set here.", hint=f"Give its value: --env {name}=VALUE."
            )
        value = os.environ[name]
    return name, value
