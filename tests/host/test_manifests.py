"""A manifest that is wrong in exactly one way is refused, with its file, the key and what was expected."""

from pathlib import Path

import pytest

from inspan.model.capability import EvidenceLevel, Support
from inspan.model.errors import ManifestError
from inspan.plugin.manifest_file import load_manifest
from support.harness_folders import MANIFEST, add_harness, manifest_text


def _swap(old: str, new: str) -> str:
    assert old in MANIFEST
    return MANIFEST.replace(old, new)


FAULTS = [
    pytest.param(_swap("schema = 1", "schema = 2"), "schema", "one of 1", id="another version"),
    pytest.param(_swap('name = "Acme"\n', ""), "name", "text that is not empty", id="a key is missing"),
    pytest.param(_swap('name = "Acme"', "name = 3"), "name", "text", id="a wrong type"),
    pytest.param(_swap('name = "Acme"', 'name = ""'), "name", "not empty", id="an empty name"),
    pytest.param(_swap('id = "acme"', 'id = "Acme!"'), "id", "text that matches", id="an id of a wrong form"),
    pytest.param(
        _swap('id = "acme"', 'id = "other"'), "id", "the folder's name, 'acme'", id="another folder"
    ),
    pytest.param(
        manifest_text(top='homepag = "x"'), "homepag", "'homepage', or one of", id="an unknown key at the top"
    ),
    pytest.param(
        manifest_text(more="[modes.acp.acp]\nauht = []"),
        "modes.acp.acp.auht",
        "'auth', or one of",
        id="an unknown key deep inside",
    ),
    pytest.param(
        manifest_text(more='[[modes.acp.postures]]\napprovals = "edits"\ncolour = "red"'),
        "modes.acp.postures[1].colour",
        "one of approvals, args",
        id="an unknown key in a list",
    ),
    pytest.param(
        manifest_text(more="[modes.acp.capabilities.resume]\nsupport = true"),
        "modes.acp.capabilities.resume.support",
        "one of unknown, unsupported, supported",
        id="a boolean where five values count",
    ),
    pytest.param(
        _swap('transport = "acp"', 'transport = "smoke"'), "modes.acp.transport", "acp", id="a bad value"
    ),
    pytest.param(
        _swap('args = ["acp"]', 'args = "acp"'), "modes.acp.launch.args", "a list", id="text for a list"
    ),
    pytest.param(
        _swap('transport = "acp"', 'transport = "acp"\nhandshake_timeout_s = 0'),
        "modes.acp.handshake_timeout_s",
        "a number above 0",
        id="a number out of bounds",
    ),
    pytest.param(
        _swap("[modes.acp]", '[modes."A mode"]\ntransport = "acp"\n[modes.acp]'),
        "modes.'A mode'",
        "a name that matches",
        id="a mode of a wrong name",
    ),
    pytest.param(
        _swap('default_mode = "acp"', 'default_mode = "tui"'), "default_mode", "acp", id="no such mode"
    ),
    pytest.param(
        manifest_text(more="[program.version]\npattern = '('"),
        "program.version.pattern",
        "a regular expression",
        id="a pattern that does not compile",
    ),
    pytest.param(
        manifest_text(more="[program.version]\npattern = 'v1'"),
        "program.version.pattern",
        "a first group",
        id="a version pattern without a group",
    ),
    pytest.param(
        _swap('names = ["acme-agent"]', 'process_names = ["acme"]'),
        "program",
        "names, paths or module",
        id="a program that cannot be found",
    ),
    pytest.param(
        _swap('names = ["acme-agent"]', 'paths = ["bin/acme"]'),
        "program.paths[0]",
        "absolute",
        id="a bare path",
    ),
    pytest.param(
        _swap('names = ["acme-agent"]', 'names = ["acme-agent"]\ntested = "1.x"'),
        "program.tested",
        "bounds such as",
        id="a range of another form",
    ),
    pytest.param(
        manifest_text(more='[modes.acp.environment]\nset = { "A B" = "1" }'),
        "modes.acp.environment.set",
        "letters, digits",
        id="a variable of a wrong name",
    ),
    pytest.param(
        _swap('args = ["acp"]', 'args = ["--cd", "{folder}"]'),
        "modes.acp.launch.args[1]",
        "only {workspace}",
        id="a placeholder that is none",
    ),
    pytest.param(
        _swap('args = ["acp"]', 'args = ["{session}"]'),
        "modes.acp.launch.args[0]",
        "only {workspace}",
        id="a session where none can be",
    ),
    pytest.param(
        manifest_text(more='[[modes.acp.postures]]\napprovals = "ask"\nsandbox = "none"'),
        "modes.acp.postures[1]",
        "one rule a posture",
        id="a posture twice",
    ),
    pytest.param(
        manifest_text(
            more='[modes.acp.capabilities.resume]\nsupport = "supported"\n[modes.acp.acp]\nresume_methods = []'
        ),
        "modes.acp.capabilities.resume",
        "resume.args",
        id="resume without a way",
    ),
    pytest.param(
        manifest_text(more='[modes.acp.capabilities.cancel]\nsupport = "supported"\nevidence = "proved"'),
        "modes.acp.capabilities.cancel",
        "source",
        id="proved without a proof",
    ),
    pytest.param(
        manifest_text(more='[[modes.acp.diagnoses]]\ncode = "limited"\ntitle = "x"\nremedy = "y"'),
        "modes.acp.diagnoses[0]",
        "raw_code",
        id="a diagnosis of everything",
    ),
    pytest.param(
        manifest_text(top='plugin = "../plugin.py"'), "plugin", "own folder", id="a plugin elsewhere"
    ),
    pytest.param(
        _swap('transport = "acp"', 'transport = "plugin"'),
        "modes.acp.transport",
        "names a plugin",
        id="no plugin",
    ),
    pytest.param(manifest_text(top='wraps = "acme"'), "wraps", "another harness", id="wraps itself"),
]


