"""The home: made private, refused where it is not safe, and named in every error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inspan.home import SOCKET_PATH_LIMIT, Home, locate_home, prepare_home
from inspan.model.errors import HostError, UsageError


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_home_is_the_one_that_the_environment_names(throwaway_home: Path) -> None:
    assert locate_home().path == throwaway_home / "inspan"


def test_a_named_home_prevails_over_the_environment_and_becomes_absolute(throwaway_home: Path) -> None:
    assert locate_home("~/other").path == throwaway_home / "other"
    assert locate_home("other").path == Path.cwd() / "other"


def test_without_a_name_the_home_is_where_the_platform_keeps_data(
    throwaway_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INSPAN_HOME")

    home = locate_home()

    assert home.path.name == "inspan"
    assert throwaway_home in home.path.parents


def test_naming_a_home_makes_nothing() -> None:
    assert not locate_home().path.exists()


@pytest.mark.requirement("L15")
def test_a_new_home_and_its_folders_are_for_the_owner_alone() -> None:
    umask = os.umask(0)
    try:
        home = prepare_home(locate_home())
    finally:
        os.umask(umask)

    assert mode_of(home.path) == 0o700
    assert mode_of(home.launches) == 0o700
    assert prepare_home(home) == home, "a second time is safe"


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
def test_a_home_that_others_can_write_is_refused_and_left_as_it_is(throwaway_home: Path, mode: int) -> None:
    folder = throwaway_home / "inspan"
    folder.mkdir()
    folder.chmod(mode)

    with pytest.raises(HostError) as caught:
        prepare_home(locate_home())

    assert caught.value.code == "home_insecure"
    assert "chmod 700" in caught.value.hint
    assert folder.stat().st_mode & 0o7777 == mode


@pytest.mark.parametrize("content", [None, "log.db", "harnesses", "plugins.json"])
def test_a_home_that_others_can_only_read_is_closed_to_them(
    throwaway_home: Path, content: str | None
) -> None:
    folder = throwaway_home / "inspan"
    folder.mkdir(mode=0o755)
    if content:
        (folder / content).touch()

    prepare_home(locate_home())

    assert mode_of(folder) == 0o700


def test_an_open_folder_with_other_things_in_it_is_refused_and_left_as_it_is(throwaway_home: Path) -> None:
    folder = throwaway_home / "inspan"
    folder.mkdir(mode=0o755)
    (folder / "thesis.tex").touch()

    with pytest.raises(HostError) as caught:
        prepare_home(locate_home())

    assert caught.value.code == "home_insecure"
    assert mode_of(folder) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_home_of_another_user_is_refused(throwaway_home: Path) -> None:
    folder = throwaway_home / "inspan"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, -1)

    with pytest.raises(HostError) as caught:
        prepare_home(locate_home())

    assert caught.value.code == "home_insecure"


@pytest.mark.skipif(sys.platform != "linux", reason="a place that nobody can write")
def test_a_home_that_cannot_be_written_is_refused_with_the_reason() -> None:
    with pytest.raises(HostError) as caught:
        prepare_home(locate_home("/sys/inspan"))

    assert caught.value.code == "home_read_only"
    assert "/sys/inspan" in caught.value.message


def test_a_home_that_is_a_file_is_refused(throwaway_home: Path) -> None:
    (throwaway_home / "inspan").touch()

    for home in (locate_home(), locate_home(throwaway_home / "inspan" / "below")):
        with pytest.raises(UsageError) as caught:
            prepare_home(home)
        assert caught.value.code == "invalid_argument"
        assert "is not a folder" in caught.value.message


def test_a_home_whose_sockets_would_not_fit_is_refused_with_both_numbers_and_the_remedy(
    throwaway_home: Path,
) -> None:
    room = SOCKET_PATH_LIMIT - len("/launches/l_0000000000000000000/holder.sock")
    fits = Home(Path("/" + "x" * (room - 1)))
    too_long = Home(throwaway_home / ("x" * (room - len(str(throwaway_home)))))

    with pytest.raises(HostError) as caught:
        prepare_home(too_long)

    assert len(os.fsencode(fits.launch_socket("l_" + "0" * 19))) == SOCKET_PATH_LIMIT
    assert caught.value.code == "socket_path_too_long"
    assert str(SOCKET_PATH_LIMIT) in caught.value.message
    assert str(SOCKET_PATH_LIMIT + 1) in caught.value.message
    assert "INSPAN_HOME" in caught.value.hint
    assert str(room) in caught.value.hint
    assert not too_long.path.exists()


def test_home_and_autostart_load_nothing_but_the_standard_library() -> None:
    code = (
        "import sys; import inspan.home, inspan.client.autostart;"
        "outside = {name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names;"
        "print(sorted(outside - {'__main__'}), sorted({'asyncio', 'subprocess', 'logging'} & set(sys.modules)))"
    )

    # -S: what other packages put into every start of this interpreter is not ours.
    answer = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(_source())!r}); {code}"],
        capture_output=True,
        check=True,
        text=True,
    )

    assert answer.stdout.strip() == "['inspan'] []"


def _source() -> Path:
    import inspan

    return Path(inspan.__file__).parent.parent
