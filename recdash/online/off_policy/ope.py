"""Computes off-policy estimates from a bandit log and a target policy, given as files or tables.

Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any

from recdash import ingest
from recdash.domain.arguments import check_number, check_type, check_whole
from recdash.errors import InputError, Problem
from recdash.evaluation.column_choice import ColumnsGiven, check_columns, read_column_choice
from recdash.ingest import Limits
from recdash.ingest.notice_rules import check_refused, read_codes
from recdash.online.off_policy.estimates import OffPolicy, off_policy
from recdash.online.off_policy.list_policy import ListPolicy
from recdash.online.off_policy.slates import slate_estimates
from recdash.online.off_policy.target import logged, of_table, uniform

UNIFORM = "uniform"
UNNAMED = "policy"


def ope(
    log: Any,
    target: Any = UNIFORM,
    *,
    n_items: int | None = None,
    clip: float | None = None,
    switch: float | None = None,
    mapping: Mapping[str, str] | None = None,
    columns: ColumnsGiven | None = None,
    user_column: str | None = None,
    refuse: str | Sequence[str] = (),
    limits: Limits | None = None,
) -> OffPolicy:
    """Returns what ``target`` would have earned per slot, estimated from a ``log`` with propensities.

    ``log`` is a file or table with item_id, click and propensity_score, optionally position, and whatever
    else the target depends on. ``target`` is "uniform" (each of ``n_items`` items is equally likely; by
    default the items in the log), or a file or table with item_id, probability and the columns of the log it
    depends on. ``clip`` is the largest weight in the clipped estimate, by default the square root of the
    number of rows. ``switch`` is the weight above which Switch-DR uses the reward model alone, by default the
    one with the least estimated error. ``columns`` maps roles to columns: {"click": "reward"} for each of the
    two tables that has the column, {"log": {"item_id": "arm"}} or {"target": {…}} for one; ``mapping`` does
    so for the log only. ``user_column`` names the log's column of users, by default user_id or another usual
    name; standard errors are then clustered by user, since the rows of one user are not independent.
    ``refuse`` has codes of notices that are problems (see ``recdash.ingest.notice_rules``). Raises InputError
    for an unusable log or target.
    """
    refused_codes = read_codes(refuse)
    is_uniform = isinstance(target, str) and target == UNIFORM
    for name, limit in (("clip", clip), ("switch", switch)):
        fix = "Give the largest weight, above 0."
        if limit is not None:
            check_number(name, limit, fix)
            if limit <= 0:
                raise InputError(Problem(f"bad-{name}", name, f"{limit:g}", fix))
    if n_items is not None:
        check_whole("n_items", n_items, "Give the number of items, such as 80.")
    if n_items is not None and not is_uniform:
        fix = "Give it with the uniform target; a table names its items."
        raise InputError(Problem("items-without-uniform", "items", f"{n_items:,} with a table", fix))
    check_type("limits", limits, (Limits, NoneType), "Give recdash.ingest.Limits(…).")
    check_columns("mapping", mapping, (str,))
    choice = read_column_choice(columns, ("bandit", "policy"))
    choice.check_given(["bandit"] if is_uniform or isinstance(target, ListPolicy) else ["bandit", "policy"])
    uploads = [ingest.read_upload("bandit", log, mapping=choice.of("bandit", also=mapping), limits=limits)]
    rows = uploads[0].table
    checked = logged(rows, user_column)
    more: list[Problem] = []
    if is_uniform:
        choice.check_used()
        policy = uniform(checked, n_items)
    elif isinstance(target, ListPolicy):
        choice.check_used()
        checked, policy, more = target.applied(checked, rows, user_column)
    else:
        table = ingest.read_upload("policy", target, mapping=choice.of("policy"), limits=limits)
        uploads.append(table)
        choice.check_used()
        name = f"the policy {table.name}" if table.name != UNNAMED else "the target policy"
        policy = of_table(checked, rows, table.table, name)
    estimates = off_policy(checked, policy, clip, switch)
    # slates of which rows are left out would be incomplete
    slates = slate_estimates(checked, rows, policy) if len(checked) == len(rows) else None
    notices = [notice for upload in uploads for notice in upload.notices]
    check_refused(notices, refused_codes)
    return replace(estimates, slates=slates, notices=(*notices, *more, *estimates.notices))
