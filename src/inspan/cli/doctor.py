"""`inspan doctor`: is this machine, this home and this daemon well?"""

from __future__ import annotations

from .amounts import counted
from .arguments import Namespace, Parser
from .context import Context
from .exits import Exit
from .findings import Finding, find_all
from .output import bold, dim, toned, warn

__all__ = ["build_doctor"]


def build_doctor(parser: Parser) -> None:
    """Adds the arguments of `doctor`."""
    parser.set_defaults(run=_doctor)
    parser.example("inspan doctor", "one line a thing, with a remedy where one is needed")
    parser.example("inspan doctor --json", "for scripts; exits with 1 if something failed")


def _doctor(context: Context, _: Namespace) -> int:
    findings: list[Finding] = []
    for finding in find_all(context):
        findings.append(finding)
        if not context.output.is_json:
            _tell(context, finding)
    failed = sum(one.level == "fail" for one in findings)
    warned = sum(one.level == "warn" for one in findings)
    if context.output.is_json:
        context.output.value({"ok": failed == 0, "findings": [one._asdict() for one in findings]})
    else:
        context.output.line()
        context.output.line(
            f"{counted(len(findings), 'line')}, {counted(warned, 'warning')}, {counted(failed, 'failure')}"
        )
    return Exit.INTERNAL if failed else Exit.OK


def _tell(context: Context, finding: Finding) -> None:
    level = warn("warn") if finding.level == "warn" else toned(finding.level)
    context.output.line(level, " " * (5 - len(finding.level)), bold(finding.name), f"  {finding.fact}")
    if finding.remedy:
        context.output.line(dim(f"       next: {finding.remedy}"))
    context.output.flush()
