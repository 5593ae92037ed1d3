"""`inspan harness`: what can be seated, whether it is there, and its recordings played back."""

from __future__ import annotations

from .arguments import Namespace, Parser
from .context import Context, at
from .fields import Json, flag, record, records, text, texts
from .output import Output, Piece, bad, bold, cut, dim, toned, warn
from .resources import add_resources_action

__all__ = ["build_harness"]


def build_harness(parser: Parser) -> None:
    """Adds the actions of `harness`."""
    listed = parser.action("list", "list the harnesses that are registered", _list)
    listed.example("inspan harness list", "ids, modes, and which of them are installed here")
    show = parser.action("show", "show what a harness's manifest says", _show)
    show.name("harness", "harness", "the harness's id")
    show.example("inspan harness show ID", "modes, capabilities with their evidence, quirks")
    probe = parser.action("probe", "ask an installed harness what it is; no model call", _probe)
    probe.name("harness", "harness", "the harness's id", is_optional=True)
    probe.add_argument("--all", action="store_true", help="probe every harness")
    probe.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="with --all: also what stands in the way, and the next step",
    )
    probe.example("inspan harness probe --all", "which of them are installed here, in which version")
    add_resources_action(parser)
    replay = parser.action(
        "replay",
        "read a recording as the harness's transport would; no daemon, no harness",
        _replay,
        description="Of a wire log it prints one JSON line a report, and last the turns, sessions and permission "
        "requests seen. Of the bytes of a console it prints one JSON line a change of state, the last line the final one.",
    )
    replay.name("harness", "harness", "the harness's id")
    replay.add_argument(
        "recording",
        metavar="RECORDING",
        help="a wire log, one JSON line a message; the output of a one-shot run, NAME.out; or the bytes of a "
        "console, NAME.raw",
    )
    replay.add_argument(
        "--mode", metavar="MODE", help="the mode it was recorded in (default: the manifest's)"
    )
    replay.add_argument(
        "--size",
        metavar="COLSxROWS",
        help="of the bytes of a console: the size of its terminal (default: 120x40)",
    )
    replay.example("inspan harness replay ID screen.raw --size 80x24", "what its console's rules say of it")
    replay.example("inspan harness replay ID wire.jsonl", "the reports that this conversation gives")
    new = parser.action(
        "new",
        "make the folder of a new harness: manifest, rules, recordings, README; no daemon",
        _new,
        description="It claims nothing yet, and passes `inspan harness lint`. Nothing that is there is changed.",
    )
    new.add_argument("harness", metavar="ID", help="the id of the new harness")
    new.add_argument(
        "--from-console",
        action="store_true",
        help="its console is all there is (default: it is taken to speak ACP as well)",
    )
    new.add_argument("--program", metavar="NAME", help="the name of its program on PATH (default: the id)")
    new.example("inspan harness new acme --from-console", "then record its console and write rules")
    lint = parser.action(
        "lint",
        "look for what keeps a harness's folder from being what it says; no daemon, no harness",
        _lint,
        description="Faults end it with 22; advice does not.",
    )
    lint.add_argument(
        "target",
        metavar="ID|FOLDER",
        nargs="?",
        help="the harness's id, or its folder (default: all of them)",
    )
    lint.add_argument(
        "--contract",
        action="store_true",
        help="also load the folder's own code and hold it to the contract; this runs it",
    )
    lint.names["target"] = "harness"
    lint.example("inspan harness lint ./acme --contract", "before you publish your own")
    trust = parser.action(
        "trust",
        "allow a harness's code from outside to run",
        _trust,
        description="Pins the hash of every file in its folder; a file that changes takes the trust away again.",
    )
    trust.name("harness", "harness", "the harness's id")
    trust.add_argument("--revoke", action="store_true", help="take the trust back")
    trust.example("inspan harness trust ID", "after you have read its code")


def _list(context: Context, _: Namespace) -> int:
    harnesses = context.harnesses()
    if context.output.is_json:
        context.output.value(harnesses)
        return 0
    context.output.table(
        ["HARNESS", "NAME", "MODES", "ORIGIN", "INSTALLED"],
        [
            [
                bold(text(one, "id")),
                _name(one),
                ", ".join(text(mode, "id") for mode in records(one, "modes")),
                text(one, "origin"),
                _installed(one),
            ]
            for one in harnesses
        ],
    )
    context.output.remark(dim("  next: `inspan harness probe ID` asks one for its version and its sign-in"))
    return 0


def _name(harness: Json) -> str:
    name = text(harness, "name")
    is_unsaid = flag(harness, "scripted") and "scripted" not in name.lower()
    return f"{name} (scripted)" if is_unsaid else name


