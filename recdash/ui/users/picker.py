"""Chooses the user who is shown: one with a large change, or any by id; the URL keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from recdash.domain.journal import USER_PARAM
from recdash.errors import NotFound
from recdash.formatting import numbers
from recdash.formatting.records import records
from recdash.ui.app import cached, state
from recdash.ui.app.state import View
from recdash.ui.components import widgets

if TYPE_CHECKING:
    import pandas as pd

    from recdash.evaluation.user_detail import OneUser


@dataclass(frozen=True)
class Picked:
    """The user who is shown, and the users with the largest changes: {id: words about the change}."""

    user: OneUser
    decisive: Mapping[str, str]


def pick(view: View, run_id: str) -> Picked | None:
    """Returns the user in the link, else the one with the largest change; None if there is no user to
    show.
    """
    decisive = words(cached.decisive_users(view, run_id))
    wanted = state.params().get(USER_PARAM, "").strip()
    user = _find(view, wanted, list(decisive))
    if user is None:
        return None
    state.write(USER_PARAM, wanted or user.user_id)
    return Picked(user, decisive)


def _find(view: View, wanted: str, decisive: Sequence[str]) -> OneUser | None:
    with st.spinner("Reading the lists"):
        if wanted:
            try:
                return cached.user_lists(view, wanted)
            except NotFound as error:
                widgets.problems(error)
        return cached.user_lists(view, decisive[0]) if decisive else None


def words(decisive: pd.DataFrame) -> dict[str, str]:
    """Returns {user id: change in words}, such as ``+0.642``; values if there is no baseline."""
    rows = records(decisive)
    alone = all(not numbers.is_number(row["baseline_value"]) for row in rows)
    decimals = numbers.places(row["value" if alone else "difference"] for row in rows)
    if alone:
        return {row["user_id"]: numbers.fixed(row["value"], decimals) for row in rows}
    return {row["user_id"]: _change(row["difference"], decimals) for row in rows}


def _change(difference: float, decimals: int) -> str:
    return f"{numbers.signed(difference, decimals)} ({'better' if difference > 0 else 'worse'})"


def choose(view: View, picked: Picked) -> None:
    """Draws a select box with the users with the largest changes, a box for any id, and buttons for the
    previous and next.
    """
    user_id, ids = picked.user.user_id, list(picked.decisive)
    options: list[str] = ids if user_id in ids else [user_id, *ids]
    place = ids.index(user_id) if user_id in ids else -1
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="user-pick"):
        st.session_state["users-user"] = user_id
        st.selectbox(
            _label(view),
            options,
            key="users-user",
            width=250,
            format_func=lambda user: f"{user}: {picked.decisive[user]}" if user in picked.decisive else user,
            on_change=lambda: go_to(st.session_state["users-user"]),
        )
        st.session_state["users-id"] = ""
        st.text_input(
            "Any user id",
            key="users-id",
            placeholder="user id",
            width=130,
            on_change=lambda: go_to(st.session_state["users-id"].strip() or user_id),
        )
        _step("Previous", ids, place - 1)
        _step("Next user", ids, place + 1)


def _label(view: View) -> str:
    return "Users with the largest change" if view.candidates else "Users with the highest and lowest value"


def _step(label: str, ids: Sequence[str], place: int) -> None:
    exists = 0 <= place < len(ids)
    st.button(
        label,
        key=f"users-{label.split(maxsplit=1)[0].lower()}",
        disabled=not exists,
        on_click=go_to,
        args=(ids[place] if exists else "",),
    )


def go_to(user_id: str) -> None:
    state.choose(**{USER_PARAM: user_id})
