"""The workflow's scripts without Snakemake: each is a function of one object with six attributes."""

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dictionary
import numpy as np
import pytest
from copies import ROOT, tree
from faults import failing
from tiny_suite import write_split

from sparcl.base.errors import FeatureFileError, InputError, OutputError
from sparcl.base.rows import unit
from sparcl.features import layout, store
from sparcl.protocol import stream
from study.images import shards
from study.loop.experiment import Split, run
from study.report import memory, timing
from study.sealed import write_sealed
from study.selection import select
from study.streams import run as stressed
from study.sums.sums_file import SumsFile

SCRIPTS = ROOT / "workflow/scripts"
NAMES = {
    "suite": "tiny",
    "dataset": "tiny-a",
    "backbone": "efficientnet-lite0",
    "order": "1993",
    "seed": "0",
}
TRACED = {
    "ridge": 1.0,
    "tau": 0.95,
    "modes": 8,
    "recommend": {"overlap": 0.5, "drift": 0.05, "cosine": 0.5},
}
SPARCL = {"learner": "sparcl", "hyper": {"refresh": 1}, "select": ["ridge", "tau"]}
UNTOUCHED = {"normalize": True, "stress": {}}
GRID = {"ridge": [0.1, 1.0], "tau": [0.5, 0.9]}


class Files(SimpleNamespace):
    """Inputs or outputs: attributes by name, and numbers for the values in their order."""

    def __getitem__(self, key: int | str) -> Any:
        return vars(self)[key] if isinstance(key, str) else list(vars(self).values())[key]

    def __len__(self) -> int:
        return len(vars(self))

    def get(self, key: str) -> Any:
        return vars(self).get(key)


class Names(SimpleNamespace):
    """Wildcards: attributes by name that `dict` accepts."""

    def keys(self) -> Any:
        return vars(self).keys()

    def __getitem__(self, key: str) -> str:
        return vars(self)[key]


