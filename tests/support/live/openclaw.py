"""Point OpenClaw at the scripted model, with the switches that it documents, and visit its gateway."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.live.arena import FAKE_KEY
from support.live.target import Target

__all__ = ["TARGET", "VISIT", "gateway_words"]

PORT = 18999
TOKEN = "scripted-gateway"

VISIT = f"""\
import json, re, sys, time, urllib.error, urllib.parse, urllib.request
root, signed = "http://127.0.0.1:{PORT}/agent-app", {{"Authorization": "Bearer {TOKEN}"}}

def get(path, headers, body=None):
    request = urllib.request.Request(root + path, headers=headers, data=json.dumps(body).encode() if body else None)
    try:
        with urllib.request.urlopen(request, timeout=100) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""

def until(look):
    end = time.monotonic() + 200
    while not (found := look()):
        if time.monotonic() > end:
            sys.exit("it took too long")
        time.sleep(0.2)
    return found

seen = {{}}
page = until(lambda: (lambda got: got[1] if got[0] == 200 else None)(get("/home", signed)))
headers = {{"X-A2App-Token": re.search('TOKEN = "([0-9a-f]{{48}})"', page)[1], "content-type": "application/json"}}
app = sys.argv[1]
seen["unsigned"] = get("/home", {{}})[0]
seen["served"] = get("/api/app/serve", headers, {{"app": app}})
seen["apps"] = json.loads(get("/api/apps", headers)[1])
seen["stopped"] = get("/api/app/stop", headers, {{"app": app}})
ask = lambda: get("/api/session/send", headers, {{"app": app, "message": "PLAIN well done"}})
seen["sent"] = until(lambda: (lambda got: None if "startup" in got[1] else got)(ask()))
if seen["sent"][0] == 200:
    read = lambda: json.loads(get("/api/session?app=" + urllib.parse.quote(app), headers)[1])
    seen["session"] = until(lambda: (lambda got: got if len(got["messages"]) > 1 else None)(read()))
print(json.dumps(seen))
"""
"""Signs in, opens the manager's page, and does with the app of its argument what the page does."""


def gateway_words(program: Path) -> list[str]:
    """Starts the gateway, where nobody but this machine reaches it."""
    words = f"gateway run --allow-unconfigured --port {PORT} --auth token --token {TOKEN} --bind loopback"
    return [str(program), *words.split()]


def _write_settings(home: Path, model_url: str) -> None:
    """Write `openclaw.json` into `home`: one provider, the scripted model."""
    provider: dict[str, Any] = {
        "baseUrl": f"{model_url}/v1",
        "apiKey": FAKE_KEY,
        "api": "openai-completions",
        "models": [
            {
                "id": "scripted-1",
                "name": "Scripted 1",
                "reasoning": False,
                "input": ["text"],
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                "contextWindow": 200000,
                "maxTokens": 8192,
            }
        ],
    }
    settings: dict[str, Any] = {
        "models": {"mode": "replace", "providers": {"scripted": provider}},
        "agents": {"defaults": {"model": {"primary": "scripted/scripted-1"}}},
        "update": {"checkOnStart": False},
    }
    folder = home / ".openclaw"
    folder.mkdir()
    (folder / "openclaw.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


TARGET = Target(pin="openclaw", variables={"OPENCLAW_SKIP_CHANNELS": "1"}, write_settings=_write_settings)
