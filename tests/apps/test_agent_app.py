"""`agent-app` with real apps: made, served, shown, stopped and removed, and nothing that is not the app's is ended."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspan.apps.files import locked, write_json
from inspan.apps.folder import open_folder
from inspan.apps.ports import who_answers
from inspan.apps.processes import birth_of, end_tree, is_alive
from inspan.apps.registry import Registry
from support.apps.programs import (
    a2app,
    agent_app,
    answering,
    board,
    find_program,
    free_port,
    home_for_test,
    programs_at_once,
    scaffolded,
)


@pytest.fixture
def ground() -> Iterator[Path]:
    with home_for_test() as folder:
        yield folder


@pytest.fixture
def todo(ground: Path) -> Iterator[Path]:
    with scaffolded(ground) as path:
        yield path


def _change(path: Path, **given: object) -> None:
    value = json.loads((path / "manifest.json").read_text())
    write_json(path / "manifest.json", {**value, **given})


def _pipeline(path: Path, **given: str) -> None:
    value = json.loads((path / "manifest.json").read_text())
    _change(path, pipeline={**value["pipeline"], **given})


def _wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 30
    while is_alive(pid):
        assert time.monotonic() < deadline, "it did not end"


# -- scaffold


@pytest.mark.requirement("P9")
def test_a_new_app_has_an_id_a_secret_and_a_port_and_runs_as_it_is(todo: Path) -> None:
    manifest = json.loads((todo / "manifest.json").read_text())
    assert len(manifest["id"]) == 12
    assert int(manifest["id"], 16) >= 0
    token = todo / ".agent-token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert len(token.read_text().strip()) >= 32
    assert ".a2app/" in (todo / ".gitignore").read_text()
    assert json.loads((todo / ".a2app" / "system-hashes.json").read_text())["serve.py"].startswith("sha256:")
    done = agent_app(str(todo), "validate")
    assert (done.status, done.json["problems"], done.json["warnings"]) == (0, [], [])
    done = agent_app(str(todo), "serve")
    assert done.status == 0, done.err
    assert done.json["url"] == f"http://127.0.0.1:{manifest['port']}"
    made = a2app(str(todo), "data", "items", "create", "--title", "Milk", "--due", "tomorrow")
    assert made.status == 0, made.err
    assert a2app(str(todo), "home", "items", made.json["id"], "finish-item").status == 0
    with socket.create_connection(("127.0.0.1", manifest["port"])) as page:
        page.sendall(b"GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
        assert page.recv(64).startswith((b"HTTP/1.1 200", b"HTTP/1.0 200"))


@pytest.mark.requirement("P9")
def test_scaffold_says_what_it_made_in_one_json_line(ground: Path) -> None:
    done = agent_app(str(ground / "shop"), "scaffold", "--name", "My Shop", "--blueprint", "blueprint-python")
    assert list(done.json) == ["ok", "id", "dir", "port", "adapterVersion"]
    assert done.json["dir"] == str(ground / "shop")
    assert open_folder(ground / "shop").name == "My Shop"
    [row] = Registry(ground / "home").list()
    assert (row.id, row.path, row.blueprint) == (done.json["id"], ground / "shop", "python")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        pytest.param(("--port", "http"), 2, id="a port that is none"),
        pytest.param(("--port", "70000"), 2, id="a port that is too large"),
        pytest.param(("--blueprint", "cobol"), 2, id="an unknown blueprint"),
        pytest.param(("--blueprint", "../../etc"), 2, id="a blueprint elsewhere"),
        pytest.param(("--name", " "), 2, id="a blank name"),
        pytest.param(("--name", "a\x1b[31m"), 2, id="a name that drives a terminal"),
        pytest.param(("--name", "x" * 500), 2, id="a name that is too long"),
        pytest.param(("--colour", "red"), 2, id="an unknown flag"),
        pytest.param(("extra",), 2, id="a word too many"),
    ],
)
@pytest.mark.requirement("P9")
def test_a_scaffold_that_is_refused_leaves_nothing_behind(
    ground: Path, words: tuple[str, ...], status: int
) -> None:
    done = agent_app(str(ground / "new" / "shop"), "scaffold", *words)
    assert (done.status, done.out) == (status, "")
    assert not (ground / "new").exists()
    assert Registry(ground / "home").list() == []


@pytest.mark.requirement("P9")
def test_an_app_is_not_scaffolded_over_and_a_full_folder_only_when_it_is_forced(ground: Path) -> None:
    (ground / "full").mkdir()
    (ground / "full" / "AGENTS.md").write_text("mine")
    assert agent_app(str(ground / "full"), "scaffold").status == 2
    done = agent_app(str(ground / "full"), "scaffold", "--force")
    assert done.status == 0, done.err
    assert (ground / "full" / "AGENTS.md").read_text() == "mine"
    assert agent_app(str(ground / "full"), "scaffold", "--force").status == 1
    (ground / "file").write_text("x")
    assert agent_app(str(ground / "file"), "scaffold").status == 2


@pytest.mark.requirement("P9")
def test_a_scaffold_that_fails_half_way_takes_all_of_it_back_and_nothing_else(ground: Path) -> None:
    (ground / "half").mkdir()
    (ground / "half" / "app.py").write_text("mine")
    done = agent_app(str(ground / "half"), "scaffold", "--force")
    assert (done.status, "app.py is there already" in done.err) == (1, True)
    assert [path.name for path in (ground / "half").iterdir()] == ["app.py"]
    assert (ground / "half" / "app.py").read_text() == "mine"
    assert Registry(ground / "home").list() == []


@pytest.mark.requirement("P9", "P36")
def test_a_scaffold_that_is_killed_at_any_moment_is_done_over_by_the_next(ground: Path) -> None:
    """Before each call that changes a file or a folder in turn, until one scaffold gets through."""
    start = (
        "import os, sys\n"
        "from inspan.apps.programs.agent_app.main import main\n"
        "left = int(sys.argv.pop(1))\n"
        "def watch(event, args):\n"
        "    global left\n"
        "    changes = event in ('os.mkdir', 'os.rename', 'os.remove') or event == 'open' and args[2] & os.O_CREAT\n"
        "    if changes and sys.argv[1] in str(args):\n"
        "        left -= 1\n"
        "        if left < 0:\n"
        "            os.kill(os.getpid(), 9)\n"
        "sys.addaudithook(watch)\n"
        "sys.exit(main())\n"
    )
    killed = 0
    for step in range(100):
        shop = ground / f"shop{step}"
        done = subprocess.run(
            [sys.executable, "-c", start, str(step), str(shop), "scaffold"], capture_output=True, check=False
        )
        if done.returncode == 0:
            break
        assert done.returncode == -9, done.stderr
        killed += 1
        again = agent_app(str(shop), "scaffold")
        if (again.status, step) == (1, step) and "an app already" in again.err:
            continue  # it was killed after the last thing that makes the folder an app
        assert again.status == 0, f"killed at step {step}: {again.err}"
        assert not (shop / ".a2app" / "scaffold.json").exists()
        assert list(shop.rglob("*.tmp")) == []
    assert 10 < killed < 99


def test_a_scaffold_takes_away_nothing_that_somebody_changed_in_what_a_killed_one_left(ground: Path) -> None:
    left = ground / "left"
    (left / ".a2app").mkdir(parents=True)
    (left / ".a2app" / "scaffold.json").write_text(
        json.dumps({"app.py": "made", "serve.py": "made", "../out": "x", "/etc/hostname": "x"})
    )
    (left / "app.py").write_text("made by me")
    (left / "serve.py").write_text("ma")
    (ground / "out").write_text("x")
    assert agent_app(str(left), "scaffold").status == 2
    assert (left / "app.py").read_text() == "made by me"
    assert not (left / "serve.py").exists()
    assert (ground / "out").read_text() == "x"


@pytest.mark.requirement("P8", "P9")
def test_each_step_from_nothing_to_a_finished_task_names_the_next_one(
    ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever follows only what the programs say last gets there; every line is one that can be run as it stands."""
    monkeypatch.chdir(ground)
    assert "next: agent-app todo scaffold" in agent_app("todo").err
    assert "next: agent-app todo serve\n" in agent_app("todo", "scaffold").err
    with open(ground / "todo" / "app.py", "a") as file:
        file.write(
            '\n\napp.event("item.review")\n\n\n@home.operation()\ndef ask_review() -> object:\n'
            '    return app.trigger("item.review", {}, capability="review")\n'
        )
    assert "next: agent-app todo serve\n" in agent_app("todo").err
    try:
        assert "next: a2app todo\n" in agent_app("todo", "serve").err
        assert "next: agent-app todo dev, or agent-app todo serve\n" in agent_app("todo", "validate").err
        assert "next: agent-app todo validate\n" in agent_app("todo", "dev").err
        assert "next: agent-app todo promote\n" in agent_app("todo", "validate").err
        assert agent_app("todo", "stop", "--dev").status == 0
        assert "next: agent-app todo backup list\n" in agent_app("todo", "restore", "none").err
        asked = a2app("todo", "home", "items", "finish-item")
        assert (asked.status, "next: a2app todo home items finish-item --item VALUE\n" in asked.err) == (
            1,
            True,
        )
        assert "there are: items." in a2app("todo", "data", "item", "list").err
        result = json.loads(a2app("todo", "home", "ask-review").out.splitlines()[3])
        task = result["taskId"]
        assert set(result) == {"eventId", "taskId"}
        taken = a2app("todo", "tasks", "next")
        assert taken.json["task"]["id"] == task
        assert f"next: a2app todo tasks complete {task} --result JSON\n" in taken.err
        assert (
            "next: a2app todo tasks complete ID --result JSON" in a2app("todo", "tasks", "complete", task).err
        )
        assert a2app("todo", "tasks", "complete", task, "--result", "{}").json["status"] == "completed"
    finally:
        agent_app("todo", "stop", "--dev")
        agent_app("todo", "stop")


