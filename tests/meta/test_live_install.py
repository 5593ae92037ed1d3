"""The installation cache of the live tests, with a scripted npm that counts how often it is asked."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.live.install import InstallError, install, read_pins

_NPM = """#!/bin/sh
echo "$*" >> "$NPM_CALLS"
[ "$1" = install ] || exit 0
bin="$3/node_modules/.bin"
mkdir -p "$bin"
printf '#!/bin/sh\\necho %s\\n' "$NPM_GIVES" > "$bin/opencode"
chmod +x "$bin/opencode"
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Npm:
    cache: Path
    calls: Path

    def installs(self) -> list[str]:
        return [line for line in self.calls.read_text().splitlines() if line.startswith("install ")]


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Npm:
    program = tmp_path / "bin" / "npm"
    program.parent.mkdir()
    program.write_text(_NPM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("INSPAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NPM_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("NPM_GIVES", read_pins()["opencode"].says)
    return _Npm(cache=tmp_path / "cache", calls=tmp_path / "calls")


def test_a_harness_is_installed_once_at_exactly_the_pinned_version(npm: _Npm) -> None:
    first, second = install("opencode"), install("opencode")
    assert first == second
    assert first.program.is_relative_to(npm.cache)
    assert len(npm.installs()) == 1
    assert npm.installs()[0].endswith(f" opencode-ai@{first.version}")


def test_only_the_named_package_may_run_its_installation_script(npm: _Npm) -> None:
    install("opencode")
    install_call, rebuild_call = npm.calls.read_text().splitlines()
    assert "--ignore-scripts" in install_call
    assert rebuild_call.startswith("rebuild ")
    assert rebuild_call.endswith(" opencode-ai")


def test_another_version_than_the_pinned_one_is_refused_and_leaves_nothing(
    npm: _Npm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPM_GIVES", "0.0.1")
    with pytest.raises(InstallError, match=r"'0\.0\.1'"):
        install("opencode")
    assert [path.name for path in npm.cache.iterdir() if path.is_dir()] == []


def test_two_that_ask_at_once_share_one_installation(npm: _Npm) -> None:
    threads = [threading.Thread(target=install, args=["opencode"]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(npm.installs()) == 1
