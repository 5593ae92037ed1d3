"""What an author writes: about thirty lines, refused as a whole where something is wrong with them."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from inspan.apps import author
from inspan.apps.author import App, InvalidRecord, choice, day, flag, moment, number, ref, refs, text
from inspan.apps.examples import board, reading_list
from inspan.apps.model.app_model import ModelProblems
from inspan.apps.server.asgi import Application
from inspan.apps.server.caller import Grant
from inspan.model.errors import ManifestError, StoreError, UsageError
from support.apps.served import serving, serving_asgi

AGENT = Grant(token="t", credential_id="c")
NOTES = "/api/collections/notes/records"


def app_of(folder: Path, **options: Any) -> tuple[App, author.Entity]:
    app = App("Notes", folder=folder, grants=[AGENT], **options)
    fields = {"title": text(required=True, max=20), "stars": number(), "made": moment(set_on="create")}
    return app, app.module("m").entity("notes", fields)


@pytest.mark.requirement("P2")
def test_thirty_lines_are_a_working_app(tmp_path: Path) -> None:
    app = App("Tiny", folder=tmp_path, grants=[AGENT])
    module = app.module("m", "All there is.")
    notes = module.entity("notes", {"title": text(required=True), "done": flag(), "due": day()})
    app.event("note.done")

    @notes.operation(when={"field": "done", "ne": True}, params={"note": ref("notes", required=True)})
    def finish(note: str) -> object:
        """Mark it done."""
        app.trigger("note.done", {"note": note}, capability="celebrate")
        return notes.update(note, {"done": True})

    with serving(app) as here:
        made = here.post(NOTES, {"title": "x"}).body["id"]
        assert here.post("/api/ops/finish", {"note": made}).body["result"]["done"] is True
        assert here.get("/api/_a2app/tasks").body["tasks"][0]["request"]["payload"] == {"note": made}
        assert here.get("/").headers["content-type"].startswith("text/html")
        assert here.get("/page.js").status == 200


@pytest.mark.requirement("P2")
def test_records_are_there_after_a_restart_and_seeds_come_once(tmp_path: Path) -> None:
    def make() -> tuple[App, author.Entity]:
        app = App("Seeded", folder=tmp_path)
        return app, app.module("m").entity(
            "notes", {"title": text()}, seed=[{"id": "a", "title": "A"}, {"title": "B"}]
        )

    app, notes = make()
    assert [one["title"] for one in notes.list()] == ["A", "B"]
    notes.delete("a")
    notes.create({"title": "C"})
    app.close()
    app, notes = make()
    assert [one["title"] for one in notes.list()] == ["B", "C"]
    app.close()


def test_a_field_that_is_new_or_gone_needs_no_migration(tmp_path: Path) -> None:
    app, notes = app_of(tmp_path)
    made = notes.create({"title": "x", "stars": 3})
    app.close()
    app = App("Notes", folder=tmp_path)
    later = app.module("m").entity("notes", {"title": text(), "mood": choice("good", "bad")})
    assert later.get(made["id"]) == {"id": made["id"], "title": "x", "mood": None}
    app.close()


@pytest.mark.requirement("P3")
def test_every_problem_of_an_app_is_named_before_anything_is_served(tmp_path: Path) -> None:
    app = App("Broken", folder=tmp_path)
    module = app.module("tasks")
    notes = module.entity("notes", {"title": text(), "kind": choice(), "others": refs("nobody")})

    @notes.operation(params={"wrong": text()}, when={"field": "gone", "eq": 1})
    def act(right: str) -> None:
        raise AssertionError(right)

    @module.operation()
    def act_too(needed: str) -> None:
        raise AssertionError(needed)

    with pytest.raises(ModelProblems) as raised:
        app.asgi()

    said = "\n".join(raised.value.problems)
    assert len(raised.value.problems) == 6
    for word in ("act(right", "act_too(needed", "reserved", "without values", '"nobody"', '"gone"'):
        assert word in said
    assert not (tmp_path / "data").exists()


def test_the_apps_own_code_is_held_to_the_declarations_too(tmp_path: Path) -> None:
    app, notes = app_of(tmp_path)

    with pytest.raises(InvalidRecord) as raised:
        notes.create({"title": "x" * 21, "bogus": 1})
    assert [one.code for one in raised.value.violations] == ["invalid_string", "unknown_field"]
    made = notes.create({"title": "x", "made": "2026-01-01"})
    assert notes.update(made["id"], {"made": "2026-01-02"}) is not None
    assert notes.update("nope", {"title": "y"}) is None
    assert (notes.count(), notes.delete("nope")) == (1, False)
    app.close()


@pytest.mark.requirement("P1")
def test_the_manifest_of_the_folder_wins_and_its_token_writes(tmp_path: Path) -> None:
    manifest = {
        "id": "abc123abc123",
        "name": "From disk",
        "agentAppVersion": "0.1.0",
        "adapterVersion": "0.1.7",
        "appVersion": "9",
        "authMode": "none",
        "pipeline": {"install": "", "build": "", "start": "python app.py", "health": "/api/_a2app"},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / ".agent-token").write_text("disk-token\n")
    (tmp_path / ".agent-token").chmod(0o600)
    app = App("Ignored", folder=tmp_path)
    app.module("m").entity("notes", {"title": text()})

    with serving(app) as here:
        identity = here.get("/api/_a2app").body
        assert identity["app"] == {"id": "abc123abc123", "name": "From disk"}
        assert (identity["adapterVersion"], identity["appVersion"]) == ("0.1.7", "9")
        assert here.post(NOTES, {"title": "x"}, token="disk-token").status == 200

    manifest["agentAppVersion"] = "9.0.0"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ManifestError, match="only versions"):
        App(folder=tmp_path)


def test_the_surroundings_say_where_data_is_and_whether_it_is_dev(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A2APP_DATA_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("A2APP_ENV", "dev")
    app, notes = app_of(tmp_path)
    notes.create({"title": "x"})

    assert (tmp_path / "elsewhere" / "app.db").exists()
    assert app.served.identity()["env"] == "dev"
    app.close()


@pytest.mark.parametrize("port", ["eighty", "0", "70000", "-1"])
def test_a_port_that_is_none_is_refused_before_anything_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    monkeypatch.setenv("PORT", port)
    app, _ = app_of(tmp_path)

    with pytest.raises(UsageError, match="no port"):
        app.serve()
    app.close()


@pytest.mark.parametrize("data", [b"this is no database, and quite certainly not one of ours" * 30])
def test_a_file_that_is_no_database_is_left_alone_and_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "app.db").write_bytes(data)
    app, _ = app_of(tmp_path)

    with pytest.raises(StoreError, match=r"app\.db"):
        app.open()
    assert (tmp_path / "data" / "app.db").read_bytes() == data


def test_the_data_version_moves_with_each_write_and_no_read(tmp_path: Path) -> None:
    app, notes = app_of(tmp_path)
    module = app.declared.modules[0].name

    @app.declared.declare_operation(module=module, read_only=True)
    def look() -> int:
        return notes.count()

    @app.declared.declare_operation(module=module)
    def touch() -> None:
        return None

    with serving(app) as here:

        def version() -> str:
            return here.get("/api/_a2app").body["dataVersion"]

        seen = [version()]
        for call in (
            lambda: here.post(NOTES, {"title": "x"}),
            lambda: here.post("/api/ops/touch", {}),
            lambda: notes.create({"title": "own"}),
        ):
            call()
            seen.append(version())
        here.get(NOTES)
        here.post(NOTES, {"bogus": 1})
        here.post("/api/ops/look", {})
        assert version() == seen[-1]

    assert len(set(seen)) == 4
    assert len({one.split(".")[0] for one in seen}) == 1


def test_coroutines_and_plain_functions_are_operations_and_know_who_calls(tmp_path: Path) -> None:
    app, notes = app_of(tmp_path)
    module = app.declared.modules[0].name

    @app.declared.declare_operation(module=module)
    async def wait_and_write() -> object:
        made = notes.create({"title": "before"})
        await asyncio.sleep(0)
        notes.update(made["id"], {"title": "after"})
        return app.caller and app.caller.credential_id

    @app.declared.declare_operation(module=module)
    def write() -> object:
        return {"who": app.caller and app.caller.agent_name, "thread": threading.current_thread().name}

    with serving(app) as here:
        assert here.post("/api/ops/wait-and-write", {}).body["result"] == "c"
        result = here.post("/api/ops/write", {}, headers={"X-A2App-Agent": "tester"}).body["result"]
        assert result["who"] == "tester"
        assert [one["title"] for one in here.get(NOTES).body["items"]] == ["after"]
    assert app.caller is None


@pytest.mark.parametrize("name", ["add", "add-later"])
def test_operations_that_add_to_one_number_at_once_lose_nothing_and_none_waits_in_vain(
    tmp_path: Path, name: str
) -> None:
    app, notes = app_of(tmp_path)

    @app.declared.declare_operation(module="m")
    def add() -> None:
        note = notes.list()[0]
        notes.update(note["id"], {"stars": (note["stars"] or 0) + 1})

    @app.declared.declare_operation(module="m")
    async def add_later() -> None:
        note = notes.list()[0]
        await asyncio.sleep(0)
        notes.update(note["id"], {"stars": (note["stars"] or 0) + 1})

    notes.create({"title": "x"})
    statuses: list[int] = []
    with serving(app) as here:
        # Many more than there are threads: those that wait must not keep the one that writes from its thread.
        threads = [
            threading.Thread(target=lambda: statuses.append(here.post(f"/api/ops/{name}", {}).status))
            for _ in range(60)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [200] * 60
        assert here.get(NOTES).body["items"][0]["stars"] == 60


def test_a_writer_goes_on_while_many_read_for_long(tmp_path: Path) -> None:
    app, notes = app_of(tmp_path)
    are_in, may_go = threading.Semaphore(0), threading.Event()

    @app.declared.declare_operation(module="m", read_only=True)
    def look_long() -> int:
        are_in.release()
        assert may_go.wait(30)
        return notes.count()

    @app.declared.declare_operation(module="m")
    def add() -> None:
        notes.create({"title": "x"})

    with serving(app) as here:
        threads = [threading.Thread(target=lambda: here.post("/api/ops/look-long", {})) for _ in range(40)]
        for thread in threads:
            thread.start()
        for _ in range(32):
            assert are_in.acquire(timeout=20)
        assert here.post("/api/ops/add", {}).status == 200
        may_go.set()
        for thread in threads:
            thread.join()


def test_a_slow_operation_that_is_not_atomic_lets_others_write_and_runs_once_a_key(tmp_path: Path) -> None:
    app, notes = app_of(tmp_path)
    is_in, may_go = threading.Event(), threading.Event()
    runs: list[int] = []

    @app.declared.declare_operation(module="m", is_atomic=False)
    def slow() -> None:
        runs.append(1)
        notes.create({"title": "slow"})
        is_in.set()
        assert may_go.wait(20)

    key = {"Idempotency-Key": "k"}
    with serving(app) as here:
        answers: list[int] = []
        thread = threading.Thread(
            target=lambda: answers.append(here.post("/api/ops/slow", {}, headers=key).status)
        )
        thread.start()
        assert is_in.wait(20)
        assert here.post(NOTES, {"title": "meanwhile"}).status == 200
        assert here.post("/api/ops/slow", {}, headers=key).status == 409
        may_go.set()
        thread.join()
        assert here.post("/api/ops/slow", {}, headers=key).status == 409
    assert (answers, len(runs)) == ([200], 1)


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ('title = "b"', ["b"]),
        ('title != "b"', ["a", "C", "d \\"]),
        ("stars > 1 && stars <= 3", ["b", "C"]),
        ('stars = 1 || title ~ "C"', ["a", "C"]),
        ('title ~ "c" && (stars = 3 || stars = 9)', ["C"]),
        ("stars = null", ["d \\"]),
        ("stars != null && !(x)", None),
        ('title = \'d \\\\\'', ["d \\"]),
        ('id = "one"', ["a"]),
        ('title !~ "b"', ["a", "C", "d \\"]),
        ('stars = "2"', ["b"]),
        ("", ["a", "b", "C", "d \\"]),
        ("nope = 1", None),
        ("title", None),
        ("title =", None),
        ("title = b", None),
        ('title = "b" title = "a"', None),
        ("(title = 'b'", None),
        ("title = 'b' OR 1=1 --", None),
        ("title = 'b'; DROP TABLE records", None),
        ("title ~ null", None),
        ("stars = true", None),
        ("(" * 50 + "title = 'b'" + ")" * 50, None),
        ("title = 'x' || " * 200 + "title = 'y'", None),
        ('password = "x"', None),
        ("\x00", None),
    ],
)  # fmt: skip
def test_a_filter_is_honoured_or_refused_and_never_left_out(
    tmp_path: Path, query: str, titles: list[str] | None
) -> None:
    app = App("Notes", folder=tmp_path, grants=[AGENT])
    seed = [
        {"id": "one", "title": "a", "stars": 1},
        {"title": "b", "stars": 2},
        {"title": "C", "stars": 3},
        {"title": "d \\"},
    ]
    fields = {"title": text(), "stars": number(), "password": text(write_only=True)}
    app.module("m").entity("notes", fields, seed=seed)
    with serving(app) as here:
        answer = here.get(f"{NOTES}?filter={quote(query)}")

    if titles is None:
        assert (answer.status, answer.code) == (400, "invalid_filter")
        assert answer.body["got"] == query[:200]
    else:
        assert [one["title"] for one in answer.body["items"]] == titles


def test_a_list_is_sorted_and_paged_and_says_how_long_it_is(tmp_path: Path) -> None:
    app, notes = app_of(tmp_path)
    for title, stars in (("a", 2), ("b", 1), ("c", 2), ("d", None)):
        notes.create({"title": title, "stars": stars})
    with serving(app) as here:
        page = here.get(f"{NOTES}?sort=-stars,title&perPage=3&page=1").body
        assert [one["title"] for one in page["items"]] == ["a", "c", "b"]
        assert {key: page[key] for key in ("page", "perPage", "totalItems", "totalPages")} == {
            "page": 1, "perPage": 3, "totalItems": 4, "totalPages": 2
        }  # fmt: skip
        assert [
            one["title"] for one in here.get(f"{NOTES}?sort=-stars,title&perPage=3&page=2").body["items"]
        ] == ["d"]
        assert here.get(f"{NOTES}?sort=nope").code == "invalid_filter"
        for wrong in ("perPage=0", "page=-1", "page=x", "perPage=1.5", "page=99999999999"):
            assert here.get(f"{NOTES}?{wrong}").code == "usage"
        assert here.get(f"{NOTES}?perPage=100000").body["perPage"] == 1000


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", NOTES), ("DELETE", NOTES), ("PATCH", NOTES), ("POST", f"{NOTES}/x")]
)
def test_a_method_that_does_not_go_with_records_is_refused(tmp_path: Path, method: str, path: str) -> None:
    app, _ = app_of(tmp_path)
    with serving(app) as here:
        assert (here.call(method, path, {}).status, here.call(method, path, {}).code) == (405, "usage")
        assert here.get("/api/collections/nobody/records").code == "unknown_entity"
        assert here.get("/api/collections/notes").code == "not_found"


@pytest.mark.requirement("P2")
def test_a_page_of_ones_own_is_served_and_nothing_beside_it(tmp_path: Path) -> None:
    site = tmp_path / "web"
    site.mkdir()
    (site / "index.html").write_text("<h1>Mine</h1>")
    (site / "a b.css").write_text("h1 {}")
    (site / ".hidden").write_text("secret")
    (tmp_path / "outside.txt").write_text("secret")
    (site / "link.txt").symlink_to(tmp_path / "outside.txt")
    app, _ = app_of(tmp_path, page="web")
    with serving(app) as here:
        assert here.get("/").body == "<h1>Mine</h1>"
        assert here.get("/any/place").body == "<h1>Mine</h1>"
        assert here.get("/a%20b.css").headers["content-type"] == "text/css; charset=utf-8"
        for path in (
            "/.hidden",
            "/../outside.txt",
            "/%2e%2e/outside.txt",
            "/..%2foutside.txt",
            "/link.txt",
            "/nope.css",
            "/a%00.css",
        ):
            assert here.get(path).status == 404, path
        assert here.post("/", {}).status == 405
        assert here.call("HEAD", "/").status == 200
        assert "frame-ancestors" in here.get("/").headers["content-security-policy"]


def test_routes_of_ones_own_stand_beside_the_protocol(tmp_path: Path) -> None:
    """An app of several users that lets them in: what they are given is what they send with each call."""

    async def site(scope: Any, receive: Any, send: Any) -> None:
        asked = json.loads((await receive())["body"])
        assert scope["path"] == "/login"
        is_known = asked == {"identity": "ada", "password": "secret"}
        data = json.dumps({"token": "ada-1"} if is_known else {}).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200 if is_known else 401, "headers": headers})
        await send({"type": "http.response.body", "body": data})

    app, _ = app_of(tmp_path, auth_mode="multi-user", principal_of={"ada-1": "ada"}.get, site=site)
    with serving(app) as here:
        assert here.post("/login", {"identity": "ada", "password": "wrong"}).status == 401
        token = here.post("/login", {"identity": "ada", "password": "secret"}).body["token"]
        headers = {"Authorization": token}
        assert here.get("/api/_a2app/whoami", headers=headers).body["principal"] == "ada"
        assert here.post(NOTES, {"title": "x"}, headers=headers).status == 200
        assert app.audit()[-1].principal == "ada"
        assert here.post("/login", {}, headers={"Host": "evil.example"}).code == "forbidden_host"


@pytest.mark.parametrize("record_id", ["", "a/b", "-x", "x" * 65, "a b", "é"])
def test_an_id_of_a_wrong_form_is_refused(tmp_path: Path, record_id: str) -> None:
    app, notes = app_of(tmp_path)

    with pytest.raises(ValueError, match="is no id"):
        notes.create({"title": "x"}, record_id=record_id)
    app.close()


def test_a_full_disk_is_an_answer_and_the_app_goes_on_when_there_is_room(tmp_path: Path) -> None:
    app, _ = app_of(tmp_path)

    def allow(pages: int) -> None:
        with app.served.database.writing() as transaction:
            transaction.connection.execute(f"PRAGMA max_page_count={pages}")

    with serving(app) as here:
        allow(1)
        statuses = [here.post(NOTES, {"title": "x"}).status for _ in range(300)]
        assert statuses[-1] == 500
        made = statuses.count(200)
        assert here.get(f"{NOTES}?perPage=1").body["totalItems"] == made
        allow(10**6)
        assert here.post(NOTES, {"title": "x"}).status == 200
        assert here.get(f"{NOTES}?perPage=1").body["totalItems"] == made + 1


def test_the_default_page_runs_no_script_but_its_own(tmp_path: Path) -> None:
    app, _ = app_of(tmp_path)
    with serving(app) as here:
        policy = here.get("/").headers["content-security-policy"]

    assert "default-src 'none'; script-src 'self'" in policy


def test_without_a_page_other_paths_are_not_found(tmp_path: Path) -> None:
    app, _ = app_of(tmp_path)
    with serving_asgi(Application(app.served)) as here:
        assert (here.get("/").status, here.get("/").code) == (404, "not_found")
    app.close()


@pytest.mark.parametrize("make", [board.make_app, reading_list.make_app])
def test_the_examples_are_apps_whose_every_operation_is_described(tmp_path: Path, make: Any) -> None:
    app: App = make(tmp_path)
    app.grants.append(AGENT)
    with serving(app) as here:
        for module in here.get("/api/_a2app/describe").body["modules"]:
            level = here.get(f"/api/_a2app/describe/{module['name']}").body
            for operation in level["operations"]:
                told = here.get(f"/api/_a2app/describe/{module['name']}/{operation['name']}").body
                assert told["level"] == "operation"
                assert told["description"]
            for entity in level["entities"]:
                told = here.get(f"/api/_a2app/describe/{module['name']}/{entity['name']}").body
                assert all(operation["description"] for operation in told["operations"])


def test_the_reading_list_rates_what_is_read(tmp_path: Path) -> None:
    app = reading_list.make_app(tmp_path)
    app.grants.append(AGENT)
    with serving(app) as here:
        wrong = here.post("/api/ops/finish-book", {"book": "book_middlemarch", "rating": 6})
        assert (wrong.status, wrong.code) == (400, "invalid_number")
        assert here.post("/api/ops/finish-book", {"book": "book_middlemarch", "rating": 5}).status == 200
        assert here.post("/api/ops/statistics", {}).body["result"] == {"want": 2, "reading": 0, "finished": 1}
        assert (
            here.post("/api/ops/start-book", {"book": "book_middlemarch"}).body["blocked"]
            == 'status is "finished", not "want"'
        )
        here.post("/api/ops/ask-for-recommendation", {"mood": "quiet"})
        task = here.get("/api/_a2app/tasks").body["tasks"][0]
        assert task["request"]["payload"]["liked"] == ["Middlemarch"]
