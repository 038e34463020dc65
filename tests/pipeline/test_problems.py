"""What settings say against each other is refused while planning, all of it in one message."""

import copy
from typing import Any

import pytest
from copies import ROOT

from sparcl.base.errors import ConfigError
from study.pipeline.configuration import load
from study.pipeline.problems import contradictions

Settings = dict[str, Any]

OTHER_NETWORK = {"features": "file", "path": "a/mine/net", "shards": 1}
NO_IMAGES = {"features": "file", "path": "a/mine/vit-s14-focus-112", "shards": 1}
TWO = ["efficientnet-lite0", "vit-s14-focus"]
TOY, TRAINED, NOISY = "suites/toy/", "suites/trained/", "suites/noisy/"
# Values at their places, and the words of the one sentence that refuses them: where, what, what there is instead.
REFUSED: list[tuple[Settings, tuple[str, ...]]] = [
    ({"suite": "nonesuch"}, ("suite 'nonesuch'", "bundled", "name of a data set")),
    ({TOY + "datasets": ["nonesuch"]}, ("toy.yaml: datasets", "'nonesuch'", "cub-50")),
    ({TOY + "backbones": ["nonesuch"]}, ("toy.yaml: backbones", "'nonesuch'", "efficientnet-lite0")),
    ({TOY + "backbones": TWO, TOY + "figures": []},
     ("toy.yaml: tables: main", "efficientnet-lite0, vit-s14-focus", "`backbone`")),
    ({"datasets/mine": OTHER_NETWORK, TOY + "datasets": ["mine"]},
     ("config/suites/toy.yaml", "'mine' are those of 'net'", "not of 'efficientnet-lite0'")),
    ({"datasets/mine": OTHER_NETWORK, "timings/refresh/datasets": ["mine"]},
     ("config/timings.yaml: refresh", "'mine' are those of 'net'")),
    ({"backbones/net": {"label": "net"}, TOY + "datasets": ["digits"], TOY + "backbones": ["net"]},
     ("config/suites/toy.yaml", "'net' comes with imported features", "'digits'", "timm_id")),
    ({TOY + "methods": ["nonesuch"]}, ("toy.yaml: methods", "'nonesuch'", "sparcl-paper")),
    ({TOY + "tables": ["nonesuch"]}, ("toy.yaml: tables", "'nonesuch'", "tau-post")),
    ({"datasets/mine": NO_IMAGES, TRAINED + "datasets": ["mine"]},
     ("trained.yaml: datasets", "'mine' has no images", "finetune", "`reader`")),
    ({TRAINED + "stress": "saturated"}, ("trained.yaml: stress", "train on images")),
    ({TRAINED + "training/methods/acil": {"epochs": 3}}, ("trained.yaml: training.methods", "'acil'", "finetune")),
    ({TRAINED + "training/datasets": {"digits": {}}}, ("trained.yaml: training.datasets", "'digits'", "cub-50")),
    ({TRAINED + "training/methods/l2p/epoch": 3}, ("trained.yaml: training.methods.l2p", "'epoch'", "epochs")),
    ({TOY + "training": {"device": "cpu"}}, ("toy.yaml: training", "the suite has none")),
    ({NOISY + "stress": "saturated"}, ("config/suites/noisy.yaml: stress goes without `streams`",)),
    ({NOISY + "methods": ["acil"]}, ("noisy.yaml", "'acil' has `select`", "settings that are given")),
    ({NOISY + "tables": ["main"]}, ("noisy.yaml: tables: main reads runs", "with `streams` does not make")),
    ({TOY + "tables": ["rates"]}, ("toy.yaml: tables: rates reads rates", "without `streams` does not make")),
    ({"suites/increments/compare/of": "ncm"}, ("increments.yaml: compare", "'ncm'", "sparcl-plus")),
    ({"timings/refresh/datasets": ["nonesuch"]}, ("config/timings.yaml: refresh.datasets", "'nonesuch'")),
    ({"methods/ncm/learner": "nonesuch"}, ("config/methods.yaml: ncm.learner", "'nonesuch'", "sparcl-alg1")),
    ({"methods/sparcl/hyper/refesh": 1}, ("config/methods.yaml: sparcl.hyper", "'refesh'", "refresh")),
    ({"timings/methods/variants/ncm/hyper/width": 1}, ("timings.yaml: methods.variants.ncm.hyper", "'width'")),
    ({"methods/flycl/hyper/ridges": "nonesuch"},
     ("methods.yaml: flycl", "'nonesuch' under `ridges`", "half-decades, middle, ranpac, fly-cl")),
    ({"methods/fecam/select": ["lambda"]}, ("config/methods.yaml: fecam.select", "'lambda'", "alpha")),
    ({"methods/acil/select": ["ridge", "tau"]}, ("config/methods.yaml: acil.select", "'tau'", "ridge")),
    ({"methods/sparcl/hyper/tau": 0.5}, ("config/methods.yaml: sparcl", "'tau' is both selected and fixed")),
    ({"methods/sparcl/select": ["tau"]}, ("methods.yaml: sparcl.select", "Name `ridge` in `select`")),
    ({"methods/sparcl/select": ["tau"], "methods/sparcl/hyper": {"ridge": "newest"}},
     ("config/methods.yaml: sparcl.select", "a number in `hyper`")),
    ({"figures/drift/show": ["acil | nonesuch"]}, ("config/figures.yaml: drift", "'nonesuch'", "sparcl-paper")),
    ({"tables/main/groups": {"All": ["ncm", "nonesuch"]}}, ("tables.yaml: main", "'nonesuch'", "sparcl-paper")),
    ({"tables/main/frames": ["nonesuch/runs"]}, ("config/tables.yaml: main.frames", "'nonesuch'", "bundled")),
    ({TOY + "tables": ["streams"]}, ("toy.yaml: tables: streams reads bundled, ", " long, ", "`group: ablations`")),
    ({"methods/project/sums": "classes"}, ("config/suites/sweep.yaml: vary.12.hyper", "Sums", "project")),
    ({"methods/sparcl-paper/hyper/tau": 1.5}, ("config/methods.yaml: sparcl-paper.hyper: tau = 1.5: ",)),
    ({"methods/flycl-official/hyper/ridges": [-1.0]}, ("config/methods.yaml: flycl-official.hyper: ridges = -1.0: ",)),
    ({"timings/refresh/variants/acil/hyper/ridge": 0}, ("timings.yaml: refresh.variants.acil.hyper: ridge = 0: ",)),
    ({"methods/sparcl/select": ["ridge"], "selection/grid/ridge": [1.0, -1.0]},
     ("config/methods.yaml: sparcl.hyper: ridge = -1.0: ",)),
    ({TOY + "sessions": [30, 10]}, ("toy.yaml: sessions: 'cub-50': 50 classes", "30, 10, which hold 40")),
    ({TOY + "sessions": 51}, ("toy.yaml: sessions: 'cub-50': 50 classes cannot fill 51 sessions",)),
    ({TOY + "base_classes": 48}, ("toy.yaml", "with 48 classes in the first")),
    ({TOY + "sessions": 50}, ("toy.yaml", "one class in its first session, where acil, sparcl select")),
    ({TOY + "sessions": 1}, ("toy.yaml: figures: dilution shows session 2 of 1",)),
    ({TOY + "order_rule": "identity"}, ("toy.yaml: pairs: 2 numbers", "1993, 1994", "one number in every pair")),
    ({TOY + "figures": ["frontier"], TOY + "methods": ["acil", "sparcl"]},
     ("toy.yaml", "frontier shows", "none of them")),
    ({TOY + "tables": ["increments"]}, ("toy.yaml", "increments shows what", "`compare`")),
    ({TOY + "traces": 0, TOY + "figures": ["dilution"]},
     ("toy.yaml: figures: dilution reads the spectrum of R", "`traces: 0`", "set `traces: 1`")),
]  # fmt: skip