def _installed(harness: Json) -> Piece:
    """Whether its program is found, or what is wrong with its manifest."""
    problem = record(harness, "problem")
    if problem:
        return bad(cut(text(problem, "message"), 80))
    match text(harness, "installed", default="unknown"):
        case "no":
            return dim("no")  # nobody has every harness: that is no fault
        case "unknown":
            return dim("-")
        case word:
            return toned(word)


def _show(context: Context, args: Namespace) -> int:
    harness = record(context.get(at("harnesses", args.harness)))
    if context.output.is_json:
        context.output.value(harness)
    else:
        _tell(context.output, harness)
    return 0


def _tell(output: Output, harness: Json) -> None:
    problem, needs = record(harness, "problem"), record(harness, "requires")
    output.line(bold(text(harness, "id")), "  ", _name(harness))
    output.fields(
        [
            ("problem", [bad(text(problem, "message")), f" {text(problem, 'hint')}"] if problem else ""),
            ("summary", text(harness, "summary")),
            ("homepage", text(harness, "homepage")),
            ("install", text(harness, "install")),
            ("tested", text(harness, "tested", default="unknown: no version was tried")),
            ("needs", ", ".join(f"{name} {text(needs, name)}".strip() for name in needs)),
            ("sign in", text(harness, "sign_in")),
            ("handed over", _variables(harness)),
            ("config", _config(record(harness, "config"))),
            ("takes over", text(harness, "takes_over", default="unknown").replace("_", " ")),
            ("maintainer", f"{text(harness, 'maintainer')} ({text(harness, 'tier')})"),
            ("origin", f"{text(harness, 'origin')}  {text(harness, 'folder')}"),
            ("layers", ", ".join(texts(harness, "layers")) if len(texts(harness, "layers")) > 1 else ""),
            ("plugin", text(harness, "plugin", default="none")),
        ],
        indent=2,
    )
    for one in records(harness, "background"):
        output.line("  ", dim("leaves  "), _left_behind(one))
    for quirk in texts(harness, "quirks"):
        output.line("  ", dim("quirk  "), quirk)
    for mode in records(harness, "modes"):
        default = " (default)" if text(mode, "id") == text(harness, "default_mode") else ""
        output.line()
        output.line("  ", bold(f"mode {text(mode, 'id')}"), dim(f"{default}  over {text(mode, 'transport')}"))
        for name in ("install", "tested"):
            if said := text(mode, name):
                output.line("    ", dim(f"{name}  "), said)
        if said := _signals(mode):
            output.line("    ", dim("state by  "), said)
        output.line("    ", dim("limit by  "), ", ".join(texts(mode, "limit_by")) or "nothing that is known")
        for name in ("model", "effort"):
            output.line("    ", dim(f"{name}  "), _choice(record(mode, name)))
        for name in record(mode, "axes"):
            values = ", ".join(texts(record(mode, "axes"), name)) or "VALUE"
            output.line("    ", dim("option  "), f"--option {name}={values}")
        for rule in records(mode, "posture_rules"):
            axes = f"approvals={text(rule, 'approvals')}, sandbox={text(rule, 'sandbox')}"
            output.line("    ", dim("posture  "), axes, "  ", text(rule, "how", default="as it comes"))
            output.line("      ", dim(cut(f"{text(rule, 'source')} ({text(rule, 'verified')})", 110)))
        output.fields(
            [(name, _claim(record(mode, "capabilities", name))) for name in record(mode, "capabilities")],
            indent=4,
        )


def _choice(choice: Json) -> str:
    """How a model or an effort is told, and when it can be another one."""
    if not choice:
        return "cannot be told: choose it in the harness's own settings"
    changes = {
        "session": "another one in the open session (inspan seat set)",
        "offered": "another one in the open session where it offers an option for it (inspan seat set), else with a new seat",
        "launch": "another one with a new seat",
    }
    return f"by {text(choice, 'by')}; {changes[text(choice, 'changes', default='launch')]}"


def _signals(mode: Json) -> str:
    """By what a console's state is known; nothing of the other modes, whose protocol says it."""
    if text(mode, "transport") != "terminal":
        return ""
    by, asks = ", ".join(texts(mode, "activity_by")), ", ".join(texts(mode, "needs_input_by"))
    looks = "; no signal for approvals: its screen is looked at" if flag(mode, "must_look_at_screen") else ""
    known = f"{by or 'nothing that is known'}; what it asks by {asks or 'nothing that is known'}{looks}"
    return f"{known} ({mode.get('screen_rules', 0)} rules)"


def _variables(harness: Json) -> str:
    """Which variables its seats get: what signs in on request, what says where its provider is always."""
    parts = [
        f"{', '.join(names)} {when}"
        for names, when in (
            (texts(harness, "auth_variables"), "on request (--forward-auth)"),
            (texts(harness, "locators"), "always"),
        )
        if names
    ]
    return "; ".join(parts)


