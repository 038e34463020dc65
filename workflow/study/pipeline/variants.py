"""The methods that a suite's key ``vary`` makes of one method: a grid of some of its settings."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from study.places import where

Settings = dict[str, Any]


def expand(settings: Settings) -> Iterator[str]:
    """Add the methods that suites vary to ``methods``, and to a suite's own where it does not name them.

    Yields a sentence for each family of which no methods can be made.
    """
    for place, suite, name, made in list(_made(settings)):
        if not made:
            yield f"{place}: {name}"
        elif settings["methods"].setdefault(name, made) != made:
            yield f"{place}.id: there is another method '{name}'. Choose an id of its own."
        elif name not in suite["methods"]:
            suite["methods"] = [*suite["methods"], name]


def places(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return where the methods are written that suites vary, by id."""
    return {name: place for place, _, name, made in _made(settings) if made}


def _made(settings: Mapping[str, Any]) -> Iterator[tuple[str, Settings, str, Settings]]:
    """Yield place, suite, id and block of each method; in place of the last two a fault and nothing.

    Points are left out of an id, so that 0.95 is 095.
    """
    for suite_id, suite in settings["suites"].items():
        for number, family in enumerate(suite.get("vary", [])):
            place = where("suites", suite_id, "vary", number)
            of = settings["methods"].get(family["of"])
            if of is None:
                yield place, suite, f"of: there is no '{family['of']}' in {where('methods')}.", {}
                continue
            # a run from sums is not passed on: a variant may need samples where its origin does not
            own = {key: value for key, value in of.items() if key != "sums"}
            forms = {key: family.get(key, family["label"]) for key in ("id", "label", "short")}
            for values in product(*family["over"].values()):
                over = dict(zip(family["over"], values, strict=True))
                try:
                    texts = {key: form.format(**over) for key, form in forms.items()}
                except (LookupError, ValueError, TypeError) as error:
                    known = ", ".join(f"{{{key}}}" for key in over)
                    said = f"`id`, `label` and `short` are filled in with {known} ({error})."
                    yield place, suite, said, {}
                    break
                name = texts.pop("id").replace(".", "").replace("_", "-")
                yield place, suite, name, {**own, **texts, "hyper": {**of["hyper"], **over}}