def test_a_hint_for_a_command_line_without_an_app_names_none() -> None:
    assert "next: agent-app APP scaffold\n" in agent_app("scaffold").err
    assert "next: a2app APP tasks\n" in a2app("tasks").err


def test_a_name_cannot_become_anything_but_a_name(ground: Path) -> None:
    name = "\"; import os # {{id}} ' </h1>"
    done = agent_app(str(ground / "odd"), "scaffold", "--name", name)
    assert done.status == 0, done.err
    assert open_folder(ground / "odd").name == name
    assert agent_app(str(ground / "odd"), "validate").status == 0


# -- serve and stop


@pytest.mark.requirement("P9")
def test_an_app_is_served_once_and_stopped_with_all_that_it_started(todo: Path) -> None:
    first = agent_app(str(todo), "serve").json
    record = json.loads((todo / ".a2app" / "serve.json").read_text())
    assert (record["pid"], record["healthy"], record["birth"]) == (first["pid"], True, birth_of(first["pid"]))
    again = agent_app(str(todo), "serve").json
    assert (again["pid"], again["alreadyRunning"]) == (first["pid"], True)
    assert set(first["agentWork"]) == {
        "state",
        "running",
        "queuesAgentWork",
        "tasksWaiting",
        "baseUrl",
        "bridgeTargetsLive",
    }
    assert agent_app(str(todo), "stop").json["stopped"] == first["pid"]
    _wait_until_gone(first["pid"])
    assert who_answers(first["port"]).kind == "nobody"
    assert agent_app(str(todo), "stop").json["stopped"] is None
    assert not (todo / ".a2app" / "serve.json").exists()


