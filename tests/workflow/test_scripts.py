"""The workflow's scripts without Snakemake, from features to figures."""

import importlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dictionary
import numpy as np
import pytest
import script_calls
from copies import tree
from faults import failing
from script_calls import SCRIPTS, Given
from tiny_suite import write_split

from sparcl.base.errors import FeatureFileError, InputError, OutputError
from sparcl.base.files import read_json
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

PLACE = {"suite": "tiny", "dataset": "tiny-a", "backbone": "efficientnet-lite0"}
NAMES = PLACE | {"order": "1993", "seed": "0"}
RECOMMEND = {"overlap": 0.5, "drift": 0.05, "cosine": 0.5}
TRACED = {"ridge": 1.0, "tau": 0.95, "modes": 8, "recommend": RECOMMEND}
SPARCL = {"learner": "sparcl", "hyper": {"refresh": 1}, "select": ["ridge", "tau"]}
NCM = {"learner": "ncm", "hyper": {}}
UNTOUCHED = {"normalize": True, "stress": {}}
GRID = {"ridge": [0.1, 1.0], "tau": [0.5, 0.9]}
RULE = {"sub_sessions": 2, "fit_share": 0.75, "prefer_ridge": 1.0}
CUT = {"sessions": 3, "base_classes": 0, "order_rule": "random"}
SESSIONS = np.arange(12).reshape(3, 4).tolist()


def call(script: str, inputs: Any, output: Any, **more: Any) -> None:
    """Call a script's main as its rule would, for one class order of the suite `tiny`; ``more`` may name wildcards."""
    wildcards = ("method", "split", "scale", "table", "figure", *PLACE)
    names = NAMES | {name: more.pop(name) for name in wildcards if name in more}
    orders = [{"order": "1993"} | ({} if script == "trace_spectrum" else {"seed": "0"})]
    script_calls.call(script, inputs, output, names, **{"orders": orders} | more)


def manifest(path: Path) -> Path:
    return path.with_suffix(".json")


@dataclass
class Tiny:
    """A folder with the feature files of a data set, and where orders and outputs of its jobs lie."""

    root: Path

    def __post_init__(self) -> None:
        self.train, self.test = (
            write_split(self.root, "tiny-a", split) for split in ("train", "test")
        )
        self.order = self.root / "tiny/tiny-a/1993.json"

    def write_order(self, sessions: list[list[int]] = SESSIONS, number: int = 1993) -> Path:
        """Write a class order and return its path."""
        path = self.order.with_name(f"{number}.json")
        names = {"suite": "tiny", "dataset": "tiny-a", "order": number}
        sealed = names | {"sessions": sessions, "sha256": stream.order_hash(sessions)}
        write_sealed(path, sealed)
        return path

    def results(self, kind: str, method: str = "") -> Path:
        """Return the folder of a job's records."""
        return self.root / f"results/{kind}/tiny/tiny-a/efficientnet-lite0" / method

    def inputs(self, *orders: Path, **more: Any) -> Given:
        """Return the inputs of a job on both splits."""
        usual = {"train": self.train, "test": self.test, "selection": []}
        usual |= {"manifests": [manifest(self.train), manifest(self.test)]}
        return Given(**usual | {"orders": [*(orders or [self.order])]} | more)

    def of_sums(self, *sums: Path) -> Given:
        """Return the inputs of a job on sums of training rows."""
        more = {"train_manifest": manifest(self.train), "manifests": [manifest(self.test)]}
        return self.inputs(train=None, sums=[*sums], **more)

    def splits(self) -> list[Split]:
        """Return training and test rows of unit norm."""
        data = [store.read(path) for path in (self.train, self.test)]
        return [Split(unit(part.features), part.labels) for part in data]


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return Tiny(tmp_path)


def agrees(record: Path, expected: dict[str, Any]) -> dict[str, Any]:
    """Return a record, which must hold what is expected."""
    found = read_json(record)
    assert found == found | json.loads(json.dumps(expected))
    return found


