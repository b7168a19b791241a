"""The habits of libraries and texts, each under one word: parameters, population, order and ties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from recdash.domain import Duplicates, Order, Ties, Users
from recdash.errors import UnknownName
from recdash.metrics.registry import METRICS, named
from recdash.metrics.spec import Spec, parse, split


@dataclass(frozen=True)
class Preset:
    """What a library does where it differs from recdash's defaults."""

    name: str
    title: str
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    users: Users = "truth"
    order: Order | None = None
    ties: Ties = "file"
    duplicates: Duplicates = "first"
    relevance: str | None = None
    """Which column of the truth says what is relevant; "none" where every row is."""
    threshold: float | None = None
    why: str = ""

    def apply(self, spec: Spec) -> Spec:
        """The spec with the preset's parameters, those of the metrics it is made of included.

        Parameters written in the spec win.
        """
        spec = named(spec)
        given = dict(spec.parameters)
        for knob in METRICS[spec.name].parameters:
            if knob.kind == "metrics":
                parts = split(given.get(knob.name, knob.default or ""))
                given[knob.name] = ",".join(str(self.apply(parse(part))) for part in parts)
        preset = self.parameters.get(spec.name, {})
        return replace(spec, parameters=tuple({**preset, **given}.items()))


EVERY_ROW = "none"
"""No column says what is relevant: every row of the truth is."""

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("default", "recdash", why="Every user with a relevant item counts; a missing list is 0."),
        Preset(
            "trec_eval",
            "trec_eval",
            {"ndcg": {"grades": "all"}},
            users="judged_both",
            order="score",
            ties="item_desc",
            threshold=1.0,
            why="Averages over users that have a list and any row in the truth; one without a relevant item "
            "counts as 0. The score decides, ties go by id, descending. A grade below 1, or below the "
            "threshold given (its -l), is not relevant, and is a gain in nDCG all the same.",
        ),
        Preset(
            "rectools",
            "RecTools",
            {
                "ndcg": {"gain": "binary", "ideal": "full"},
                "serendipity": {"over": "list"},
                "coverage": {"of": "catalogue"},
            },
            relevance=EVERY_ROW,
            why="nDCG's ideal fills all k places, however few relevant items the user has. Grades are not "
            "looked at: every held-out row is relevant.",
        ),
        Preset(
            "recommenders",
            "Microsoft Recommenders",
            {"ndcg": {"gain": "binary"}, "map": {"norm": "min"}, "coverage": {"of": "train"}},
            users="both",
            relevance=EVERY_ROW,
            why="Only users in both tables count; MAP@k divides by min(m, k). Grades are not looked at. "
            "The library's nDCG alone is a mean over all users of the truth: this one times the share of "
            "them that has a list.",
        ),
        Preset(
            "ranx",
            "ranx",
            users="judged",
            threshold=1.0,
            why="The default definitions; a grade below 1 is not relevant. Users without a list count as 0, "
            "and so do users all of whose rows are below.",
        ),
        Preset(
            "recbole",
            "RecBole",
            {"ndcg": {"gain": "binary"}, "map": {"norm": "min"}},
            relevance=EVERY_ROW,
            why="Binary relevance; MAP@k divides by min(m, k). Its tail is exactly a tenth of the items, "
            "equally rare ones by id; recdash keeps them together.",
        ),
        Preset(
            "lenskit",
            "LensKit",
            {
                "ndcg": {"gain": "binary", "discount": "lenskit"},
                "precision": {"over": "list"},
                "recall": {"norm": "min"},
                "map": {"norm": "list"},
                "rbp": {"p": "0.85"},
            },
            users="both",
            relevance=EVERY_ROW,
            why="Ranks 1 and 2 weigh the same in nDCG; precision and average precision are over the list "
            "returned, recall over min(m, k).",
        ),
        Preset(
            "capri",
            "CAPRI",
            {
                "precision": {"over": "list"},
                "map": {"norm": "min"},
                "ndcg": {"gain": "exp", "ideal": "all"},
                "novelty": {"unseen": "zero"},
                "coverage": {"of": "train"},
                "diversity": {"by": "similarity"},
            },
            users="both",
            relevance=EVERY_ROW,
            why="nDCG's ideal takes all m items, whatever k; unseen items add no novelty; coverage is of the "
            "items in train. CAPRI rounds each user's nDCG to four digits, recdash does not.",
        ),
        Preset(
            "seed000",
            "Offline metrics tutorial",
            {"map": {"norm": "hits"}, "f1": {"average": "users"}},
            why="Average precision is the mean over the hits found, not over the relevant items.",
        ),
        Preset(
            "seed002",
            "Ranking metrics notes",
            {
                "mrr": {"sum": "all"},
                "map": {"norm": "none"},
                "precision": {"average": "micro"},
                "recall": {"average": "micro"},
            },
            why="Reciprocal ranks and precisions at hits are summed; precision and recall pool all users.",
        ),
    )
}


def preset(name: str) -> Preset:
    """Raises UnknownName, naming the known ones and the nearest."""
    if name not in PRESETS:
        raise UnknownName("preset", name, list(PRESETS))
    return PRESETS[name]