@pytest.mark.requirement("P9")
def test_an_app_whose_manifest_names_another_port_by_now_is_found_where_it_runs(todo: Path) -> None:
    first = agent_app(str(todo), "serve").json
    _change(todo, port=free_port())
    again = agent_app(str(todo), "serve").json
    assert (again["pid"], again["url"], again["alreadyRunning"]) == (first["pid"], first["url"], True)
    assert agent_app("list", "--json").json["apps"][0]["url"] == first["url"]
    assert a2app(str(todo), "identity").status == 0
    assert agent_app(str(todo), "stop").json["stopped"] == first["pid"]


@pytest.mark.requirement("P9")
def test_two_that_serve_an_app_at_once_start_it_once(todo: Path) -> None:
    program = find_program("agent-app")
    done = list(programs_at_once([[program, str(todo), "serve"] for _ in range(3)]))
    assert [one.returncode for one in done] == [0] * 3, [one.stderr for one in done]
    values = [json.loads(one.stdout) for one in done]
    assert len({one["pid"] for one in values}) == 1
    assert sorted(one.get("alreadyRunning", False) for one in values) == [False, True, True]


@pytest.mark.requirement("P9")
def test_a_served_app_outlives_the_program_that_started_it_and_its_group(todo: Path) -> None:
    program = find_program("agent-app")
    done = subprocess.run(
        [program, str(todo), "serve"], capture_output=True, check=True, start_new_session=True
    )
    pid = json.loads(done.stdout)["pid"]
    assert os.getsid(pid) == pid
    assert is_alive(pid)


