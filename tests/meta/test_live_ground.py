"""Where the ground for live tests is missing they say so, and are never green."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from support.live.netns import obstacle


def _found(name: str, path: str | None = None) -> str:
    return f"/sbin/{name}"


def _missing(name: str, path: str | None = None) -> None:
    return None


@pytest.fixture(autouse=True)
def fine_ground(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", _found)


def test_root_on_linux_with_iproute2_meets_no_obstacle() -> None:
    assert obstacle() is None


def test_another_user_than_root_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "run them as root, or set INSPAN_LIVE_OPTIONAL=1" in str(obstacle())


def test_a_machine_without_iproute2_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", _missing)
    assert "install iproute2" in str(obstacle())


def test_another_system_than_linux_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "darwin" in str(obstacle())
