"""What settings say against each other is refused while planning, all of it in one message."""

from collections.abc import Callable
from typing import Any

import pytest
from copies import ROOT

from sparcl.base.errors import ConfigError
from study.pipeline.checks import contradictions
from study.pipeline.configuration import load

Settings = dict[str, Any]
Change = Callable[[Settings], object]

# A change, and the words of the one sentence that refuses it: where, what, and what there is instead.
REFUSED: dict[str, tuple[Change, list[str]]] = {
    "suite": (
        lambda c: c.update(suite="nonesuch"),
        ["suite 'nonesuch'", "bundled", "name of a data set"],
    ),
    "data set": (
        lambda c: c["suites"]["toy"].update(datasets=["nonesuch"]),
        ["config/suites/toy.yaml: datasets", "'nonesuch'", "cub-50"],
    ),
    "backbone": (
        lambda c: c["suites"]["toy"].update(backbones=["nonesuch"]),
        ["config/suites/toy.yaml: backbones", "'nonesuch'", "efficientnet-lite0"],
    ),
    "two backbones in a table of one": (
        lambda c: c["suites"]["toy"].update(
            backbones=["efficientnet-lite0", "vit-s14-focus"], figures=[]
        ),
        ["config/suites/toy.yaml: tables: main", "efficientnet-lite0, vit-s14-focus", "`backbone`"],
    ),
    "imported features of another network": (
        lambda c: (
            c["datasets"].update(mine={"features": "file", "path": "a/mine/net", "shards": 1}),
            c["suites"]["toy"].update(datasets=["mine"]),
        ),
        ["config/suites/toy.yaml", "'mine' are those of 'net'", "not of 'efficientnet-lite0'"],
    ),
    "imported features of another network, timed": (
        lambda c: (
            c["datasets"].update(mine={"features": "file", "path": "a/mine/net", "shards": 1}),
            c["timings"]["refresh"].update(datasets=["mine"]),
        ),
        ["config/timings.yaml: refresh", "'mine' are those of 'net'"],
    ),
    "images for an imported network": (
        lambda c: (
            c["backbones"].update(net={"label": "net"}),
            c["suites"]["toy"].update(datasets=["digits"], backbones=["net"]),
        ),
        ["config/suites/toy.yaml", "'net' comes with imported features", "'digits'", "timm_id"],
    ),
    "method": (
        lambda c: c["suites"]["toy"].update(methods=["nonesuch"]),
        ["config/suites/toy.yaml: methods", "'nonesuch'", "sparcl-paper"],
    ),
    "table": (
        lambda c: c["suites"]["toy"].update(tables=["nonesuch"]),
        ["config/suites/toy.yaml: tables", "'nonesuch'", "tau-post"],
    ),
    "trained on features without images": (
        lambda c: (
            c["datasets"].update(
                mine={"features": "file", "path": "a/mine/vit-s14-focus-112", "shards": 1}
            ),
            c["suites"]["trained"].update(datasets=["mine"]),
        ),
        ["config/suites/trained.yaml: datasets", "'mine' has no images", "finetune", "`reader`"],
    ),
    "trained on stressed features": (
        lambda c: c["suites"]["trained"].update(stress="saturated"),
        ["config/suites/trained.yaml: stress", "train on images"],
    ),
    "budget of a method that is not there": (
        lambda c: c["suites"]["trained"]["training"]["methods"].update(acil={"epochs": 3}),
        ["config/suites/trained.yaml: training.methods", "'acil'", "finetune"],
    ),
    "budget of a data set that is not there": (
        lambda c: c["suites"]["trained"]["training"].update(datasets={"digits": {}}),
        ["config/suites/trained.yaml: training.datasets", "'digits'", "cub-50"],
    ),
    "budget with an unknown setting": (
        lambda c: c["suites"]["trained"]["training"]["methods"]["l2p"].update(epoch=3),
        ["config/suites/trained.yaml: training.methods.l2p", "'epoch'", "epochs"],
    ),
    "budget that nobody reads": (
        lambda c: c["suites"]["toy"].update(training={"device": "cpu"}),
        ["config/suites/toy.yaml: training", "the suite has none"],
    ),
    "streams beside a failure case": (
        lambda c: c["suites"]["noisy"].update(stress="saturated"),
        ["config/suites/noisy.yaml: stress goes without `streams`"],
    ),
    "streams with a method that selects": (
        lambda c: c["suites"]["noisy"].update(methods=["acil"]),
        ["config/suites/noisy.yaml", "'acil' has `select`", "settings that are given"],
    ),
    "streams without the summary of a table": (
        lambda c: c["suites"]["noisy"].update(tables=["main"]),
        ["config/suites/noisy.yaml: tables.main reads runs", "with `streams` does not make"],
    ),
    "a table of streams without streams": (
        lambda c: c["suites"]["toy"].update(tables=["rates"]),
        ["config/suites/toy.yaml: tables.rates reads rates", "without `streams` does not make"],
    ),
    "compared": (
        lambda c: c["suites"]["increments"]["compare"].update(of="ncm"),
        ["config/suites/increments.yaml: compare", "'ncm'", "sparcl-plus"],
    ),
    "data set of a timing": (
        lambda c: c["timings"]["refresh"].update(datasets=["nonesuch"]),
        ["config/timings.yaml: refresh.datasets", "'nonesuch'"],
    ),
    "learner": (
        lambda c: c["methods"]["ncm"].update(learner="nonesuch"),
        ["config/methods.yaml: ncm.learner", "'nonesuch'", "sparcl-alg1"],
    ),
    "setting": (
        lambda c: c["methods"]["sparcl"]["hyper"].update(refesh=1),
        ["config/methods.yaml: sparcl.hyper", "'refesh'", "refresh"],
    ),
    "setting of a variant": (
        lambda c: c["timings"]["methods"]["variants"]["ncm"]["hyper"].update(width=1),
        ["config/timings.yaml: methods.variants.ncm.hyper", "'width'"],
    ),
    "grid": (
        lambda c: c["methods"]["flycl"]["hyper"].update(grid="nonesuch"),
        [
            "config/methods.yaml: flycl",
            "'nonesuch' under `grids`",
            "half-decades, middle, ranpac, fly-cl",
        ],
    ),
    "selected, without candidates": (
        lambda c: c["methods"]["fecam"].update(select=["lambda"]),
        ["config/methods.yaml: fecam.select", "'lambda'", "alpha"],
    ),
    "selected, but not a setting": (
        lambda c: c["methods"]["acil"].update(select=["ridge", "tau"]),
        ["config/methods.yaml: acil.select", "'tau'", "ridge"],
    ),
    "selected and fixed": (
        lambda c: c["methods"]["sparcl"]["hyper"].update(tau=0.5),
        ["config/methods.yaml: sparcl", "'tau' is both selected and fixed"],
    ),
    "tau selected without a ridge": (
        lambda c: c["methods"]["sparcl"].update(select=["tau"]),
        ["config/methods.yaml: sparcl.select", "Name `ridge` in `select`"],
    ),
    "tau selected with a rule": (
        lambda c: c["methods"]["sparcl"].update(select=["tau"], hyper={"ridge": "newest"}),
        ["config/methods.yaml: sparcl.select", "a number in `hyper`"],
    ),
    "curve": (
        lambda c: c["figures"]["drift"].update(show=["acil | nonesuch"]),
        ["config/figures.yaml: drift", "'nonesuch'", "sparcl-paper"],
    ),
    "group": (
        lambda c: c["tables"]["main"].update(groups={"All": ["ncm", "nonesuch"]}),
        ["config/tables.yaml: main", "'nonesuch'", "sparcl-paper"],
    ),
    "suite of a frame": (
        lambda c: c["tables"]["main"].update(frames=["nonesuch/runs"]),
        ["config/tables.yaml: main.frames", "'nonesuch'", "bundled"],
    ),
    "frame of another suite": (
        lambda c: c["suites"]["toy"].update(tables=["streams"]),
        ["config/suites/toy.yaml: tables.streams reads suite 'long'", "`group: ablations`"],
    ),
    "sums that do not hold enough": (
        lambda c: c["methods"]["project"].update(sums="classes"),
        ["config/suites/sweep.yaml: vary.12.hyper", "Sums", "project"],
    ),
}


def test_what_is_there_passes(config: Settings) -> None:
    assert [*contradictions(config)] == []


@pytest.mark.parametrize("what", REFUSED)
def test_refused(config: Settings, what: str) -> None:
    change, words = REFUSED[what]
    change(config)
    found = [*contradictions(config)]
    assert any(all(word in sentence for word in words) for sentence in found), found


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
