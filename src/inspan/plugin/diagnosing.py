"""Diagnoses: what a harness's error means, or the last words of a turn, by the manifest's rules."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from inspan.model.manifest import Diagnosis, TurnTextFailure
from inspan.model.turn import CallError

__all__ = ["diagnose", "diagnose_text", "find_diagnosis", "say_how_given"]

_QUOTED_CHARACTERS = 500


def diagnose(
    error: CallError,
    diagnoses: Sequence[Diagnosis],
    *,
    sign_in_hint: str = "",
    auth_variables: Sequence[str] = (),
) -> CallError:
    """`error` with the code and the remedy of the first diagnosis that fits; unchanged where none does.

    Every criterion of a diagnosis must fit. The message stays the harness's own. A missing sign-in that no
    diagnosis knows gets `sign_in_hint`, the manifest's own words on how to sign in. Where a hint about a sign-in
    names one of `auth_variables`, it says as well how a seat gets that.
    """
    index = find_diagnosis(error, diagnoses)
    if index is not None:
        one = diagnoses[index]
        error = msgspec.structs.replace(error, code=one.code, hint=_hint(one, error.message))
    elif error.code == "auth_required" and sign_in_hint:
        error = msgspec.structs.replace(error, hint=sign_in_hint)
    if error.code != "auth_required":
        return error
    return msgspec.structs.replace(error, hint=say_how_given(error.hint, auth_variables))


def say_how_given(hint: str, auth_variables: Sequence[str]) -> str:
    """A hint on how to sign in and, where it names one of the variables, how that reaches a harness.

    A daemon knows no variable that was set after its start, and hands on none that signs in unless it is told to.
    """
    named = next((one for one in auth_variables if one in hint), None)
    if named is None or "`--env " in hint:
        return hint
    return (
        f"{hint} A variable that you set reaches it only through its seat: "
        f"`--env {named}`, once for each, at `inspan run` or `inspan seat add`."
    )


def find_diagnosis(error: CallError, diagnoses: Sequence[Diagnosis]) -> int | None:
    """The place of the first diagnosis that fits; `None` where none does."""
    return next((index for index, one in enumerate(diagnoses) if _fits(error, one)), None)


def diagnose_text(text: str, failures: Sequence[TurnTextFailure]) -> tuple[CallError, int] | None:
    """The error that a turn's last message tells, and the place of the rule that reads it; `None` where it is none.

    Only where the message begins is looked at, so that an answer that quotes an error is none.
    """
    for index, one in enumerate(failures):
        if re.match(one.pattern, text):
            message = text[:_QUOTED_CHARACTERS] or f"{one.title}."
            return CallError(code=one.code, message=message, hint=_hint(one, message)), index
    return None


def _hint(one: Diagnosis | TurnTextFailure, message: str) -> str:
    # Where the harness says in its own words what the title says, once is enough.
    title = "" if one.title.rstrip(".").casefold() in message.casefold() else f"{one.title}:"
    return " ".join(part for part in (title, one.cause, one.remedy) if part)


def _fits(error: CallError, diagnosis: Diagnosis) -> bool:
    if diagnosis.raw_code is not None and diagnosis.raw_code != error.raw_code:
        return False
    if diagnosis.message_pattern and not re.search(diagnosis.message_pattern, error.message):
        return False
    if diagnosis.data_pattern:
        data = msgspec.json.encode(error.raw).decode() if error.raw is not None else ""
        return re.search(diagnosis.data_pattern, data) is not None
    return True
