"""The entries of the guide, generated from the tables of metrics and presets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from recdash.definitions.conventions import DUPLICATES_WORDS, relevance_words, users_words
from recdash.metrics import METRICS, PRESETS, Preset
from recdash.metrics.agreement import WORDS, agreement_table
from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.ranking import RankingMetric
from recdash.metrics.registry import Metric


@dataclass(frozen=True)
class MetricGuide:
    """The guide's entry on one metric; ``parameters`` are (name, default, {value: meaning}).

    The default is empty for a required parameter. ``plain`` says what a value means for users, ``title`` what
    is computed.
    """

    name: str
    plain: str
    title: str
    formula: str
    family: str
    parameters: tuple[tuple[str, str, dict[str, str]], ...]
    range: str
    unit: str
    direction: str
    source: str
    needs: str
    example: str
    has_cutoff: bool


@dataclass(frozen=True)
class PresetGuide:
    """The guide's entry on one preset: the specs and rules of counting in which it differs from the
    default.
    """

    name: str
    title: str
    why: str
    specs: tuple[str, ...]
    rules: tuple[str, ...]
    agreement: tuple[str, ...] = ()
    """Agreement with the library's own numbers: one sentence for each state that occurs."""


def metric_guides() -> list[MetricGuide]:
    return [_metric_guide(metric) for metric in METRICS.values()]


def preset_guides() -> list[PresetGuide]:
    return [_preset_guide(preset) for preset in PRESETS.values()]


def _metric_guide(metric: Metric) -> MetricGuide:
    family, needs, unit, direction = _family(metric)
    usual = "0 to 1" if unit == "share" else "0 or more"
    return MetricGuide(
        metric.name,
        metric.plain,
        metric.title,
        metric.latex,
        family,
        tuple((knob.name, knob.default or "", dict(knob.values)) for knob in metric.parameters),
        getattr(metric, "range", usual),
        unit,
        direction,
        metric.source,
        needs,
        metric.example,
        metric.has_cutoff,
    )


def _family(metric: Metric) -> tuple[str, str, str, str]:
    """Returns the metric's family, the inputs that it needs, its unit, and which direction is better."""
    if isinstance(metric, RankingMetric):
        return "Accuracy", "ranked lists and a test set", metric.unit, "higher is better"
    if isinstance(metric, CatalogueMetric):
        unit = "share" if metric.unit == "0..1" else metric.unit
        return "Beyond accuracy", metric.needs, unit, f"higher is {metric.higher_is}"
    better = "lower" if metric.lower_is_better else "higher"
    return "Ratings", "rating predictions", metric.unit, f"{better} is better"


def _preset_guide(preset: Preset) -> PresetGuide:
    specs = tuple(
        f"{name}({','.join(f'{knob}={value}' for knob, value in knobs.items())})"
        for name, knobs in preset.parameters.items()
    )
    rules = [users_words(preset.users)]
    if preset.order:
        rules.append(f"lists are ordered by {preset.order}")
    if preset.ties == "item_desc":
        rules.append("tied scores are ordered by item id, descending")
    if preset.duplicates == "keep":
        rules.append(DUPLICATES_WORDS["keep"])
    if preset.relevance or preset.threshold is not None:
        rules.append(f"relevant: {relevance_words(preset.relevance, preset.threshold)}")
    return PresetGuide(
        preset.name, preset.title, preset.why, specs, tuple(rules), tuple(_agreement_words(preset.name))
    )


def _agreement_words(name: str) -> Iterator[str]:
    """Yields one line per state of agreement, such as ``equal to RecTools 0.19: precision, recall, …``;
    states that do not occur are left out.
    """
    agreements = [agreement for agreement in agreement_table() if agreement.preset == name]
    for state, words in WORDS.items():
        specs = ", ".join(agreement.spec for agreement in agreements if agreement.state == state)
        if specs and state != "own":
            library = f"{agreements[0].library} {agreements[0].version}".strip()
            yield f"{words} ({library}): {specs}"
