"""Diagnoses: what a harness's error means, by the manifest's rules."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from inspan.model.manifest import Diagnosis
from inspan.model.turn import CallError

__all__ = ["diagnose"]


def diagnose(error: CallError, diagnoses: Sequence[Diagnosis]) -> CallError:
    """`error` with the code and the remedy of the first diagnosis that fits; unchanged where none does.

    Every criterion of a diagnosis must fit. The message stays the harness's own.
    """
    for one in diagnoses:
        if _fits(error, one):
            return msgspec.structs.replace(error, code=one.code, hint=f"{one.title}: {one.remedy}")
    return error


def _fits(error: CallError, diagnosis: Diagnosis) -> bool:
    if diagnosis.raw_code is not None and diagnosis.raw_code != error.raw_code:
        return False
    if diagnosis.message_pattern and not re.search(diagnosis.message_pattern, error.message):
        return False
    if diagnosis.data_pattern:
        data = msgspec.json.encode(error.raw).decode() if error.raw is not None else ""
        return re.search(diagnosis.data_pattern, data) is not None
    return True
