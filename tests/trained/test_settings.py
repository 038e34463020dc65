"""Published settings, and SLCA's two rates: what each method trains by default, phase by phase, in two sessions."""

import numpy as np
import pytest
from copies import ROOT
from trained.toys import Make, rows, transformer

from study.pipeline import provenance
from study.pipeline.configuration import load
from study.report.reading import read_csv
from study.trained import methods
from study.trained.learner import Trained
from study.trained.phase import Phase

SGD, ADAM = "sgd", "adam"
# session: (phase, optimiser, rates, weight decays, epochs, batch, rate of the last epoch / first)
ALWAYS = {
    "linear-probe": ("training", SGD, [0.01], [5e-4], 20, 128, 1.0),
    "joint": ("training", SGD, [0.01, 1e-4], [5e-4] * 2, 20, 128, 1.0),
    "derpp": ("training", SGD, [0.01, 1e-4], [5e-4] * 2, 20, 128, 1.0),
    "l2p": ("training", ADAM, [0.001875], [0.0], 5, 16, 1.0),
    "coda-prompt": ("training", ADAM, [0.001], [0.0], 20, 128, np.cos(0.495 * np.pi)),
    "ease": ("training", SGD, [0.025], [5e-4], 20, 48, (1 + np.cos(0.95 * np.pi)) / 2),
}
PUBLISHED = {name: [[phase], [phase]] for name, phase in ALWAYS.items()}
for name in ("finetune", "icarl"):
    first = ("training", SGD, [0.01, 1e-4], [5e-4] * 2, 20, 128, 1.0)
    PUBLISHED[name] = [[first], [(*first[:3], [2e-4] * 2, *first[4:])]]
prefixes = [(name, ADAM, [0.001], [0.0], 5, 24, 1.0) for name in ("training", "key")]
PUBLISHED["dualprompt"] = [prefixes, prefixes]
slow = ("training", SGD, [0.01, 0.0001], [5e-4, 5e-4], 20, 64, 0.1)
PUBLISHED["slca"] = [[slow], [slow, ("alignment", SGD, [0.01], [5e-4], 3, 256, 0.25)]]
fall = (1 + np.cos(0.95 * np.pi)) / 2
PUBLISHED["foster"] = [
    [("training", SGD, [0.001], [5e-4], 20, 32, fall)],
    [
        ("boosting", SGD, [0.001], [5e-4], 20, 32, fall),
        ("compression", SGD, [0.001], [0.0], 20, 32, fall),
    ],
]


@pytest.mark.parametrize("name", methods.names())
def test_defaults_are_the_published_settings(
    name: str, setup: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[list[Phase]] = []
    monkeypatch.setattr(Trained, "_train", lambda _, phase, __: found[-1].append(phase) or 0.0)
    made = setup(transformer(5))
    learner = methods.build(name, made, **{"components": 2} if name == "coda-prompt" else {})
    batch = learner.batch
    for session, expected in enumerate(PUBLISHED[name]):
        found.append([])
        learner.fit_session(rows(made, session))
        assert len(found[-1]) == len(expected)
        for phase, (title, optimiser, rates, decays, epochs, size, last) in zip(
            found[-1], expected, strict=True
        ):
            assert (phase.name, phase.optimiser, phase.epochs) == (title, optimiser, epochs)
            assert [group["lr"] for group in phase.groups] == pytest.approx(rates)
            assert [group["weight_decay"] for group in phase.groups] == pytest.approx(decays)
            assert size == (256 if title == "alignment" else batch)
            assert phase.schedule(0, epochs) == 1.0
            assert phase.schedule(epochs - 1, epochs) == pytest.approx(last)


def test_settings_read_from_the_file_are_those_of_the_module() -> None:
    for name in methods.names():
        read = provenance.hyperparameters({"learner": name, "trained": True})
        assert sorted(read) == sorted(methods.hyperparameters(name))


def test_in_every_record_joint_training_ends_at_least_as_high_as_the_linear_probe() -> None:
    """Else the network is trained badly, and no trained row beside it tells what its method can do."""
    found = sorted(ROOT.glob("paper/*/summary/training.csv"))
    assert found
    for path in found:
        runs = read_csv(path.with_name("runs.csv"))
        means = runs.groupby(["dataset", "backbone", "method"])["A_last"].mean().unstack()
        assert (means["joint-finetune"] >= means["linear-probe"]).all(), path


def test_rates_of_a_suite_are_those_that_the_search_chose() -> None:
    suites, rates = load(ROOT)["suites"], read_csv(ROOT / "docs/search/learning-rates.csv")
    for row in rates[rates["chosen"] == 1].to_dict("records"):
        given = suites[row["suite"]]["training"]["methods"][row["method"]]
        assert (given["rate"], given[row["setting"]]) == (row["rate"], row["value"]), row["method"]
        assert (given["epochs"], given["batch"]) == (row["epochs"], row["batch"])