@pytest.mark.requirement("P9")
def test_a_port_that_somebody_else_holds_is_said_and_left_alone(todo: Path) -> None:
    held: list[bytes] = []

    def hang(one: socket.socket) -> None:
        while data := one.recv(65536):
            held.append(data)

    with answering(hang) as port:
        _change(todo, port=port)
        for words in (("serve",), ("open",)):
            done = agent_app(str(todo), *words)
            assert done.status == 1, words
            assert f"ort {port}" in done.err
        assert agent_app(str(todo), "stop").json["stopped"] is None
        assert a2app(str(todo), "tasks").status == 3
        token = (todo / ".agent-token").read_text().strip().encode()
        assert not any(token in one for one in held)


def test_an_app_that_another_apps_server_answers_for_is_not_opened_nor_served(
    todo: Path, ground: Path
) -> None:
    with board(ground) as other:
        _change(todo, port=other.served.port)
        done = agent_app(str(todo), "open")
        assert (done.status, done.json["error"]) == (1, "port held by another app")
        assert done.json["servingId"] == "conformance_kanban"
        assert agent_app(str(todo), "serve").status == 1
        assert other.served.get("/api/_a2app").status == 200


@pytest.mark.requirement("P9")
def test_a_pid_that_is_another_programs_by_now_is_left_alone(todo: Path) -> None:
    bystander = subprocess.Popen(
        [sys.executable, "-I", "-c", "import time; time.sleep(600)"], start_new_session=True
    )
    try:
        record = {
            "pid": bystander.pid,
            "port": open_folder(todo).port,
            "url": "",
            "startedAt": "",
            "healthy": True,
        }
        write_json(todo / ".a2app" / "serve.json", {**record, "birth": "an earlier boot:42"})
        done = agent_app(str(todo), "stop")
        assert (done.json["stopped"], done.json["cleared"]) == (None, True)
        assert bystander.poll() is None
        # A record of the original programs has no start time: the app itself has to answer before anything is ended.
        write_json(todo / ".a2app" / "serve.json", record)
        done = agent_app(str(todo), "stop")
        assert (done.status, "left alone" in done.err) == (1, True)
        assert bystander.poll() is None
        assert agent_app(str(todo), "serve").status == 1
    finally:
        bystander.kill()
        bystander.wait()


def test_a_record_without_a_start_time_is_believed_when_that_process_holds_the_apps_port(todo: Path) -> None:
    pid = agent_app(str(todo), "serve").json["pid"]
    record = json.loads((todo / ".a2app" / "serve.json").read_text())
    del record["birth"]
    write_json(todo / ".a2app" / "serve.json", record)
    assert agent_app(str(todo), "stop").json["stopped"] == pid
    _wait_until_gone(pid)


@pytest.mark.requirement("P9")
def test_a_copy_of_a_running_app_neither_counts_as_running_nor_ends_the_other(
    todo: Path, ground: Path
) -> None:
    first = agent_app(str(todo), "serve").json
    copy = ground / "copy"
    shutil.copytree(todo, copy)
    # Nothing of the copy runs, so it is stopped already.
    done = agent_app(str(copy), "stop")
    assert (done.status, done.json["stopped"]) == (0, None)
    done = agent_app(str(copy), "serve")
    assert (done.status, str(todo) in done.err) == (1, True)
    rows = {row["path"]: (row["status"], row["url"]) for row in agent_app("list", "--json").json["apps"]}
    assert rows == {str(todo): ("running", first["url"]), str(copy): ("unreachable", None)}
    done = agent_app(str(copy), "open", "--print-only")
    assert (done.status, done.json["ok"], str(todo) in done.err) == (1, False, True)
    # Nor does what is meant for the copy reach the records of the other.
    done = a2app(str(copy), "data", "items", "create", "--title", "Stray")
    assert (done.status, str(todo) in done.err) == (3, True)
    assert is_alive(first["pid"])
    assert agent_app(str(todo), "serve").json["pid"] == first["pid"]
    _change(copy, id="0123456789ab", port=free_port())
    assert agent_app(str(copy), "serve").json["pid"] != first["pid"]
    agent_app(str(copy), "stop")
    assert is_alive(first["pid"])