def call(script: str, inputs: Any, output: Any, **more: Any) -> None:
    """Call a script's main as its rule would."""
    spec = importlib.util.spec_from_file_location(script, SCRIPTS / f"{script}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    wildcards = Names(**NAMES | more.pop("wildcards", {}))
    orders = [{"order": "1993"} | ({} if script == "trace_spectrum" else {"seed": "0"})]
    params = SimpleNamespace(**{"orders": orders, "code": ""} | more)
    module.main(
        SimpleNamespace(
            input=inputs, output=output, wildcards=wildcards, params=params, log=["log"]
        )
    )


def write_order(path: Path, sessions: list[list[int]]) -> None:
    names = {"suite": "tiny", "dataset": "tiny-a", "order": 1993}
    write_sealed(path, names | {"sessions": sessions, "sha256": stream.order_hash(sessions)})


@pytest.fixture
def features(tmp_path: Path) -> Callable[[str], Path]:
    """Return a call that gives the feature file of a split."""
    paths = {split: write_split(tmp_path, "tiny-a", split) for split in ("train", "test")}
    return paths.__getitem__


def from_features_to_figures(
    tmp_path: Path, features: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    train, test = features("train"), features("test")
    verified = tmp_path / "verified.json"
    manifest = train.with_suffix(".json")
    call(
        "verify_features",
        Files(features=train, manifest=manifest),
        [verified],
        wildcards={"split": "train"},
    )
    assert verified.read_bytes() == manifest.read_bytes()
    # jobs read the manifests that they wait for, and need no other
    verified_both = [verified, Path(shutil.copy(test.with_suffix(".json"), tmp_path / "test.json"))]
    for path in (train, test):
        path.with_suffix(".json").unlink()

    order = tmp_path / "tiny/tiny-a/1993.json"
    cut = {"sessions": 3, "base_classes": 0, "order_rule": "random"}
    call("make_order", Files(manifest=verified), [order], spec=cut)
    sessions = json.loads(order.read_text(encoding="utf-8"))["sessions"]
    assert [len(part) for part in sessions] == [4, 4, 4]
    assert sorted(label for part in sessions for label in part) == list(range(12))

    folder = tmp_path / "results/runs/tiny/tiny-a/efficientnet-lite0"
    selected = tmp_path / "results/selection/tiny/tiny-a/efficientnet-lite0/sparcl"
    rule = {"sub_sessions": 2, "fit_share": 0.75, "prefer_ridge": 1.0, "grid": GRID}
    call(
        "select_hyper",
        Files(train=train, manifests=[verified], orders=[order]),
        [selected],
        wildcards={"method": "sparcl"},
        spec=SPARCL | {"selection": rule} | UNTOUCHED,
    )
    selection = selected / "1993-0.json"
    chosen = json.loads(selection.read_text(encoding="utf-8"))["chosen"]
    assert chosen["ridge"] in GRID["ridge"] and chosen["tau"] in GRID["tau"]

    records = [folder / method for method in ("sparcl", "ncm")]
    for made, spec, before in zip(
        records, (SPARCL, {"learner": "ncm", "hyper": {}}), (selected, []), strict=True
    ):
        given = {"manifests": verified_both, "orders": [order], "selection": before}
        call(
            "run_method",
            Files(train=train, test=test, **given),
            [made],
            wildcards={"method": made.name},
            spec=spec | UNTOUCHED,
        )
    run_record = records[0] / "1993-0.json"
    record = json.loads(run_record.read_text(encoding="utf-8"))
    assert record["hyper"] == record["hyper"] | chosen
    assert record["dataset"] == "tiny-a" and record["order"] == 1993

    trace = tmp_path / "results/spectra/tiny/tiny-a/efficientnet-lite0"
    call(
        "trace_spectrum",
        Files(train=train, manifests=[verified], orders=[order]),
        [trace],
        spec=TRACED | UNTOUCHED,
    )
    folder = tmp_path / "paper/tiny/summary"
    of_runs = ("runs", "sessions", "arrivals", "diagnostics")
    of_traces = ("spectrum", "recommendations")
    summary = {name: folder / f"{name}.csv" for name in (*of_runs, *of_traces)}
    metrics = folder / "metrics.json"
    call(
        "summarise_runs",
        Files(records=records, traces=[trace]),
        Files(**{name: summary[name] for name in of_runs}, metrics=metrics),
    )
    spectra = Files(**{name: summary[name] for name in of_traces})
    call("summarise_spectra", Files(traces=[trace]), spectra)
    said = json.loads(metrics.read_text(encoding="utf-8"))
    assert said["last accuracy"].keys() == {"ncm", "sparcl"} and len(said) == 1
    kinds = {"orders": order, "selection": selection, "runs": run_record}
    kinds |= {"spectra": trace / "1993.json"}
    for kind, record_file in kinds.items():
        dictionary.check_record(kind, record_file, NAMES)
    assert len(summary["runs"].read_text(encoding="utf-8").splitlines()) == 3

    compared = folder / "differences.csv"
    given = Files(records=records, manifests=[verified])
    call("compare_methods", given, [compared], spec={"steps": True})
    assert "ncm,sparcl" in compared.read_text(encoding="utf-8")

    labels = {
        "methods": {m: {"label": m, "short": m} for m in ("ncm", "sparcl")},
        "datasets": {"tiny-a": {"label": "Tiny", "short": "Tiny"}},
        "backbones": {"efficientnet-lite0": {"label": "Net", "short": "Net"}},
        "suite": "tiny",
        "sessions": 3,
    }
    table = [tmp_path / f"main{suffix}" for suffix in (".tex", ".md", ".csv")]
    call(
        "write_table",
        Files(csv=[summary["runs"], compared]),
        table,
        wildcards={"table": "main"},
        options={"id": "main", "blocks": [["A_bar", "A_last"]], "caption": "Suite {suite}"}
        | labels,
    )
    assert "ncm" in table[1].read_text(encoding="utf-8")
    figure = [tmp_path / f"sessions{suffix}" for suffix in (".pdf", ".png")]
    call(
        "draw_figure",
        Files(csv=[summary["sessions"], compared]),
        figure,
        wildcards={"figure": "sessions"},
        options=labels,
    )
    assert figure[0].read_bytes().startswith(b"%PDF")

    monkeypatch.chdir(tmp_path)
    claim = {
        "id": "ncm-has-no-drift",
        "topic": "Drift",
        "place": "nowhere",
        "says": "Class means do not drift.",
        "measured": "drift of class means",
        "terms": [{"suite": "tiny", "frame": "runs", "method": "ncm", "column": "drift"}],
        "judge": {"is": "below", "than": 1e-9},
    }
    ledger = [tmp_path / f"claims{suffix}" for suffix in (".tex", ".md", ".csv")]
    call(
        "judge_claims",
        Files(csv=[path.relative_to(tmp_path) for path in summary.values()], timings=[]),
        ledger,
        ledger=[claim],
        known={"datasets": ["tiny-a"], "methods": ["ncm", "sparcl"]},
        labels={"tiny-a": "Tiny"},
    )
    assert "holds" in ledger[1].read_text(encoding="utf-8")
    assert "does not hold" not in ledger[1].read_text(encoding="utf-8").split("Class means")[1]


def test_a_method_reads_what_its_block_says(
    tmp_path: Path, features: Callable[[str], Path]
) -> None:
    """Unit norm comes after the blocks were put side by side; the record has the hash of what was read."""
    paths, data = {}, {}
    for split in ("train", "test"):
        given, rng = store.read(features(split)), np.random.default_rng(len(split))
        blocks = given.features[:, None] + rng.standard_normal((len(given.labels), 2, 24))
        blocks = blocks.astype(np.float16)
        meta = {k: v for k, v in given.meta.items() if k in layout.REQUIRED_KEYS}
        paths[split] = tmp_path / "blocks" / f"{split}.h5"
        arrays = given.labels, given.ids, given.class_names, meta, blocks, blocks[:, 0]
        manifest = store.write(paths[split], given.features, *arrays)
        matrix = blocks.reshape(len(blocks), 48).astype(float)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        data[split] = Split(matrix, given.labels), manifest["arrays"]["blocks"]["sha256"]
    manifests = [path.with_suffix(".json") for path in paths.values()]
    order = tmp_path / "tiny/tiny-a/1993.json"
    selected, made = (
        tmp_path / f"results/{kind}/tiny/tiny-a/efficientnet-lite0/acil"
        for kind in ("selection", "runs")
    )
    sessions = np.arange(12).reshape(3, 4).tolist()
    write_order(order, sessions)
    spec = {"learner": "acil", "hyper": {}, "select": ["ridge"], "features": "blocks"} | UNTOUCHED
    rule = {"sub_sessions": 2, "fit_share": 0.75, "prefer_ridge": 1.0}
    grid = {"ridge": [0.01, 0.1, 1.0]}
    call(
        "select_hyper",
        Files(train=paths["train"], manifests=manifests[:1], orders=[order]),
        [selected],
        wildcards={"method": "acil"},
        spec=spec | {"selection": rule | {"grid": grid}},
    )
    found = json.loads((selected / "1993-0.json").read_text(encoding="utf-8"))
    train, digest = data["train"]
    assert found == found | select(train, sessions[0], "acil", {}, grid, **rule, seed=0)
    inputs = Files(**paths, manifests=manifests, orders=[order], selection=selected)
    call("run_method", inputs, [made], spec=spec, wildcards={"method": "acil"})
    got = json.loads((made / "1993-0.json").read_text(encoding="utf-8"))
    ran = run(train, data["test"][0], sessions, "acil", found["chosen"])
    assert got == got | json.loads(json.dumps(ran))
    assert (got["train_sha256"], got["test_sha256"]) == (digest, data["test"][1])


@pytest.mark.parametrize("script", ["run_method", "select_hyper", "trace_spectrum", "sum_shard"])
def test_an_order_that_was_edited_stops_its_jobs(
    script: str, tmp_path: Path, features: Callable[[str], Path]
) -> None:
    order, train = tmp_path / "tiny/tiny-a/1993.json", features("train")
    write_order(order, [[0, 1], [2, 3]])
    order.write_text(order.read_text().replace("[[0,1],[2,3]]", "[[2,3],[0,1]]"))
    manifests = [features(split).with_suffix(".json") for split in ("train", "test")]
    inputs = Files(
        train=train,
        features=train,
        test=features("test"),
        manifest=manifests[0],
        manifests=manifests,
        order=order,
        orders=[order],
        selection=[],
    )
    spec = {"learner": "ncm", "hyper": {}, "selection": {}} | UNTOUCHED
    with pytest.raises(InputError, match=r"1993\.json: .*does not fit its seal"):
        call(script, inputs, [tmp_path / "results/out"], spec=spec, wildcards={"scale": "unit"})


def test_a_selection_of_another_method_is_not_taken(
    tmp_path: Path, features: Callable[[str], Path]
) -> None:
    order = tmp_path / "tiny/tiny-a/1993.json"
    write_order(order, np.arange(12).reshape(3, 4).tolist())
    selection = tmp_path / "tiny/tiny-a/efficientnet-lite0/acil"
    write_sealed(selection / "1993-0.json", NAMES | {"method": "sparcl", "chosen": {"ridge": 1.0}})
    splits = {split: features(split) for split in ("train", "test")}
    manifests = [path.with_suffix(".json") for path in splits.values()]
    inputs = Files(**splits, manifests=manifests, orders=[order], selection=selection)
    spec = {"learner": "acil", "hyper": {}} | UNTOUCHED
    with pytest.raises(InputError, match=r"belongs to .*/sparcl/1993-0\.json"):
        call(
            "run_method",
            inputs,
            [tmp_path / "results/out"],
            spec=spec,
            wildcards={"method": "acil"},
        )


def streams_that_go_wrong(tmp_path: Path, features: Callable[[str], Path]) -> None:
    """Of the record of every rate to a row a stream."""
    order = tmp_path / "tiny/tiny-a/1993.json"
    sessions = np.arange(12).reshape(3, 4).tolist()
    write_order(order, sessions)
    paths = {split: features(split) for split in ("train", "test")}
    manifests = [path.with_suffix(".json") for path in paths.values()]
    streams, settings = [{"bad-session": [0.0, 0.5]}], {"bad-session": {"reserve": 0.4}}
    made = tmp_path / "results/streams/tiny/tiny-a/efficientnet-lite0/acil"
    spec = {"learner": "acil", "hyper": {"ridge": 0.1}, "normalize": True}
    call(
        "run_stressed",
        Files(**paths, manifests=manifests, orders=[order]),
        [made],
        wildcards={"method": "acil"},
        spec=spec | {"streams": streams, "stress": {}, "rated": settings},
    )
    record = made / "1993-0.json"
    dictionary.check_record("streams", record, NAMES)
    splits = [Split(unit(store.read(p).features), store.read(p).labels) for p in paths.values()]
    ran = stressed.run(*splits, sessions, streams, settings, 1993, "acil", {"ridge": 0.1})
    got = json.loads(record.read_text(encoding="utf-8"))
    assert got == got | json.loads(json.dumps(ran)) and len(got["runs"]) == 2
    tables = {name: tmp_path / f"{name}.csv" for name in ("rates", "ages")}
    call("summarise_stressed", Files(records=[made]), Files(**tables))
    lines = {name: path.read_text(encoding="utf-8").splitlines() for name, path in tables.items()}
    assert {name: len(rows) for name, rows in lines.items()} == {"rates": 3, "ages": 7}


def test_a_class_order_that_fails_is_named_and_the_finished_ones_are_kept(
    tmp_path: Path, features: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the next call computes is what is missing or rests on something else."""
    ran: list[int] = []
    experiment = importlib.import_module("study.loop.experiment")
    real = experiment.run
    monkeypatch.setattr(
        experiment, "run", lambda *given: ran.append(given[2][0][0]) or real(*given)
    )
    orders = {number: tmp_path / f"tiny/tiny-a/{number}.json" for number in (1993, 1994, 1995)}
    for first, (number, path) in enumerate(orders.items()):
        sessions = [[first, 3, 4, 5], [i for i in range(12) if i not in (first, 3, 4, 5)]]
        names = {"suite": "tiny", "dataset": "tiny-a", "order": number}
        write_sealed(path, names | {"sessions": sessions, "sha256": stream.order_hash(sessions)})
    damaged = orders[1994].read_text()
    orders[1994].write_text(damaged.replace("[1,3,", "[3,1,"))
    splits = {split: features(split) for split in ("train", "test")}
    manifests = [path.with_suffix(".json") for path in splits.values()]
    made = tmp_path / "results/runs/tiny/tiny-a/efficientnet-lite0/acil"
    told = {"orders": [{"order": str(number), "seed": "7"} for number in orders]}
    told |= {"wildcards": {"method": "acil"}}

    def again(ridge: float = 1.0, code: str = "") -> list[int]:
        ran.clear()
        inputs = Files(**splits, manifests=manifests, orders=[*orders.values()], selection=[])
        spec = {"learner": "acil", "hyper": {"ridge": ridge}} | UNTOUCHED
        call("run_method", inputs, [made], spec=spec, code=code, **told)
        records = {path.stem: json.loads(path.read_text()) for path in made.glob("*.json")}
        assert {
            name: (r["order"], r["seed"], r["hyper"]["ridge"]) for name, r in records.items()
        } == {f"{of['order']}-7": (int(of["order"]), 7, ridge) for of in told["orders"]}
        return [*ran]

    with pytest.raises(InputError, match=r"^class order 1994, seed 7: .*1994\.json: .* seal"):
        again()
    assert ran == [0] and not made.exists()
    orders[1994].write_text(damaged)
    assert again() == [1, 2]
    shutil.rmtree(made)  # as Snakemake does before a job
    assert again() == []
    assert again(ridge=0.1) == [0, 1, 2]
    assert again(ridge=0.1, code="changed") == [0, 1, 2]
    manifests[0].write_text(manifests[0].read_text() + " ")
    assert again(ridge=0.1, code="changed") == [0, 1, 2]
    one = next((tmp_path / "results/finished").rglob("1994-7.*"))
    one.write_text(one.read_text().replace("acil", "lica"))
    assert again(ridge=0.1, code="changed") == [1]
    told["orders"].pop(0)
    shutil.rmtree(made)
    assert again(ridge=0.1, code="changed") == []
    assert len(list((tmp_path / "results/finished").rglob("*.json"))) == 2


def times(tmp_path: Path, features: Callable[[str], Path]) -> None:
    variants = {"acil": {"learner": "acil", "hyper": {}}, "ncm": {"learner": "ncm", "hyper": {}}}
    spec = {
        "datasets": ["tiny-a"],
        "backbone": "efficientnet-lite0",
        "order": 1993,
        "sessions": 3,
        "repeats": 1,
        "variants": variants,
    }
    inputs = Files(**{"tiny-a": features("train")})
    call("time_methods", inputs, [tmp_path / "refresh.csv"], spec=spec)
    rows = (tmp_path / "refresh.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 3 and rows[1].startswith("tiny-a,1993,acil")
    # Snakemake hands over text
    inputs = Files(**{"tiny-a": str(features("train"))})
    call("measure_memory", inputs, [tmp_path / "memory.csv"], spec=spec)
    rows = (tmp_path / "memory.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 3 and rows[1].startswith("tiny-a,1993,acil")


def test_files_of_another_place_are_refused(
    tmp_path: Path, features: Callable[[str], Path]
) -> None:
    """Every job compares its files with the data set, backbone and split that its path names; none writes."""
    train, test = features("train"), features("test")
    manifests = [path.with_suffix(".json") for path in (train, test)]
    order, sums = tmp_path / "tiny/tiny-a/1993.json", tmp_path / "classes.npz"
    write_order(order, np.arange(12).reshape(3, 4).tolist())
    SumsFile.of_file(train).save(sums)
    one = Files(train=train, manifests=manifests[:1], orders=[order])
    both = Files(train=train, test=test, manifests=manifests, orders=[order], selection=[])
    summed = Files(
        train_manifest=manifests[0],
        test=test,
        manifests=manifests[1:],
        orders=[order],
        selection=[],
        sums=[sums],
    )
    spec = SPARCL | UNTOUCHED | {"selection": {}}
    timed = {"datasets": ["tiny-a"], "backbone": "other", "order": 1, "sessions": 3, "repeats": 1}
    timed |= {"variants": {"ncm": {"learner": "ncm", "hyper": {}}}}
    jobs: dict[str, tuple[Files, dict[str, Any]]] = {
        "verify_features": (Files(features=train, manifest=manifests[0]), {}),
        "select_hyper": (one, spec),
        "trace_spectrum": (one, TRACED | UNTOUCHED),
        "run_method": (both, spec),
        "run_from_sums": (summed, spec),
        "sum_shard": (Files(features=train, manifest=manifests[0]), {}),
        "time_methods": (Files(**{"tiny-a": train}), timed),
        "measure_memory": (Files(**{"tiny-a": train}), timed),
    }
    said = "backbone is 'efficientnet-lite0', but its path stands for 'other'"
    names = {"backbone": "other", "split": "train", "scale": "unit", "method": "sparcl"}
    for script, (inputs, given) in jobs.items():
        with pytest.raises(FeatureFileError, match=said):
            call(script, inputs, [tmp_path / "results/written"], wildcards=names, spec=given)
    said = "dataset is 'tiny-a', but its path stands for 'tiny-b'"
    cut = {"sessions": 3, "base_classes": 0, "order_rule": "random"}
    inputs, names = Files(manifest=manifests[0]), {"dataset": "tiny-b"}
    with pytest.raises(FeatureFileError, match=said):
        call("make_order", inputs, [tmp_path / "written"], wildcards=names, spec=cut)
    assert not (tmp_path / "written").exists() and not (tmp_path / "results").exists()


def test_a_run_refuses_files_that_do_not_belong_together(
    tmp_path: Path, features: Callable[[str], Path]
) -> None:
    paths = {split: features(split) for split in ("train", "test")}
    data = store.read(paths["test"])
    meta = {k: v for k, v in data.meta.items() if k in layout.REQUIRED_KEYS}
    meta |= {"weights_sha256": "1" * 64}
    store.write(paths["test"], data.features, data.labels, data.ids, data.class_names, meta)
    manifests = [path.with_suffix(".json") for path in paths.values()]
    order, made = tmp_path / "tiny/tiny-a/1993.json", tmp_path / "results/made"
    write_order(order, [[*range(12)]])
    inputs = Files(**paths, manifests=manifests, orders=[order], selection=[])
    with pytest.raises(
        FeatureFileError, match=r"^\S+train\.h5 and .*test\.h5 .*weights_sha256 is '000"
    ):
        call("run_method", inputs, [made], spec=SPARCL | UNTOUCHED)
    assert not made.exists()


def orders_by_similarity(tmp_path: Path, features: Callable[[str], Path]) -> None:
    """Half of the classes in the first session, two rows of a class after it, and what the summary says of it."""
    train, order = features("train"), tmp_path / "tiny/tiny-a/1993.json"
    cut = {"sessions": 3, "base_classes": 0.5, "order_rule": "adjacent-least", "normalize": True}
    inputs = Files(manifest=train.with_suffix(".json"), train=train)
    call("make_order", inputs, [order], spec=cut | {"shots": 2})
    made = json.loads(order.read_text(encoding="utf-8"))
    assert [len(part) for part in made["sessions"]] == [6, 3, 3]
    assert made["similarity"] < made["similarity_drawn"]
    labels, session = store.read(train).labels, np.array(made["session_of_sample"])
    for t, classes in enumerate(made["sessions"]):
        for label in classes:
            rows = session[labels == label]
            assert set(rows) <= {t, -1} and np.count_nonzero(rows == t) == (2 if t else len(rows))
    summary = tmp_path / "orders.csv"
    call("summarise_orders", Files(orders=[order]), Files(orders=summary))
    header, row = summary.read_text(encoding="utf-8").splitlines()
    assert header == "suite,dataset,order,similarity,similarity_drawn"
    assert float(row.split(",")[3]) == pytest.approx(made["similarity"], rel=1e-5)


def shards_are_merged(tmp_path: Path, features: Callable[[str], Path]) -> None:
    given = store.read(features("train"))
    ids = [i.decode() for i in given.ids]
    meta = {k: v for k, v in given.meta.items() if k in layout.REQUIRED_KEYS}
    target = tmp_path / "merged" / "train.h5"
    parts = [target.parent / "train.shards" / f"{k}-of-2.h5" for k in (1, 2)]
    for k, part in enumerate(parts, 1):
        shard = shards.describe(ids, 10, k, 2)
        rows = slice(shard["first"], shard["stop"])
        arrays = given.features[rows], given.labels[rows], given.ids[rows]
        store.write(part, *arrays, given.class_names, meta | {"shard": shard})
    call("merge_shards", Files(shards=parts), Files(features=target))
    np.testing.assert_array_equal(store.read(target).features, given.features)
    manifests = [path.with_suffix(".json").read_bytes() for path in (target, features("train"))]
    assert manifests[0] == manifests[1]


def test_every_script_is_called_here() -> None:
    """All but splits and extraction, which the tests of the features run on real images; and training's."""
    text = Path(__file__).read_text(encoding="utf-8")
    text += (Path(__file__).parent / "test_trained.py").read_text(encoding="utf-8")
    scripts = {path.stem for path in SCRIPTS.glob("*.py")} - {"extract_features", "list_split"}
    assert len(scripts) > 5
    assert {name for name in scripts if f'call("{name}"' not in "".join(text.split())} == set()


def from_shards_to_a_record(tmp_path: Path, features: Callable[[str], Path]) -> None:
    train, test = features("train"), features("test")
    view = tmp_path / "cut" / "train.h5"
    shards.cut(train, view, 2)
    order = tmp_path / "tiny/tiny-a/1993.json"
    write_order(order, np.arange(12).reshape(3, 4).tolist())
    names = {"split": "train", "scale": "unit", "method": "acil"}
    parts = [tmp_path / f"sums/{k}-of-2.npz" for k in (1, 2)]
    for k, part in enumerate(parts, 1):
        shard = view.parent / f"train.shards/{k}-of-2.h5"
        inputs = Files(features=shard, manifest=shard.with_suffix(".json"), order=order)
        call("sum_shard", inputs, [part], wildcards=names)
    total, of_view = tmp_path / "classes.npz", [view.with_suffix(".json")]
    call("merge_sums", Files(sums=parts[::-1], train=view, manifests=of_view), [total])
    given = store.read(train)
    assert SumsFile.load(total).sums.counts.sum() == len(given.ids)
    inputs = Files(sums=parts[:1], train=view, manifests=of_view)
    with pytest.raises(InputError, match="are missing and 0 are others"):
        call("merge_sums", inputs, [tmp_path / "part.npz"])
    inputs = Files(
        train_manifest=train.with_suffix(".json"),
        test=test,
        manifests=[test.with_suffix(".json")],
        orders=[order],
        selection=[],
        sums=[total],
    )
    made = tmp_path / "results/runs/tiny/tiny-a/efficientnet-lite0/acil"
    spec = {"learner": "acil", "hyper": {"ridge": 1.0}} | UNTOUCHED
    call("run_from_sums", inputs, [made], wildcards=names, spec=spec)
    got = json.loads((made / "1993-0.json").read_text(encoding="utf-8"))
    splits = [Split(unit(data.features), data.labels) for data in (given, store.read(test))]
    ran = run(*splits, json.loads(order.read_text())["sessions"], "acil", {"ridge": 1.0})
    assert got == got | json.loads(json.dumps(ran))
    assert got["train_sha256"] == given.meta["features_sha256"]


def measured_once(measure: Callable[..., Any]) -> Callable[..., Any]:
    """Return a measurement that is what it was the first time: times and memory differ at every try."""
    found: dict[str, Any] = {}

    def held(*given: Any, **more: Any) -> Any:
        if (key := repr((given, more))) not in found:
            result = measure(*given, **more)
            found[key] = result if isinstance(result, dict) else list(result)
        return found[key]

    return held


@pytest.mark.parametrize(
    "flow",
    [
        from_features_to_figures,
        from_shards_to_a_record,
        orders_by_similarity,
        shards_are_merged,
        streams_that_go_wrong,
        times,
    ],
)
def test_every_write_of_a_script_may_fail(
    flow: Callable[..., None],
    tmp_path: Path,
    features: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each job's outputs are right; whatever they held stays or is replaced whole, and the same job then succeeds."""
    finished = tmp_path / "results/finished"

    def outputs() -> dict[str, bytes]:
        shutil.rmtree(finished, ignore_errors=True)  # else the next call computes nothing
        return tree(tmp_path)

    def fails_first(script: str, *given: Any, **more: Any) -> None:
        before = outputs()
        succeeds(script, *given, **more)
        whole = outputs()
        made = [name for name, content in whole.items() if before.get(name) != content]
        with failing(tmp_path, None) as disk:  # again, now that the folders are there
            succeeds(script, *given, **more)
        outputs()
        assert made and disk.steps >= 4 * len(made)  # opened, confirmed, renamed, confirmed
        for name in made:
            (tmp_path.parent / name).write_text("old")
        # Drawing takes its time: of a figure's steps the first and the last.
        skipped = disk.steps - 1 if script == "draw_figure" else 1
        for step in range(0, disk.steps, skipped):
            with failing(tmp_path, step), pytest.raises(OutputError) as caught:
                succeeds(script, *given, **more)
            assert any(Path(name).stem in str(caught.value) for name in made)
            left = outputs()
            assert left.keys() == whole.keys()
            for name, content in left.items():
                assert content in (whole[name], b"old" if name in made else None), (script, name)
        succeeds(script, *given, **more)
        assert outputs() == whole

    succeeds = call
    monkeypatch.setitem(globals(), "call", fails_first)
    for module, measure in ((timing, "relative"), (memory, "apart")):
        monkeypatch.setattr(module, measure, measured_once(getattr(module, measure)))
    flow(tmp_path, features, *([monkeypatch] if flow is from_features_to_figures else []))
