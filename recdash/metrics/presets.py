"""The habits of libraries and texts, each under one word: parameters, population, order and ties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from recdash.domain import Order, Ties, Users
from recdash.errors import UnknownName
from recdash.metrics.catalogue import TABLES
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
    why: str = ""

    def apply(self, spec: Spec) -> Spec:
        """The spec with the preset's parameters; those written in the spec win."""
        given = dict(spec.parameters)
        if "of" in given:
            given["of"] = ",".join(self._nested(part) for part in split(given["of"]))
        preset = self.parameters.get(spec.name, {})
        return replace(spec, parameters=tuple({**preset, **given}.items()))

    def _nested(self, text: str) -> str:
        """A part of ``of``: another metric under the preset, or a plain word such as a table's name."""
        return text if text in TABLES else str(self.apply(parse(text)))


PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("default", "recdash", why="Every user with a relevant item counts; a missing list is 0."),
        Preset(
            "trec_eval",
            "trec_eval",
            users="both",
            order="score",
            ties="item_desc",
            why="Averages over users that have a list; the score decides, ties go by id, descending.",
        ),
        Preset(
            "rectools",
            "RecTools",
            {"ndcg": {"gain": "binary", "ideal": "full"}},
            why="nDCG's ideal fills all k places, however few relevant items the user has.",
        ),
        Preset(
            "recommenders",
            "Microsoft Recommenders",
            {"ndcg": {"gain": "binary"}, "map": {"norm": "min"}},
            users="both",
            why="Only users in both tables count; MAP@k divides by min(m, k).",
        ),
        Preset("ranx", "ranx", why="The default definitions, users without a list counting 0."),
        Preset(
            "recbole",
            "RecBole",
            {"ndcg": {"gain": "binary"}, "map": {"norm": "min"}},
            why="Binary relevance; MAP@k divides by min(m, k).",
        ),
        Preset(
            "lenskit",
            "LensKit",
            {"ndcg": {"gain": "binary", "discount": "lenskit"}, "precision": {"over": "list"}},
            users="both",
            why="Ranks 1 and 2 weigh the same in nDCG; precision is over the list returned.",
        ),
        Preset(
            "capri",
            "CAPRI",
            {
                "precision": {"over": "list"},
                "map": {"norm": "min"},
                "ndcg": {"gain": "exp", "ideal": "all"},
                "novelty": {"unseen": "zero"},
            },
            users="both",
            why="nDCG's ideal takes all m items, whatever k; unseen items add no novelty.",
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
