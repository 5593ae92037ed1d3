"""All commands: their names, what each is for, and where it is built. A command's module loads when it is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple, cast

from .arguments import Parser

__all__ = ["COMMANDS", "GROUPS", "Command", "parser_of"]


class Command(NamedTuple):
    """A command of the program.

    Attributes:
        group: The heading that it stands under, a key of `GROUPS`.
        summary: One line for `--help`.
        module: The module of this package that builds it.
        builder: The function in it that adds its arguments.
        description: A paragraph for its own `--help`.
    """

    group: str
    summary: str
    module: str
    builder: str
    description: str = ""


GROUPS: dict[str, str] = {
    "begin": "Begin here",
    "seats": "Seats: the durable places that work is sent to",
    "work": "Work",
    "permissions": "What a harness asks",
    "operate": "Operate",
}
"""The headings of `inspan --help`, in order."""

COMMANDS: dict[str, Command] = {
    "demo": Command("begin", "see Inspan at work in a throwaway home, with a scripted harness",
                    "demonstration", "build_demo",
                    "Needs no key, no network and no harness of your own. In a home that is removed afterwards, a "
                    "scripted harness\nasks for a permission; then the daemon is killed in the middle of a turn, and "
                    "nothing is lost.\nExits with 1 if anything was."),
    "doctor": Command("begin", "check this machine and home, with a remedy for what is wrong",
                      "doctor", "build_doctor",
                      "Looks and never repairs; does not start the daemon. Exits with 1 if something failed."),
    "run": Command("begin", "send one prompt, show what happens, and end as its turn ends", "run", "build_run",
                   "Makes a seat (or uses the one that --seat names), sends one prompt and shows what the harness "
                   "says and does.\nThe exit status is the turn's outcome. Ctrl-C cancels the turn; a second one "
                   "leaves and lets it go on.\nA seat that it made is stopped and removed again, unless --keep is "
                   "given or its work is not over.\nWith --json: one value at the end."),
    "harness": Command("seats", "list, show, probe, check, trust and replay harnesses", "harness", "build_harness"),
    "seat": Command("seats", "add, list, show, fork, set up and remove seats", "seat", "build_seat"),
    "start": Command("seats", "start a seat's harness and resume its conversation", "life", "build_start",
                     "Resumes the seat's conversation where it has one, and never begins a new one unasked.\n"
                     "Sending a prompt starts the harness too: this is for when you want it ready."),
    "stop": Command("seats", "stop a seat's harness; conversation and queue are kept", "life", "build_stop",
                    "Stops the process in steps. The conversation can be resumed, and queued prompts stay queued."),
    "release": Command("work", "send prompts that wait for a limit, a sign-in or a stuck turn", "life", "build_release",
                       "After a turn that met a usage limit, a missing sign-in or a stuck harness, the queue is held, so "
                       "that it does not fail\nprompt by prompt. This lets it go on; so does `inspan start`."),
    "hooks": Command("seats", "install, remove and show a harness's hooks", "hooks", "build_hooks",
                     "A harness's own hook system tells a seat that a prompt was begun, and how its turn ended. Where "
                     "it can,\na seat in terminal mode tells its harness at each launch, and touches no file of yours; "
                     "`inspan seat add --no-hooks` leaves that out.\nOutside a seat the hooks do nothing."),
    "agent": Command("begin", "the agent that comes with Inspan: run it, talk with it, serve it", "agent", "build_agent",
                     "A real agent with tools of its own, over any provider's model, that runtime plugins in Python extend. "
                     "Needs\ninspan[agent] and a provider's key, or `--model scripted:demo`, which needs neither and says "
                     "that it is scripted.\nAs a harness of seats it is called inspan."),
    "app": Command("seats", "give harnesses the tools of apps", "app", "build_app",
                   "An app is a folder with operations and a page, made for a person and an agent together: "
                   "`agent-app` makes and serves\napps, `a2app` operates them. This gives a harness the seventeen "
                   "tools that run the two."),
    "session": Command("seats", "list and delete the sessions that a seat's harness keeps", "sessions", "build_session"),
    "send": Command("work", "put a prompt into a seat's queue", "send", "build_send",
                    "Returns when the prompt is durably queued; with --wait, when its turn has ended.\nThe same --id "
                    "again reads back what became of the prompt, and never sends it twice."),
    "watch": Command("work", "follow what happens, as it happens", "watch", "build_watch",
                     "Follows the log across restarts of the daemon, and starts none itself once it watches.\nWith "
                     "--json: one event a line, as it is stored."),
    "cancel": Command("work", "ask a seat's harness to stop the turn that runs", "work", "build_cancel",
                      "A cancel is a request: the turn ends when the harness says so. The queue is kept."),
    "deliveries": Command("work", "list a seat's prompts and how far each got", "work", "build_deliveries"),
    "delivery": Command("work", "show a prompt, or take it out of the queue", "work", "build_delivery"),
    "turns": Command("work", "list a seat's turns and how each ended", "work", "build_turns"),
    "requests": Command("work", "list what is wanted across seats, or show one request", "requests", "build_requests",
                        "A request groups the attempts at one thing, in one seat or several: `inspan send --request "
                        "ID` opens it.\nHow an attempt ends settles that attempt; the request stays open until one "
                        "completes, or its operator closes it."),
    "handoff": Command("work", "have a request go on in another seat", "requests", "build_handoff",
                       "Goes on at once where no attempt is under way; otherwise when that has ended without "
                       "settling the request.\nA prompt that was not sent yet is taken out of its queue."),
    "attach": Command("work", "show a seat's console on this terminal, and type into it", "attaching", "build_attach",
                      "The console is the harness's own, untouched. Ctrl-\\ twice leaves, and the harness runs on; "
                      "Ctrl-\\ and s shows what\nscrolled out of sight. One has the keyboard at a time, and the "
                      "console has the size of their terminal.\nThe screen, its scrollback and its modes are as they "
                      "were when it ends, and a line says why it ended."),
    "keys": Command("work", "press keys in a seat's console, for a reason", "keys", "build_keys",
                    "Presses them whatever the console shows; only another program that has the terminal keeps them "
                    "back.\nKeys and reason are recorded first. To type, attach with `inspan attach`; to send a prompt, "
                    "use `inspan send`."),
    "record": Command("work", "record a console for a harness's fixtures", "recording", "build_record",
                      "Keeps every byte that the program writes, and what you say of its screens: press Ctrl-\\ and l "
                      "and name what\nis shown, such as `approval needs_input permission`. Ctrl-\\ twice leaves. Home, "
                      "workspace, names, addresses\nand keys are replaced by letters of the same width; a screen that "
                      "may still show one is named."),
    "screen": Command("work", "print what a seat's console shows", "screening", "build_screen"),
    "explain": Command("work", "say why a seat shows what it shows", "explaining", "build_explain",
                       "Prints the evidence, the strongest first, and which of it decided. Of a console: every claim and "
                       "what became of\nit, what the program says of itself, and every rule that was tried, with the text that it looked at."),
    "permissions": Command("permissions", "list the permissions that harnesses wait for", "permissions", "build_permissions"),
    "approve": Command("permissions", "allow what a harness asks", "permissions", "build_approve",
                       "Takes a request's id, or a seat's name where that seat has one open request.\nThe harness's "
                       "own option is chosen by its kind: to allow once, unless --always or --option says otherwise."),
    "deny": Command("permissions", "refuse what a harness asks", "permissions", "build_deny",
                    "Takes a request's id, or a seat's name where that seat has one open request."),
    "questions": Command("permissions", "list the forms that harnesses want filled in", "answering",
                         "build_questions"),
    "answer": Command("permissions", "fill in a form that a harness asks for, or decline it", "answering",
                      "build_answer",
                      "Takes a question's id, or a seat's name where that seat has one open question.\nA value is "
                      "read in the type of its field, and one that does not fit is refused."),
    "daemon": Command("operate", "start, stop and look at the daemon", "daemon", "build_daemon",
                      "The daemon starts by itself when a command needs it. Stopping it leaves harnesses running."),
    "store": Command("operate", "check the log, or build its projections anew", "store", "build_store",
                     "Asks the daemon where one runs, and else works on the file itself."),
    "completion": Command("operate", "print the completion script of a shell", "completion", "build_completion"),
    "version": Command("operate", "print the version", "version", "build_version"),
}  # fmt: skip
"""Every command by its name, in the order of `inspan --help`."""


def parser_of(name: str) -> Parser:
    """The parser of the command `name`, built."""
    command = COMMANDS[name]
    parser = Parser(prog=f"inspan {name}", summary=command.summary, description=command.description)
    module = import_module(f"inspan.cli.{command.module}")
    build = cast("Callable[[Parser], None]", getattr(module, command.builder))
    build(parser)
    return parser