@pytest.mark.requirement("P9")
def test_a_copy_of_an_app_is_removed_while_the_other_runs(todo: Path, ground: Path) -> None:
    first = agent_app(str(todo), "serve").json
    copy = ground / "copy"
    shutil.copytree(todo, copy)

    done = agent_app(str(copy), "remove", "--yes")

    assert (done.status, copy.exists()) == (0, False)
    assert agent_app(str(todo), "serve").json["pid"] == first["pid"]
    assert [row["path"] for row in agent_app("list", "--json").json["apps"]] == [str(todo)]


def test_an_app_whose_folder_was_renamed_while_it_runs_can_still_be_stopped(todo: Path, ground: Path) -> None:
    pid = agent_app(str(todo), "serve").json["pid"]
    todo.rename(ground / "renamed")
    assert agent_app(str(ground / "renamed"), "serve").json["alreadyRunning"] is True
    assert agent_app(str(ground / "renamed"), "stop").json["stopped"] == pid
    _wait_until_gone(pid)


@pytest.mark.requirement("P9")
def test_an_app_that_was_started_elsewhere_is_not_ended(ground: Path) -> None:
    with board(ground) as one:
        done = agent_app(one.ref, "stop")
        assert (done.status, "not started by agent-app serve" in done.err) == (1, True)
        assert one.served.get("/api/_a2app").status == 200


def test_an_app_whose_record_was_lost_is_still_found_and_stopped(todo: Path) -> None:
    pid = agent_app(str(todo), "serve").json["pid"]
    (todo / ".a2app" / "serve.json").unlink()
    assert agent_app(str(todo), "stop").json["stopped"] == pid
    _wait_until_gone(pid)


@pytest.mark.requirement("P9")
def test_after_the_app_was_killed_it_is_served_anew(todo: Path) -> None:
    first = agent_app(str(todo), "serve").json["pid"]
    os.killpg(first, signal.SIGKILL)
    _wait_until_gone(first)
    assert [app["status"] for app in agent_app("list", "--json").json["apps"]] == ["stopped"]
    again = agent_app(str(todo), "serve").json
    assert again["pid"] != first
    assert "alreadyRunning" not in again


