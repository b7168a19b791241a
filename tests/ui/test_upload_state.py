"""What the page Add data does after a choice, without the page."""

from __future__ import annotations

import bookshop
import pytest

from recdash.service import Workspace
from recdash.service.catalog.intake import IntakeFile
from recdash.ui.upload.state import UploadState

UNKNOWN = b"alpha,beta,gamma\nred,1,x\ngreen,2,y\n"


@pytest.fixture
def upload(workspace: Workspace) -> UploadState:
    files = {**bookshop.files(), "colours.csv": UNKNOWN}
    given = [IntakeFile(name, name, data) for name, data in files.items()]
    return UploadState(plan=Workspace(workspace.store).intake.plan(given))


def test_details_open_after_choosing_a_kind_whose_columns_are_not_known(upload: UploadState) -> None:
    upload.choose_kind("colours.csv", "run")
    assert upload.opened == "colours.csv"
    assert upload.plan is not None
    (file,) = [file for file in upload.plan.files if file.key == "colours.csv"]
    assert [problem.found.partition(";")[0] for problem in file.problems][:2] == [
        "no user column",
        "no item column",
    ]
    assert file.preview is not None
    assert {"user_id", "item_id", "rank", "score"} <= {*file.preview.required, *file.preview.optional}


def test_details_stay_closed_after_choosing_a_kind_whose_columns_are_known(upload: UploadState) -> None:
    upload.choose_kind("als.csv", "truth")
    assert upload.opened is None