@pytest.mark.requirement("H-A47", "H-A7")
@pytest.mark.parametrize(("text", "key_path", "expected"), FAULTS)
def test_a_manifest_that_is_wrong_in_one_way_is_refused_with_file_key_and_expectation(
    tmp_path: Path, text: str, key_path: str, expected: str
) -> None:
    folder = add_harness(tmp_path, "acme", text)

    with pytest.raises(ManifestError) as caught:
        load_manifest(folder)

    error = caught.value
    assert error.code == "manifest_invalid"
    assert error.detail["file"] == str(folder / "manifest.toml")
    assert error.detail["key_path"] == key_path
    assert expected in error.detail["expected"]
    assert error.detail["others"] == []
    for part in (str(folder / "manifest.toml"), key_path, error.detail["expected"]):
        assert part in str(error)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        pytest.param(b'schema = 1\nid = "acme\n', "line 2, column 11", id="TOML that ends in a string"),
        pytest.param(b'schema = 1\nname = "\xff"\n', "byte 19", id="no UTF-8"),
    ],
)
def test_a_file_that_is_no_toml_is_refused_with_the_place(tmp_path: Path, data: bytes, part: str) -> None:
    folder = add_harness(tmp_path, "acme", "")
    (folder / "manifest.toml").write_bytes(data)

    with pytest.raises(ManifestError, match=part) as caught:
        load_manifest(folder)

    assert caught.value.code == "manifest_unreadable"
    assert caught.value.detail["file"] == str(folder / "manifest.toml")


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"manifest\.toml cannot be read") as caught:
        load_manifest(tmp_path)

    assert caught.value.code == "manifest_unreadable"


def test_all_faults_of_a_manifest_are_counted_and_listed(tmp_path: Path) -> None:
    text = _swap('name = "Acme"', "name = 3").replace('args = ["acp"]', "args = 3")

    with pytest.raises(ManifestError, match="one more fault") as caught:
        load_manifest(add_harness(tmp_path, "acme", text))

    assert [one["key_path"] for one in caught.value.detail["others"]] == ["modes.acp.launch.args"]


@pytest.mark.requirement("H-A1", "H-A2", "H-A3", "H-A4", "H-A6")
def test_a_manifest_names_protocol_plugin_capabilities_identity_and_program(tmp_path: Path) -> None:
    text = manifest_text(
        top='plugin = "plugin.py"',
        more='[modes.acp.capabilities.fork]\nsupport = "unsupported"\nnote = "no such thing"',
    ).replace('names = ["acme-agent"]', 'names = ["acme-agent"]\nprocess_names = ["acme", "node"]')

    manifest = load_manifest(add_harness(tmp_path, "acme", text))

    mode = manifest.modes["acp"]
    assert (manifest.schema, mode.transport, mode.acp.protocol_version) == (1, "acp", 1)
    assert (manifest.id, manifest.name, manifest.plugin) == ("acme", "Acme", "plugin.py")
    assert manifest.session.resume_type == "acme.session.v1"
    assert manifest.program.process_names == ("acme", "node")
    assert manifest.program.names == ("acme-agent",)
    claims = mode.capabilities
    assert claims.fork.support is Support.UNSUPPORTED
    assert claims.resume.support is Support.UNKNOWN
    assert not claims.resume.is_supported
    assert claims.resume.evidence is EvidenceLevel.DECLARED


def test_a_literal_brace_in_an_argument_is_no_placeholder(tmp_path: Path) -> None:
    text = MANIFEST.replace('args = ["acp"]', """args = ['{"*":"ask"}']""")

    manifest = load_manifest(add_harness(tmp_path, "acme", text))

    assert manifest.modes["acp"].launch.args == ('{"*":"ask"}',)
