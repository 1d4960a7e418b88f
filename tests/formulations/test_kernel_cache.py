"""Where compiled kernels are kept: in no folder that somebody else could have filled, for numba runs what is there."""

import os
import stat
from pathlib import Path

import pytest

from ratiobench.formulations.kernels import private_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no modes of folders")


def test_the_folder_of_kernels_is_private(tmp_path: Path) -> None:
    """The user's own folder; else one of mode 0700 in the temporary folder, always the same."""
    mine = tmp_path / "home" / "ratiobench"
    assert private_folder([mine], tmp_path) == mine
    mine.chmod(0o777)
    found = private_folder([mine], tmp_path)
    (tmp_path / "file").write_text("")
    assert private_folder([tmp_path / "file" / "x"], tmp_path) == found
    assert found.parent == tmp_path
    assert stat.S_IMODE(found.lstat().st_mode) == 0o700
    assert private_folder([], tmp_path) == found


@pytest.mark.parametrize("made", ["open", "link", "file"])
def test_a_folder_that_others_may_have_filled_is_not_used(made: str, tmp_path: Path) -> None:
    """A fresh one takes its place: the fixed name is there already, open to all, a link, or no folder."""
    fixed = private_folder([], tmp_path)
    fixed.rmdir()
    if made == "open":
        fixed.mkdir()
        fixed.chmod(0o777)
    elif made == "link":
        (tmp_path / "other").mkdir(mode=0o700)
        fixed.symlink_to(tmp_path / "other")
    else:
        fixed.write_text("")
    first, second = private_folder([], tmp_path), private_folder([], tmp_path)
    assert len({fixed, tmp_path / "other", first, second}) == 4
    assert stat.S_IMODE(first.lstat().st_mode) == 0o700
