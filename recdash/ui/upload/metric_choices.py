"""The choices on the page Add data of the primary metric, covariates and metrics of the library."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import streamlit as st

from recdash.formatting.html import as_label
from recdash.ingest.moment_columns import EARLIER
from recdash.online.proposals import MetricChoices
from recdash.service.catalog.intake import TestPlan
from recdash.ui.components import widgets
from recdash.ui.upload.state import UploadState

WIDTH = 260
MOST_BOXES, USUAL_QUANTILE = 12, 0.95
ALL_GOALS = ""
"""Stands for no primary metric."""
AUTOMATIC = ""
"""Stands for a covariate that is not chosen."""
OF_COVARIATES = (
    "A column known before the exposure makes the interval of a lift narrower (CUPED). It must not depend on "
    "the variant, and is then no metric."
)


def boxes(upload: UploadState, choices: MetricChoices, test: TestPlan) -> None:
    """Draws the boxes of the primary metric, of the library and of quantiles, each only if there is a
    choice.
    """
    if len(test.purposes) < 2 and not test.offers.library and not test.offers.quantiles:
        return
    with st.container(horizontal=True, gap="small"):
        if len(test.purposes) > 1:
            _primary(upload, choices, test)
        if test.offers.library:
            _library(upload, choices, test)
        if test.offers.quantiles:
            _quantiles(upload, choices, test)


def _bound(
    upload: UploadState, name: str, value: Any, change: Callable[[Any], MetricChoices]
) -> dict[str, Any]:
    """Returns the arguments of a widget that shows ``value``, and stores the choices after a change."""
    key = upload.key(name)
    st.session_state[key] = value
    return {
        "key": key,
        "on_change": lambda: upload.change_settings(choices=change(st.session_state[key])),
        "width": WIDTH,
    }


def _primary(upload: UploadState, choices: MetricChoices, test: TestPlan) -> None:
    planned = test.analysis.primary if test.analysis is not None else ""
    purpose = test.purposes.get(planned)
    if purpose is None or purpose.role != "goal":  # the test lacks it, or it is for something else by choice
        planned = ""
    usual = f"{planned} (planned)" if planned else "all goals alike"
    titles = {ALL_GOALS: usual, **{name: name for name in test.purposes if name != planned}}
    chosen = choices.primary if choices.primary in titles else ALL_GOALS
    box = _bound(upload, "primary", chosen, lambda name: replace(choices, primary=name or None))
    hint = "The goal by which the test is decided first. It comes first in the results."
    st.selectbox("Primary metric", **widgets.titled(titles), help=hint, **box)


def _library(upload: UploadState, choices: MetricChoices, test: TestPlan) -> None:
    names = list(test.offers.library)
    wanted = names if choices.from_library is None else choices.from_library
    box = _bound(
        upload,
        "library",
        [name for name in names if name in wanted],
        lambda chosen: with_library(choices, names, chosen),
    )
    st.multiselect(
        "From the metric library",
        names,
        format_func=lambda name: f"{name}: {test.offers.library[name]}",
        placeholder="none",
        help="Metrics that this store defines, of which the columns are here.",
        **box | {"width": 2 * WIDTH},
    )


def _quantiles(upload: UploadState, choices: MetricChoices, test: TestPlan) -> None:
    percent = 100 * next(iter(choices.quantiles.values()), USUAL_QUANTILE)
    box = _bound(
        upload,
        "quantiles",
        [name for name in test.offers.quantiles if name in choices.quantiles],
        lambda columns: with_quantiles(choices, columns, percent),
    )
    st.multiselect(
        "Quantiles of",
        list(test.offers.quantiles),
        placeholder="none",
        help="Such as the 95th percentile of load times, over the rows that have a value.",
        **box,
    )
    if choices.quantiles:
        box = _bound(
            upload, "percent", percent, lambda value: with_quantiles(choices, list(choices.quantiles), value)
        )
        st.number_input("Quantile, %", 0.1, 99.9, format="%g", **box | {"width": WIDTH // 2})


def covariate_boxes(upload: UploadState, choices: MetricChoices, test: TestPlan) -> None:
    """Draws a box for the covariate of each metric; nothing if no column can be one."""
    columns = dict.fromkeys([*test.offers.covariates, *choices.covariates.values()])
    metrics = [name for name in test.purposes if name not in choices.covariates.values()][:MOST_BOXES]
    offered = {name: [column for column in columns if column != name] for name in metrics}
    if not any(offered.values()):
        return
    st.caption(OF_COVARIATES)
    with st.container(horizontal=True, gap="small"):
        for place, name in enumerate(metrics):
            if offered[name]:
                _covariate(upload, choices, place, name, offered[name])


def _covariate(
    upload: UploadState, choices: MetricChoices, place: int, metric: str, columns: list[str]
) -> None:
    own = f"{EARLIER}{metric}"
    nothing = f"{own}, as its name says" if own in columns else "nothing"
    titles = {AUTOMATIC: nothing, **{column: column for column in columns if column != own}}

    chosen = choices.covariates.get(metric, AUTOMATIC)
    chosen = chosen if chosen in titles else AUTOMATIC
    box = _bound(upload, f"covariate_{place}", chosen, lambda column: with_covariate(choices, metric, column))
    st.selectbox(f"{as_label(metric)}, adjusted by", **widgets.titled(titles), **box)


def with_covariate(choices: MetricChoices, metric: str, column: str) -> MetricChoices:
    """Returns the choices with another covariate of a metric, which is then no metric itself; "" for none."""
    others = {name: known for name, known in choices.covariates.items() if name not in (metric, column)}
    covariates = {**others, metric: column} if column else others
    primary = None if choices.primary == column else choices.primary
    return replace(choices, covariates=covariates, primary=primary)


def with_quantiles(choices: MetricChoices, columns: Collection[str], percent: float) -> MetricChoices:
    """Returns the choices with this quantile of the columns, without choices about other quantiles."""
    changed = replace(choices, quantiles=dict.fromkeys(columns, percent / 100))
    left_out = {metric.name for metric in choices.of_library(())} - {
        metric.name for metric in changed.of_library(())
    }
    covariates = {name: column for name, column in choices.covariates.items() if name not in left_out}
    return replace(
        changed, covariates=covariates, primary=None if choices.primary in left_out else choices.primary
    )


def with_library(choices: MetricChoices, offered: Collection[str], wanted: Collection[str]) -> MetricChoices:
    """Returns the choices with only these metrics of the library, without choices about the others."""
    left_out = set(offered) - set(wanted)
    covariates = {name: column for name, column in choices.covariates.items() if name not in left_out}
    primary = None if choices.primary in left_out else choices.primary
    return replace(choices, from_library=tuple(wanted), covariates=covariates, primary=primary)