def from_features_to_figures(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    root, order = tiny.root, tiny.order
    verified = root / "verified.json"
    inputs = Given(features=tiny.train, manifest=manifest(tiny.train))
    call("verify_features", inputs, [verified], split="train")
    assert verified.read_bytes() == manifest(tiny.train).read_bytes()
    # jobs read the manifests that they wait for, and need no other
    verified_both = [verified, Path(shutil.copy(manifest(tiny.test), root / "test.json"))]
    for path in (tiny.train, tiny.test):
        manifest(path).unlink()

    call("make_order", Given(manifest=verified), [order], spec=CUT)
    sessions = read_json(order)["sessions"]
    assert [len(part) for part in sessions] == [4, 4, 4]
    assert sorted(label for part in sessions for label in part) == list(range(12))

    of_train = Given(train=tiny.train, manifests=[verified], orders=[order])
    selected, spec = tiny.results("selection", "sparcl"), SPARCL | UNTOUCHED
    rule = {"selection": RULE | {"grid": GRID}}
    call("select_hyper", of_train, [selected], method="sparcl", spec=spec | rule)
    selection = selected / "1993-0.json"
    chosen = read_json(selection)["chosen"]
    assert chosen["ridge"] in GRID["ridge"] and chosen["tau"] in GRID["tau"]

    records = [tiny.results("runs", method) for method in ("sparcl", "ncm")]
    inputs = tiny.inputs(manifests=verified_both, selection=selected)
    call("run_method", inputs, records[:1], method="sparcl", spec=spec)
    inputs = tiny.inputs(manifests=verified_both)
    call("run_method", inputs, records[1:], method="ncm", spec=NCM | UNTOUCHED)
    run_record = records[0] / "1993-0.json"
    record = agrees(run_record, {"dataset": "tiny-a", "order": 1993})
    assert record["hyper"] == record["hyper"] | chosen

    trace = tiny.results("spectra")
    call("trace_spectrum", of_train, [trace], spec=TRACED | UNTOUCHED)
    folder = root / "paper/tiny/summary"
    of_runs = ("runs", "sessions", "arrivals", "diagnostics")
    of_traces = ("spectrum", "recommendations")
    summary = {name: folder / f"{name}.csv" for name in (*of_runs, *of_traces)}
    metrics, compared = folder / "metrics.json", folder / "differences.csv"
    outputs = Given(**{name: summary[name] for name in of_runs}, metrics=metrics)
    call("summarise_runs", Given(records=records, traces=[trace]), outputs)
    spectra = Given(**{name: summary[name] for name in of_traces})
    call("summarise_spectra", Given(traces=[trace]), spectra)
    said = read_json(metrics)
    assert said["last accuracy"].keys() == {"ncm", "sparcl"} and len(said) == 1
    kinds = {"orders": order, "selection": selection, "runs": run_record}
    for kind, file in (kinds | {"spectra": trace / "1993.json"}).items():
        dictionary.check_record(kind, file, NAMES)
    assert len(summary["runs"].read_text(encoding="utf-8").splitlines()) == 3

    inputs = Given(records=records, manifests=[verified])
    call("compare_methods", inputs, [compared], spec={"steps": True})
    assert "ncm,sparcl" in compared.read_text(encoding="utf-8")

    labels = {
        "methods": {m: {"label": m, "short": m} for m in ("ncm", "sparcl")},
        "datasets": {"tiny-a": {"label": "Tiny", "short": "Tiny"}},
        "backbones": {"efficientnet-lite0": {"label": "Net", "short": "Net"}},
        "suite": "tiny",
        "sessions": 3,
    }
    table = [root / f"main{suffix}" for suffix in (".tex", ".md", ".csv")]
    options = {"id": "main", "blocks": [["A_bar", "A_last"]], "caption": "Suite {suite}"} | labels
    inputs = Given(csv=[summary["runs"], compared])
    call("write_table", inputs, table, table="main", options=options)
    assert "ncm" in table[1].read_text(encoding="utf-8")
    figure = [root / f"sessions{suffix}" for suffix in (".pdf", ".png")]
    inputs = Given(csv=[summary["sessions"], compared])
    call("draw_figure", inputs, figure, figure="sessions", options=labels)
    assert figure[0].read_bytes().startswith(b"%PDF")

    monkeypatch.chdir(root)
    claim = {
        "id": "ncm-has-no-drift",
        "topic": "Drift",
        "place": "nowhere",
        "says": "Class means do not drift.",
        "measured": "drift of class means",
        "terms": [{"suite": "tiny", "frame": "runs", "method": "ncm", "column": "drift"}],
        "judge": {"is": "below", "than": 1e-9},
    }
    ledger = [root / f"claims{suffix}" for suffix in (".tex", ".md", ".csv")]
    inputs = Given(csv=[path.relative_to(root) for path in summary.values()], timings=[])
    known = {"datasets": ["tiny-a"], "methods": ["ncm", "sparcl"]}
    told = {"ledger": [claim], "known": known, "labels": {"tiny-a": "Tiny"}}
    call("judge_claims", inputs, ledger, **told)
    judged = ledger[1].read_text(encoding="utf-8")
    assert "holds" in judged and "does not hold" not in judged.split("Class means")[1]


def test_a_method_reads_what_its_block_says(tiny: Tiny) -> None:
    """Unit norm comes after the blocks were put side by side; the record has the hash of what was read."""
    data = []
    for path in (tiny.train, tiny.test):
        whole, rng = store.read(path), np.random.default_rng(len(path.stem))
        blocks = whole.features[:, None] + rng.standard_normal((len(whole.labels), 2, 24))
        blocks = blocks.astype(np.float16)
        meta = {k: v for k, v in whole.meta.items() if k in layout.REQUIRED_KEYS}
        arrays = whole.labels, whole.ids, whole.class_names, meta, blocks, blocks[:, 0]
        stated = store.write(path, whole.features, *arrays)
        matrix = unit(blocks.reshape(len(blocks), 48))
        data.append((Split(matrix, whole.labels), stated["arrays"]["blocks"]["sha256"]))
    (train, digest), (test, test_digest) = data
    tiny.write_order()
    selected, made = (tiny.results(kind, "acil") for kind in ("selection", "runs"))
    spec = {"learner": "acil", "hyper": {}, "select": ["ridge"], "features": "blocks"} | UNTOUCHED
    grid = {"ridge": [0.01, 0.1, 1.0]}
    inputs = tiny.inputs(test=None, manifests=[manifest(tiny.train)])
    rule = {"selection": RULE | {"grid": grid}}
    call("select_hyper", inputs, [selected], method="acil", spec=spec | rule)
    expected = select(train, SESSIONS[0], "acil", {}, grid, **RULE, seed=0)
    found = agrees(selected / "1993-0.json", expected)
    call("run_method", tiny.inputs(selection=selected), [made], method="acil", spec=spec)
    got = agrees(made / "1993-0.json", run(train, test, SESSIONS, "acil", found["chosen"]))
    assert (got["train_sha256"], got["test_sha256"]) == (digest, test_digest)


def test_what_was_edited_or_belongs_to_another_stops_a_job(tiny: Tiny) -> None:
    order = tiny.write_order([[0, 1], [2, 3]])
    whole = order.read_text()
    order.write_text(whole.replace("[[0,1],[2,3]]", "[[2,3],[0,1]]"))
    own = {"features": tiny.train, "manifest": manifest(tiny.train), "order": order}
    out, spec = [tiny.root / "results/out"], NCM | {"selection": {}} | UNTOUCHED
    for script in ("run_method", "select_hyper", "trace_spectrum", "sum_shard"):
        with pytest.raises(InputError, match=r"1993\.json: .*does not fit its seal"):
            call(script, tiny.inputs(**own), out, spec=spec, scale="unit")
    order.write_text(whole)
    selection = tiny.root / "tiny/tiny-a/efficientnet-lite0/acil"
    write_sealed(selection / "1993-0.json", NAMES | {"method": "sparcl", "chosen": {"ridge": 1.0}})
    spec = {"learner": "acil", "hyper": {}} | UNTOUCHED
    with pytest.raises(InputError, match=r"belongs to .*/sparcl/1993-0\.json"):
        call("run_method", tiny.inputs(selection=selection), out, method="acil", spec=spec)


def streams_that_go_wrong(tiny: Tiny) -> None:
    """Of the record of every rate to a row a stream."""
    tiny.write_order()
    streams, settings = [{"bad-session": [0.0, 0.5]}], {"bad-session": {"reserve": 0.4}}
    made = tiny.results("streams", "acil")
    spec = {"learner": "acil", "hyper": {"ridge": 0.1}, "normalize": True}
    spec |= {"streams": streams, "stress": {}, "rated": settings}
    call("run_stressed", tiny.inputs(), [made], method="acil", spec=spec)
    record = made / "1993-0.json"
    dictionary.check_record("streams", record, NAMES)
    told = SESSIONS, streams, settings, 1993, "acil", {"ridge": 0.1}
    assert len(agrees(record, stressed.run(*tiny.splits(), *told))["runs"]) == 2
    tables = {name: tiny.root / f"{name}.csv" for name in ("rates", "ages")}
    call("summarise_stressed", Given(records=[made]), Given(**tables))
    lines = {name: path.read_text(encoding="utf-8").splitlines() for name, path in tables.items()}
    assert {name: len(rows) for name, rows in lines.items()} == {"rates": 3, "ages": 7}


def test_a_class_order_that_fails_is_named_and_the_finished_ones_are_kept(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the next call computes is what is missing or rests on something else."""
    ran: list[int] = []
    experiment = importlib.import_module("study.loop.experiment")
    real = experiment.run
    monkeypatch.setattr(
        experiment, "run", lambda *given: ran.append(given[2][0][0]) or real(*given)
    )
    rest = [*range(12)]
    orders = {
        number: tiny.write_order(
            [[first, 3, 4, 5], [i for i in rest if i not in (first, 3, 4, 5)]], number
        )
        for first, number in enumerate((1993, 1994, 1995))
    }
    damaged = orders[1994].read_text()
    orders[1994].write_text(damaged.replace("[1,3,", "[3,1,"))
    made, kept = tiny.results("runs", "acil"), tiny.root / "results/finished"
    told = [{"order": str(number), "seed": "7"} for number in orders]

    def again(ridge: float = 1.0, code: str = "") -> list[int]:
        ran.clear()
        spec = {"learner": "acil", "hyper": {"ridge": ridge}} | UNTOUCHED
        given = {"method": "acil", "spec": spec, "code": code, "orders": told}
        call("run_method", tiny.inputs(*orders.values()), [made], **given)
        records = {path.stem: read_json(path) for path in made.glob("*.json")}
        assert {
            name: (r["order"], r["seed"], r["hyper"]["ridge"]) for name, r in records.items()
        } == {f"{of['order']}-7": (int(of["order"]), 7, ridge) for of in told}
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
    manifest(tiny.train).write_text(manifest(tiny.train).read_text() + " ")
    assert again(ridge=0.1, code="changed") == [0, 1, 2]
    one = next(kept.rglob("1994-7.*"))
    one.write_text(one.read_text().replace("acil", "lica"))
    assert again(ridge=0.1, code="changed") == [1]
    told.pop(0)
    shutil.rmtree(made)
    assert again(ridge=0.1, code="changed") == []
    assert len(list(kept.rglob("*.json"))) == 2


def times(tiny: Tiny) -> None:
    spec = {"datasets": ["tiny-a"], "backbone": "efficientnet-lite0", "order": 1993, "sessions": 3}
    spec |= {"repeats": 1, "variants": {"acil": {"learner": "acil", "hyper": {}}, "ncm": NCM}}
    # Snakemake hands over text
    for script, path in (("time_methods", tiny.train), ("measure_memory", str(tiny.train))):
        output = tiny.root / f"{script}.csv"
        call(script, Given(**{"tiny-a": path}), [output], spec=spec)
        rows = output.read_text(encoding="utf-8").splitlines()
        assert len(rows) == 3 and rows[1].startswith("tiny-a,1993,acil")


def test_files_of_another_place_are_refused(tiny: Tiny) -> None:
    """Every job compares its files with the data set, backbone and split that its path names; none writes."""
    sums = tiny.root / "classes.npz"
    tiny.write_order()
    SumsFile.of_file(tiny.train).save(sums)
    alone = Given(features=tiny.train, manifest=manifest(tiny.train))
    one = tiny.inputs(test=None, manifests=[manifest(tiny.train)])
    spec = SPARCL | UNTOUCHED | {"selection": {}}
    timed = {"datasets": ["tiny-a"], "backbone": "other", "order": 1, "sessions": 3, "repeats": 1}
    timed |= {"variants": {"ncm": NCM}}
    jobs: dict[str, tuple[Given, dict[str, Any]]] = {
        "verify_features": (alone, {}),
        "select_hyper": (one, spec),
        "trace_spectrum": (one, TRACED | UNTOUCHED),
        "run_method": (tiny.inputs(), spec),
        "run_from_sums": (tiny.of_sums(sums), spec),
        "sum_shard": (alone, {}),
        "time_methods": (Given(**{"tiny-a": tiny.train}), timed),
        "measure_memory": (Given(**{"tiny-a": tiny.train}), timed),
    }
    said = "backbone is 'efficientnet-lite0', but its path stands for 'other'"
    names = {"backbone": "other", "split": "train", "scale": "unit", "method": "sparcl"}
    written = [tiny.root / "results/written"]
    for script, (inputs, told) in jobs.items():
        with pytest.raises(FeatureFileError, match=said):
            call(script, inputs, written, **names, spec=told)
    said = "dataset is 'tiny-a', but its path stands for 'tiny-b'"
    with pytest.raises(FeatureFileError, match=said):
        call(
            "make_order", Given(manifest=manifest(tiny.train)), written, dataset="tiny-b", spec=CUT
        )
    data = store.read(tiny.test)
    meta = {k: v for k, v in data.meta.items() if k in layout.REQUIRED_KEYS}
    meta |= {"weights_sha256": "1" * 64}
    store.write(tiny.test, data.features, data.labels, data.ids, data.class_names, meta)
    said = r"^\S+train\.h5 and .*test\.h5 .*weights_sha256 is '000"
    with pytest.raises(FeatureFileError, match=said):
        call("run_method", tiny.inputs(), written, method="sparcl", spec=spec)
    assert not (tiny.root / "results").exists()


def orders_by_similarity(tiny: Tiny) -> None:
    """Half of the classes in the first session, two rows of a class after it, and what the summary says of it."""
    cut = CUT | {"base_classes": 0.5, "order_rule": "adjacent-least", "normalize": True}
    inputs = Given(manifest=manifest(tiny.train), train=tiny.train)
    call("make_order", inputs, [tiny.order], spec=cut | {"shots": 2})
    made = read_json(tiny.order)
    assert [len(part) for part in made["sessions"]] == [6, 3, 3]
    assert made["similarity"] < made["similarity_drawn"]
    labels, session = store.read(tiny.train).labels, np.array(made["session_of_sample"])
    for t, classes in enumerate(made["sessions"]):
        for label in classes:
            rows = session[labels == label]
            assert set(rows) <= {t, -1} and np.count_nonzero(rows == t) == (2 if t else len(rows))
    summary = tiny.root / "orders.csv"
    call("summarise_orders", Given(orders=[tiny.order]), Given(orders=summary))
    header, row = summary.read_text(encoding="utf-8").splitlines()
    assert header == "suite,dataset,order,similarity,similarity_drawn"
    assert float(row.split(",")[3]) == pytest.approx(made["similarity"], rel=1e-5)


def shards_are_merged(tiny: Tiny) -> None:
    whole = store.read(tiny.train)
    ids = [i.decode() for i in whole.ids]
    meta = {k: v for k, v in whole.meta.items() if k in layout.REQUIRED_KEYS}
    target = tiny.root / "merged/train.h5"
    parts = [target.parent / "train.shards" / f"{k}-of-2.h5" for k in (1, 2)]
    for k, part in enumerate(parts, 1):
        shard = shards.describe(ids, 10, k, 2)
        rows = slice(shard["first"], shard["stop"])
        arrays = whole.features[rows], whole.labels[rows], whole.ids[rows]
        store.write(part, *arrays, whole.class_names, meta | {"shard": shard})
    call("merge_shards", Given(shards=parts), Given(features=target))
    np.testing.assert_array_equal(store.read(target).features, whole.features)
    assert manifest(target).read_bytes() == manifest(tiny.train).read_bytes()


def test_every_script_is_called_here() -> None:
    """All but splits and extraction, which the tests of the features run on real images; and training's."""
    text = Path(__file__).read_text(encoding="utf-8")
    text += (Path(__file__).parent / "test_trained.py").read_text(encoding="utf-8")
    scripts = {path.stem for path in SCRIPTS.glob("*.py")} - {"extract_features", "list_split"}
    assert len(scripts) > 5
    assert {name for name in scripts if f'"{name}"' not in text} == set()


def from_shards_to_a_record(tiny: Tiny) -> None:
    view = tiny.root / "cut/train.h5"
    shards.cut(tiny.train, view, 2)
    order = tiny.write_order()
    names = {"split": "train", "scale": "unit", "method": "acil"}
    parts = [tiny.root / f"sums/{k}-of-2.npz" for k in (1, 2)]
    for k, part in enumerate(parts, 1):
        shard = view.parent / f"train.shards/{k}-of-2.h5"
        inputs = Given(features=shard, manifest=manifest(shard), order=order)
        call("sum_shard", inputs, [part], **names)
    total, of_view = tiny.root / "classes.npz", {"train": view, "manifests": [manifest(view)]}
    call("merge_sums", Given(sums=parts[::-1], **of_view), [total])
    whole = store.read(tiny.train)
    assert SumsFile.load(total).sums.counts.sum() == len(whole.ids)
    with pytest.raises(InputError, match="are missing and 0 are others"):
        call("merge_sums", Given(sums=parts[:1], **of_view), [tiny.root / "part.npz"])
    made = tiny.results("runs", "acil")
    spec = {"learner": "acil", "hyper": {"ridge": 1.0}} | UNTOUCHED
    call("run_from_sums", tiny.of_sums(total), [made], **names, spec=spec)
    ran = run(*tiny.splits(), SESSIONS, "acil", {"ridge": 1.0})
    assert agrees(made / "1993-0.json", ran)["train_sha256"] == whole.meta["features_sha256"]


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
    flow: Callable[..., None], tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each job's outputs are right; whatever they held stays or is replaced whole, and the same job then succeeds."""
    root = tiny.root

    def outputs() -> dict[str, bytes]:
        shutil.rmtree(root / "results/finished", ignore_errors=True)  # else a call computes nothing
        return tree(root)

    def fails_first(script: str, *given: Any, **more: Any) -> None:
        before = outputs()
        succeeds(script, *given, **more)
        whole = outputs()
        made = [name for name, content in whole.items() if before.get(name) != content]
        with failing(root, None) as disk:  # again, now that the folders are there
            succeeds(script, *given, **more)
        outputs()
        assert made and disk.steps >= 4 * len(made)  # opened, confirmed, renamed, confirmed
        for name in made:
            (root.parent / name).write_text("old")
        # Drawing takes its time: of a figure's steps the first and the last.
        skipped = disk.steps - 1 if script == "draw_figure" else 1
        for step in range(0, disk.steps, skipped):
            with failing(root, step), pytest.raises(OutputError) as caught:
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
    flow(tiny, *([monkeypatch] if flow is from_features_to_figures else []))