@pytest.mark.requirement("P9")
def test_a_serve_that_is_killed_half_way_leaves_nothing_that_the_next_one_cannot_clear(todo: Path) -> None:
    _pipeline(todo, start='echo $$ > started; exec "$A2APP_PYTHON" -I -c "import time; time.sleep(600)"')
    program = subprocess.Popen([find_program("agent-app"), str(todo), "serve"], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (todo / "started").exists() or not (todo / "started").read_text().strip():
        assert time.monotonic() < deadline, "it was not started"
    program.kill()
    program.wait()
    left = int((todo / "started").read_text())
    assert is_alive(left)
    _pipeline(todo, start='exec "$A2APP_PYTHON" serve.py')
    served = agent_app(str(todo), "serve")
    assert served.status == 0, served.err
    _wait_until_gone(left)
    assert agent_app(str(todo), "stop").json["stopped"] == served.json["pid"]


@pytest.mark.requirement("P9")
def test_what_a_killed_serve_had_no_time_to_note_is_found_and_stopped(todo: Path) -> None:
    launch = "0123456789abcdef"
    sleep = [sys.executable, "-I", "-c", "import time; time.sleep(600)"]
    started = subprocess.Popen(sleep, env={**os.environ, "A2APP_LAUNCH": launch}, start_new_session=True)
    other = subprocess.Popen(sleep, env={**os.environ, "A2APP_LAUNCH": "another"}, start_new_session=True)
    try:
        dead = subprocess.Popen([sys.executable, "-I", "-c", "pass"])
        dead.wait()
        record = {
            "pid": dead.pid,
            "port": open_folder(todo).port,
            "healthy": False,
            "launch": launch,
            "birth": "gone:1",
        }
        write_json(todo / ".a2app" / "serve.json", record)
        assert agent_app(str(todo), "stop").json["stopped"] == started.pid
        _wait_until_gone(started.pid)
        assert other.poll() is None
    finally:
        for one in (started, other):
            one.kill()
            one.wait()


@pytest.mark.parametrize(
    ("start", "said"),
    [
        pytest.param("echo from the app >&2; exit 3", "ended while it was started (status 3)", id="it ends"),
        pytest.param("no-such-program-here", "status 127", id="it does not exist"),
        pytest.param("", "no start command", id="it is empty"),
    ],
)
@pytest.mark.requirement("P9")
def test_an_app_that_does_not_start_is_an_error_with_its_output_and_leaves_no_record(
    todo: Path, start: str, said: str
) -> None:
    _pipeline(todo, start=start)
    done = agent_app(str(todo), "serve")
    assert (done.status, done.out) == (1, "")
    assert said in done.err
    assert ("from the app" in done.err) == ("echo" in start)
    assert not (todo / ".a2app" / "serve.json").exists()
    assert not (todo / ".a2app" / "serve.lock").exists()


@pytest.mark.requirement("P9")
def test_an_app_that_never_answers_is_ended_with_all_that_it_started(
    todo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspan.apps.starting.wait_until_healthy.__kwdefaults__", {"within_s": 0.5})
    _pipeline(todo, start=f'"{sys.executable}" -I -c "import time; time.sleep(600)" & echo $! > child; wait')
    done = agent_app(str(todo), "serve")
    assert (done.status, "did not answer" in done.err) == (1, True)
    _wait_until_gone(int((todo / "child").read_text()))
    assert not (todo / ".a2app" / "serve.json").exists()


def test_an_app_that_answers_as_another_is_refused_and_ended(todo: Path) -> None:
    manifest = json.loads((todo / "manifest.json").read_text())
    liar = (
        "import http.server, json, os\n"
        "class H(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        body = json.dumps({'a2app': True, 'app': {'id': 'liar', 'name': 'L'}}).encode()\n"
        "        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers()\n"
        "        self.wfile.write(body)\n"
        "    def log_message(self, *a): pass\n"
        "http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), H).serve_forever()\n"
    )
    (todo / "liar.py").write_text(liar)
    _pipeline(todo, start='exec "$A2APP_PYTHON" liar.py')
    done = agent_app(str(todo), "serve")
    assert (done.status, "another one" in done.err) == (1, True)
    assert who_answers(manifest["port"]).kind == "nobody"


@pytest.mark.requirement("P9")
def test_a_failing_build_is_an_error_and_nothing_is_started(todo: Path) -> None:
    _pipeline(todo, build="echo broken pieces; exit 4")
    for verb in ("serve", "validate"):
        done = agent_app(str(todo), verb)
        assert done.status == 1
        assert "broken pieces" in done.err
    assert who_answers(open_folder(todo).port).kind == "nobody"


@pytest.mark.requirement("P9")
def test_the_install_step_runs_only_when_it_is_asked_for(todo: Path) -> None:
    _pipeline(
        todo, install="echo x >> installed", start='test "$A2APP_ENV" = live && exec "$A2APP_PYTHON" serve.py'
    )
    assert agent_app(str(todo), "serve").status == 0
    assert not (todo / "installed").exists()
    agent_app(str(todo), "stop")
    assert agent_app(str(todo), "serve", "--install").status == 0
    assert (todo / "installed").read_text() == "x\n"


@pytest.mark.requirement("P9")
def test_a_changed_file_of_the_framework_is_neither_served_nor_found_right(todo: Path) -> None:
    (todo / "serve.py").write_text((todo / "serve.py").read_text() + "\n# mine\n")
    for verb in ("serve", "validate", "dev"):
        done = agent_app(str(todo), verb)
        assert (done.status, "serve.py" in done.err) == (1, True), verb
    assert who_answers(open_folder(todo).port).kind == "nobody"


@pytest.mark.requirement("P9")
def test_a_manifest_of_another_version_is_not_served(todo: Path) -> None:
    _change(todo, agentAppVersion="7.0.0")
    for verb in ("serve", "validate"):
        done = agent_app(str(todo), verb)
        assert (done.status, "7.0.0" in done.err) == (1, True)
    assert agent_app("list", "--json").json["apps"][0]["status"] == "stopped"


def test_while_another_program_works_on_the_app_nothing_is_started(
    todo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspan.apps.files.locked.__wrapped__.__kwdefaults__", {"timeout_s": 0.05})
    with locked(todo / ".a2app" / "serve.lock"):
        for verb in ("serve", "stop", "dev", "promote"):
            done = agent_app(str(todo), verb)
            assert (done.status, "is held by process" in done.err) == (1, True), verb


# -- open


@pytest.mark.requirement("P24", "P25")
def test_a_page_is_opened_by_the_harness_command_and_its_address_always_said(
    todo: Path, ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    agent_app(str(todo), "serve")
    url = f"http://127.0.0.1:{open_folder(todo).port}"
    done = agent_app(str(todo), "open")
    assert (done.status, done.json["opened"], done.json["via"], done.json["reason"]) == (
        0,
        False,
        "none",
        "CI is set",
    )
    assert done.json["url"] == url
    assert url in done.err
    done = agent_app(str(todo), "open", "--print-only")
    assert (done.status, done.json["via"], done.json["url"]) == (0, "print-only", url)
    touch = shutil.which("touch")
    monkeypatch.setenv("AGENT_APP_OPEN_CMD", f"{touch} {ground / 'opened'} --")
    monkeypatch.chdir(ground)
    done = agent_app(str(todo), "open")
    assert (done.json["opened"], done.json["via"]) == (True, "harness-cmd")
    deadline = time.monotonic() + 30
    while not (ground / "opened").exists():
        assert time.monotonic() < deadline, "the command was not started"
    monkeypatch.setenv("AGENT_APP_OPEN_CMD", "no-such-program-here")
    done = agent_app(str(todo), "serve", "--open")
    assert (done.status, done.json["opened"], done.json["reason"]) == (0, False, "CI is set")
    assert "AGENT_APP_OPEN_CMD" in done.err
    assert "opened" not in agent_app(str(todo), "serve").json


@pytest.mark.requirement("P24")
def test_an_app_that_is_stopped_is_not_opened(todo: Path) -> None:
    done = agent_app(str(todo), "open")
    assert (done.status, done.json["ok"], done.json["error"]) == (3, False, "not serving")
    assert "serve" in done.json["hint"]


# -- work for agents


def test_work_that_no_bridge_takes_is_said(todo: Path) -> None:
    app = todo / "app.py"
    app.write_text(
        app.read_text()
        + "\n\ndef overdue(item):\n    app.trigger('item.overdue', {'item': item}, capability='remind')\n"
    )
    done = agent_app(str(todo), "serve")
    work = done.json["agentWork"]
    assert (work["state"], work["queuesAgentWork"], work["tasksWaiting"]) == ("absent", True, 0)
    assert "bridge" in done.err
    record = {
        "pid": os.getpid(),
        "birth": birth_of(os.getpid()),
        "harness": "h",
        "mode": "headless",
        "baseUrl": work["baseUrl"],
    }
    write_json(todo / ".a2app" / "bridge.json", record)
    done = agent_app(str(todo), "serve")
    assert (done.json["agentWork"]["state"], done.json["agentWork"]["bridgeTargetsLive"]) == ("running", True)
    assert "note:" not in done.err
    assert agent_app("list", "--json").json["apps"][0]["bridge"] == "h/headless"
    assert agent_app(str(todo), "remove", "--yes").status == 1
    write_json(todo / ".a2app" / "bridge.json", {**record, "birth": "another:1"})
    assert agent_app(str(todo), "serve").json["agentWork"]["state"] == "stale"


# -- remove, skills, verbs


@pytest.mark.requirement("P9")
def test_remove_wants_to_be_sure_and_then_stops_and_deletes(todo: Path, ground: Path) -> None:
    pid = agent_app(str(todo), "serve").json["pid"]
    assert agent_app(str(todo), "remove").status == 2
    assert todo.exists()
    assert agent_app(str(todo), "remove", "--yes").json["removed"] == str(todo)
    _wait_until_gone(pid)
    assert sorted(path.name for path in ground.iterdir()) == ["home"]
    assert agent_app("list", "--json").json["apps"] == []


def test_a_folder_that_holds_more_than_an_app_is_not_deleted(
    todo: Path, ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ground / "link").symlink_to(todo)
    assert agent_app(str(ground / "link"), "remove", "--yes").status == 1
    (todo / "inner").mkdir()
    monkeypatch.chdir(todo / "inner")
    assert agent_app(str(todo), "remove", "--yes").status == 1
    monkeypatch.chdir(ground)
    monkeypatch.setenv("HOME", str(todo / "inner"))
    assert agent_app(str(todo), "remove", "--yes").status == 1
    assert (todo / "manifest.json").exists()


@pytest.mark.requirement("P9")
def test_skills_are_listed_found_and_copied(ground: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skills = ground / "skills"
    (skills / "one").mkdir(parents=True)
    (skills / "one" / "SKILL.md").write_text(
        "---\nname: one\nactivity: operator\ndescription: Does one: thing\n---\nText\n"
    )
    (skills / "QUALITY.md").write_text("shared")
    monkeypatch.setattr("inspan.apps.programs.agent_app.skills.SKILLS_FOLDER", skills)
    monkeypatch.setattr("inspan.apps.programs.agent_app.skills.find_skills.__defaults__", (skills,))
    done = agent_app("skills", "--json")
    assert done.json["skills"] == [{"name": "one", "activity": "operator", "description": "Does one: thing"}]
    assert agent_app("skills").out == "one  Does one: thing\n"
    assert agent_app("skills", "--path").out == f"{skills}\n"
    for _ in range(2):
        assert agent_app("skills", "--install", str(ground / "there")).json["skills"] == ["one"]
    assert (ground / "there" / "one" / "SKILL.md").exists()
    assert (ground / "there" / "QUALITY.md").read_text() == "shared"
    (ground / "file").write_text("x")
    assert agent_app("skills", "--install", str(ground / "file")).status == 1


def test_the_users_own_conventions_are_printed_safely(ground: Path) -> None:
    assert "no conventions" in agent_app("global").out
    (ground / "home").mkdir(exist_ok=True)
    (ground / "home" / "GLOBAL_AGENT_APP.md").write_text("Be brief.\x1b[31m\nAlways.\n")
    assert agent_app("global").out == "Be brief.\\x1b[31m\nAlways.\n"
    assert agent_app("global", "--path").out.strip().endswith("GLOBAL_AGENT_APP.md")


@pytest.mark.requirement("P9", "P8")
def test_a_verb_first_a_verb_of_the_other_program_and_an_unknown_one_are_usage_errors(todo: Path) -> None:
    ref = str(todo)
    for words, line in (
        (["serve", ref], f"agent-app {ref} serve"),
        (["serve", ref, "--open"], f"agent-app {ref} serve --open"),
        (["tasks", ref, "next"], f"a2app {ref} tasks next"),
        ([ref, "tasks", "next", "--wait", "5"], f"a2app {ref} tasks next --wait 5"),
        ([ref, "data", "items", "list"], f"a2app {ref} data items list"),
        ([ref, "list"], "agent-app list"),
        ([ref, "frob"], "agent-app --help"),
        ([ref, "import", "x.zip"], "Verbs"),
        ([ref], "One of"),
        ([ref, "serve", "--port", "1"], "Usage"),
        ([ref, "serve", "now"], "Usage"),
        ([ref, "restore"], "backup list"),
        (["nowhere", "serve"], "agent-app list"),
    ):
        done = agent_app(*words)
        assert (done.status, done.out) == (2, ""), words
        assert line in done.err, (words, done.err)


@pytest.mark.requirement("P9")
def test_help_says_what_each_verb_does(todo: Path) -> None:
    for verb in (
        "scaffold",
        "validate",
        "serve",
        "stop",
        "open",
        "backup",
        "restore",
        "dev",
        "promote",
        "remove",
        "forget",
    ):
        done = agent_app(str(todo), verb, "--help")
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith(f"usage: agent-app {'DIR' if verb == 'scaffold' else 'APP'} {verb}")
        assert agent_app("help", verb).out == done.out
        assert verb in agent_app("--help").out
    for verb in ("list", "skills", "global"):
        assert agent_app(verb, "--help").out.startswith(f"usage: agent-app {verb}")
    assert agent_app().status == 2


@pytest.mark.requirement("P9")
def test_bridge_is_handed_on_with_its_words(todo: Path) -> None:
    done = agent_app(str(todo), "bridge", "status")
    assert done.status == 0, done.err
    assert done.json["app"]["id"] == open_folder(todo).id
    assert agent_app(str(todo), "bridge", "frob").status == 2
    assert agent_app(str(todo), "bridge", "start", "--help").out == agent_app("help", "bridge").out


# -- processes


def test_a_tree_of_processes_that_ignores_term_is_killed_with_its_grandchildren() -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    parent = (
        f"import signal, subprocess, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"p = subprocess.Popen([sys.executable, '-I', '-c', {stubborn!r}], stdout=subprocess.PIPE)\n"
        f"p.stdout.readline(); print(p.pid, flush=True); p.wait()"
    )
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", parent], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    assert end_tree(process.pid, "another boot:1") is True
    assert is_alive(child)
    end_tree(process.pid, birth_of(process.pid), term_s=0.2)
    process.wait(30)
    process.stdout.close()
    _wait_until_gone(child)


def test_this_process_and_what_cannot_be_a_process_are_never_ended() -> None:
    for pid in (0, 1, -1, os.getpid(), 2**40):
        assert end_tree(pid) is True
    assert not is_alive(0)
    assert not is_alive(2**40)
    assert birth_of(2**40) == ""