def _left_behind(process: Json) -> str:
    fate = "is left alone" if text(process, "at_end") == "leave" else "is stopped with its launch"
    off = text(process, "off")
    return f"{text(process, 'name')}, which {fate}{f'; switched off by {off}' if off else ''}"


def _config(config: Json) -> str:
    if not config:
        return ""
    variable, how_far = text(config, "variable"), text(config, "isolation", default="unknown")
    named = f"{text(config, 'folder')}, or what {variable} names" if variable else text(config, "folder")
    facts = [f"isolation: {how_far}", f"writes into it: {text(config, 'writes_back', default='unknown')}"]
    if flag(config, "required"):
        facts.append("each seat has its own")
    elif flag(config, "writes_launch_flags"):
        facts.append("each seat has its own unless shared")
    elif variable or how_far == "home":
        facts.append("shared unless --isolated")
    if note := text(config, "note"):
        facts.append(note)
    return f"{named} ({'; '.join(facts)})"


def _claim(claim: Json) -> list[Piece]:
    support = text(claim, "support", default="unknown")
    since = text(claim, "since")
    tone = {"supported": "yes", "unsupported": "no"}.get(support, "unknown")
    note = text(claim, "note")
    shown = toned(tone) if tone != "unknown" else warn("unknown")
    return [
        shown,
        f" since {since}" if since else "",
        dim(f"  {text(claim, 'evidence', default='declared')}"),
        dim(f"  {cut(note, 80)}" if note else ""),
    ]


def _probe(context: Context, args: Namespace) -> int:
    from inspan.model.errors import UsageError

    if bool(args.harness) == bool(args.all):
        raise UsageError("Name one harness, or give --all.", hint="See `inspan harness list`.")
    ids = [text(one, "id") for one in context.harnesses()] if args.all else [args.harness]
    results = [record(context.call("POST", at("harnesses", one, "probe"))) for one in ids]
    if context.output.is_json:
        context.output.value(results if args.all else results[0])
    else:
        rows = [
            [
                bold(text(one, "harness")),
                toned(text(one, "installed", default="unknown")),
                text(one, "version", default="unknown"),
                toned(text(one, "tested", default="unknown")),
                toned(text(one, "signed_in", default="unknown")),
                text(one, "program", default="not found"),
            ]
            for one in results
        ]
        context.output.table(["HARNESS", "INSTALLED", "VERSION", "TESTED", "SIGNED IN", "PROGRAM"], rows)
        if not args.all or args.verbose:
            for one in results:
                _tell_probe(context.output, one, is_whole=not args.all)
        elif any(records(one, "problems") for one in results):
            context.output.remark(
                dim("  next: `inspan harness probe ID` says what stands in one's way; -v says it of all")
            )
    from .exits import Exit

    return 0 if args.all or text(results[0], "installed") == "yes" else Exit.HARNESS


def _tell_probe(output: Output, probe: Json, *, is_whole: bool) -> None:
    """What stands in the way, what is to be done first coming first; `is_whole` tells all that was found."""
    name = text(probe, "harness")
    for problem in records(probe, "problems"):
        output.line("  ", bold(name), f": {text(problem, 'message')}")
        if hint := text(problem, "hint"):
            output.line(dim(f"    next: {hint}"))
    if not is_whole:
        return
    for one in records(probe, "programs"):
        modes, version = ", ".join(texts(one, "modes")), text(one, "version", default="unknown")
        where = text(one, "program", default="not found")
        output.line("  ", dim(f"mode {modes}: "), f"{where}, version {version}")
    for one in records(probe, "runtime"):
        what = f"{text(one, 'name')} {text(one, 'wanted')}".strip()
        there = (
            f"{text(one, 'program', default='not found')}, version {text(one, 'version', default='unknown')}"
        )
        output.line("  ", dim(f"needs {what}: "), toned(text(one, "is_met", default="unknown")), f"  {there}")
    if providers := texts(probe, "providers"):
        output.line("  ", dim("variables are set for: "), ", ".join(providers))
    if by := text(probe, "signed_in_by"):
        output.line("  ", dim("signed in, says: "), by)
    elif hint := text(probe, "sign_in_hint"):
        output.line("  ", dim("to sign in: "), hint)


def _replay(context: Context, args: Namespace) -> int:
    from .replaying import replay

    return replay(context, args.harness, args.recording, mode=args.mode, size=args.size)


def _new(context: Context, args: Namespace) -> int:
    from .scaffold import scaffold

    return scaffold(context, args.harness, program=args.program, is_from_console=args.from_console)


def _lint(context: Context, args: Namespace) -> int:
    from .linting import lint

    return lint(context, args.target, with_contract=args.contract)


def _trust(context: Context, args: Namespace) -> int:
    from .trusting import trust

    return trust(context, args.harness, is_revoking=args.revoke)