def test_what_is_there_passes_and_each_contradiction_is_refused(config: Settings) -> None:
    assert [*contradictions(config)] == []
    for changes, words in REFUSED:
        wrong = copy.deepcopy(config)
        for place, value in changes.items():
            *above, key = place.split("/")
            block = wrong
            for name in above:
                block = block[name]
            block[key] = value
        found = [*contradictions(wrong)]
        assert any(all(word in sentence for word in words) for sentence in found), (words, found)


def test_two_backbones_are_allowed_where_each_table_names_its_own(config: Settings) -> None:
    """And where nothing is shown of them."""
    networks = ["efficientnet-lite0", "vit-s14-focus"]
    of_each = {
        f"main-{name}": config["tables"]["main"] | {"module": "main", "backbone": name}
        for name in networks
    }
    config["tables"] |= of_each
    config["suites"]["toy"].update(backbones=networks, tables=[*of_each], figures=[])
    assert list(contradictions(config)) == []


def test_a_fixed_tau_beside_a_selected_ridge_is_allowed(config: Settings) -> None:
    config["methods"]["sparcl"] |= {"hyper": {"tau": 0.5}, "select": ["ridge"]}
    config["methods"]["sparcl-plus-1"] |= {"hyper": {"ridge": 1.0}, "select": ["tau"]}
    assert [*contradictions(config)] == []


def test_everything_wrong_is_said_at_once() -> None:
    wrong = {"suites": {"toy": {"methods": ["one"]}}, "methods": {"ncm": {"learner": "two"}}}
    with pytest.raises(ConfigError) as refused:
        load(ROOT, wrong)
    assert "'one'" in str(refused.value) and "'two'" in str(refused.value)
