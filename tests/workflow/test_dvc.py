"""DVC over Snakemake: a fresh clone is clean, a rebuild gives the same bytes, a change reruns what it touches."""

import hashlib
import json
import re
import subprocess
import zipfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import warm
import yaml
from copies import ROOT, dvc, edit_params, edited, environment, git, tree

from sparcl.base.files import read_json
from study.pipeline.provenance import learner_modules, script_code
from study.report.reading import read_csv
from study.report.summary import headline

METRICS = "paper/*/summary/metrics.json"
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
DRAWING = {"draw_figure", "write_table"}
HASHED = {"select_hyper", "run_method", "run_from_sums", "run_stressed", "trace_spectrum"}


def record_times(folder: Path) -> dict[str, int]:
    """Return when each run record was written."""
    runs = folder / "results/runs/bundled"
    return {p.relative_to(runs).as_posix(): p.stat().st_mtime_ns for p in runs.rglob("*.json")}


def rewritten(folder: Path, before: dict[str, int]) -> set[str]:
    """Return the methods of which a run record was written since."""
    after = record_times(folder)
    return {name.split("/")[2] for name in after if after[name] != before.get(name)}


def test_a_fresh_clone_is_clean_and_has_nothing_to_do(fresh: Path) -> None:
    """Nor do remarks in settings give it anything."""
    assert git(fresh, "status", "--porcelain") == ""
    remarks = [("params.yaml", "selection:"), ("config/methods.yaml", "acil:")]
    with ExitStack() as stack:
        for name, key in remarks:
            stack.enter_context(edited(fresh / name, (key, f"# a remark\n{key}")))
        assert "up to date" in dvc(fresh, "repro")
    assert git(fresh, "status", "--porcelain") == ""
    assert not (fresh / "results").exists()


def test_dvc_sees_every_bundled_data_set() -> None:
    held = {name.split("/")[2] for name in git(ROOT, "ls-files", "data/features").split()}
    rules = (ROOT / ".dvcignore").read_text(encoding="utf-8")
    assert held == set(re.findall("^!/data/features/(.+)$", rules, re.MULTILINE))


@pytest.mark.slow
def test_deleted_outputs_are_rebuilt_to_the_byte(fresh: Path) -> None:
    for top in ("paper", "results"):
        subprocess.run(["rm", "-rf", top], cwd=fresh, check=True)
    assert git(fresh, "status", "--porcelain") != ""
    dvc(fresh, "repro")
    assert git(fresh, "status", "--porcelain") == ""
    assert "up to date" in dvc(fresh, "status")


def test_changed_code_and_a_caption_rerun_what_uses_them(work: Path) -> None:
    """A remark in a method reruns that one, to the same bytes, and a caption none; test_reruns.py has more files."""
    before = record_times(work)
    edit_params(work, lambda params: params["tables"]["main"].update(caption="Changed."))
    with edited(work / "sparcl/methods/ncm.py", ("", "# a remark\n")):
        said = dvc(work, "repro")
    assert "Running stage 'runs'" in said and "Running stage 'paper'" in said
    assert rewritten(work, before) == {"ncm"}
    changed = [name for name in git(work, "diff", "--name-only").split() if "paper" in name]
    assert changed == [f"paper/bundled/tables/main.{suffix}" for suffix in ("md", "tex")]
    assert "Changed." in (work / changed[0]).read_text(encoding="utf-8")


def test_metrics_and_plots_show_every_method(work: Path) -> None:
    """A column a method, and a clean tree after drawing."""
    methods = {"ncm", "sparcl", "sparcl-paper"}
    table = dvc(work, "metrics", "show", "--md").splitlines()
    columns = {cell.strip() for cell in table[0].strip("|").split("|")}
    assert columns == {"Path", *(f"last accuracy.{method}" for method in methods)}
    metrics = "paper/bundled/summary/metrics.json"
    assert [line.split()[1] for line in table[2:] if line] == [metrics]
    assert headline(read_csv(work / metrics.replace("metrics.json", "runs.csv"))) == read_json(
        work / metrics
    )
    dvc(work, "plots", "show")
    page = (work / "dvc_plots/index.html").read_text(encoding="utf-8")
    assert '"title": "accuracy after the last session, %"' in page
    assert '"method", "type": "nominal"' in page  # our template: a method is no number
    assert all(f'"{method}"' in page for method in methods)
    assert len(list((work / "dvc_plots").rglob("*.png"))) == 3
    assert git(work, "status", "--porcelain") == ""


def test_an_artifact_is_fetched_by_name(work: Path, tmp_path: Path) -> None:
    """The one that a tag names, as CONTRIBUTING.md sets it with a release."""
    git(work, "tag", "--annotate", "--message", "Release.", "runs@v0.1.0")
    dvc(tmp_path, "artifacts", "get", str(work), "runs")
    summary = work / "paper/bundled/summary/runs.csv"
    assert (tmp_path / "runs.csv").read_bytes() == summary.read_bytes()


def test_a_crate_of_a_run(work: Path, tmp_path: Path) -> None:
    """Every file with its hash, made by one action of the commit's workflow; what is not so is refused."""
    from rocrate.rocrate import ROCrate

    def crate() -> str:
        module, crate = "study.pipeline.crate", tmp_path / "run.zip"
        command = [warm.python(), "-m", module, "bundled", str(crate)]
        run = subprocess.run(
            command, cwd=work, env=environment(work), capture_output=True, text=True
        )
        assert bool(run.returncode) == bool(run.stderr)
        return run.stderr

    assert crate() == ""
    read = ROCrate(tmp_path / "run.zip")
    workflow, (action,) = read.mainEntity, read.get_by_type("CreateAction")
    assert workflow["version"] == git(work, "rev-parse", "HEAD").strip()
    assert action["instrument"] == workflow
    made = {entity["name"] for entity in action["result"]}
    assert {"paper/bundled/summary/runs.csv", "paper/bundled/tables/main.md"} < made
    assert sum(name.startswith("results/runs/") for name in made) == 3
    given = {entity["name"] for entity in action["object"]}
    features = "data/features/tiny-a/efficientnet-lite0/train"
    assert {f"{features}.h5", f"{features}.json", "params.yaml", "requirements/core.txt"} < given
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        held = set(archive.namelist())
        assert held - {"Snakefile", "ro-crate-metadata.json"} == {
            n for n in made | given if ".h5" not in n
        }
        for entity in (*action["result"], *action["object"]):
            content = (work / entity["name"]).read_bytes()
            assert entity["sha256"] == hashlib.sha256(content).hexdigest()
            assert entity.id.startswith("#") or archive.read(entity.id) == content

    with edited(work / "params.yaml", ("selection:", "# a remark\nselection:")):
        assert "params.yaml: not as in the commit" in crate()
    with edited(work / "paper/bundled/summary/runs.csv", ("ncm", "mcn")):
        assert "runs.csv: it was edited by hand" in crate()
    (work / "paper/bundled/figures/drift.png").unlink()
    assert "drift.png: 1 of " in crate() and "make results SUITE=bundled" in crate()


def test_the_lock_pins_what_is_committed() -> None:
    """Every output as git has it, and the metrics of each suite are those of its runs."""
    from dvc.repo import Repo

    graph = Repo(ROOT).index.graph
    assert graph.number_of_edges() == 5, "a graph that is small enough to read"
    stages = [stage for stage in graph if stage.name != "features"]
    changed = [out.def_path for stage in stages for out in stage.outs if out.status()]
    assert len(stages) > 3 and changed == []
    said = {path.parent.parent.name: read_json(path) for path in ROOT.glob(METRICS)}
    runs = {suite: read_csv(ROOT / f"paper/{suite}/summary/runs.csv") for suite in said}
    assert {suite: headline(frame) for suite, frame in runs.items()} == said
    assert len(said) > 3


def planned_code(
    everything: str, methods: dict[str, Any], suites: set[str], *others: str
) -> dict[bool, set[str]]:
    """Return the Python files that the jobs of suites and the rules ``others`` rest on; True: the drawing ones."""
    files: defaultdict[bool, set[str]] = defaultdict(set)
    for rule, text in re.findall(r"^(?:local)?rule (\w+):\n((?: .*\n)*)", everything, re.MULTILINE):
        suite = re.search(r"wildcards: .*\bsuite=([\w-]+)", text)
        if suite[1] not in suites if suite else rule not in others:
            continue
        inputs = re.search(r"input: (.*)", text)
        names = inputs.group(1).split(", ") if inputs else []
        if rule in HASHED:  # these are told the hash of their code
            method = re.search(r"method=([\w-]+)", text)
            modules = learner_modules(methods[method[1]]) if method else []
            names = script_code(rule, *modules)
        files[rule in DRAWING] |= {name for name in names if name.endswith(".py")}
    return files


def named(file: str) -> str:
    """Return what dvc.yaml names for a file: its package, or the file at the top of one."""
    above, _, name = file.rpartition("/")
    return (
        "workflow"
        if above.startswith("workflow/")
        else file
        if name == file or above == "sparcl"
        else "/".join(above.split("/")[:2])  # a package with its folders
    )


def test_stages_name_the_packages_that_their_jobs_use(
    everything: str, loaded: dict[str, Any]
) -> None:
    """A new method, part or figure needs no line in dvc.yaml; a package that nothing uses has none."""
    methods = loaded["methods"]
    own = planned_code(everything, methods, {loaded["suite"]}, "verify_features")
    groups = {name for name, block in loaded["suites"].items() if "group" in block}
    recorded = planned_code(everything, methods, groups, "verify_features", "judge_claims")
    for stage, used in (
        ("runs", own[False]),
        ("paper", own[True]),
        ("recorded", recorded[False] | recorded[True]),
    ):
        deps = {d for d in STAGES[stage]["deps"] if d.startswith(("sparcl", "figures", "workflow"))}
        assert deps == {named(file) for file in used}, (
            f"stage {stage}: correct its deps in dvc.yaml"
        )


def test_stages_name_the_settings_that_their_jobs_read() -> None:
    """Captions are settings of tables and figures alone: they start no stage with runs of methods."""
    named = {
        stage: {next(iter(p)) if isinstance(p, dict) else p for p in block.get("params", [])}
        for stage, block in STAGES.items()
    }
    page = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    catalogues = (path for path in (ROOT / "config").glob("*.yaml") if not path.is_symlink())
    files = {path.relative_to(ROOT).as_posix() for path in catalogues}
    suite = "config/suites/${suite}.yaml"
    assert set().union(*named.values()) == {*page, *files, suite}
    assert named["runs"] == {*page, *files, suite} - {
        "extraction",
        *(f"config/{name}.yaml" for name in ("backbones", "figures", "tables", "timings")),
    }
    assert "config/suites" in STAGES["recorded"]["deps"]


def test_the_recorded_suites_are_a_stage(loaded: dict[str, Any]) -> None:
    """Every suite that paper/ holds beside the default one."""
    suites = {name for name, block in loaded["suites"].items() if "group" in block}
    outs = {next(iter(out)) for out in STAGES["recorded"]["outs"]}
    assert outs == {f"paper/{suite}" for suite in (*suites, "claims")}


def test_no_stage_deletes_what_it_has_made() -> None:
    """DVC removes an output before it runs a stage, unless the output persists: git holds them all."""
    made = [out for block in STAGES.values() for out in block["outs"] + block.get("metrics", [])]
    outs = [item for out in made for item in out.items()]
    assert [out for out, kept in outs if kept != {"cache": False, "persist": True}] == []


def test_outputs_are_those_of_the_suite_that_is_set(loaded: dict[str, Any]) -> None:
    """`suite: toy` makes paper/toy, and nothing else of DVC's names the suite of params.yaml."""
    text = (ROOT / "dvc.yaml").read_text(encoding="utf-8")
    assert loaded["suite"] not in text
    own = [out for stage in ("runs", "paper") for block in STAGES[stage]["outs"] for out in block]
    assert own == [f"paper/${{suite}}/{kind}" for kind in ("summary", "figures", "tables")]


@pytest.mark.slow
def test_another_suite_in_a_clean_clone(fresh: Path) -> None:
    """`dvc exp run -S suite=...` adds a suite and leaves every committed file."""
    before = tree(fresh / "paper")
    dvc(fresh, "exp", "run", "-S", "suite=tiny", "-S", "config/methods.yaml:ncm.label=Means")
    assert {name: tree(fresh / "paper")[name] for name in before} == before
    assert {"runs.csv", "metrics.json"} <= {p.name for p in (fresh / "paper/tiny").rglob("*.*")}
    assert git(fresh, "ls-files", "--deleted") == ""
    narrow = ("--only-changed", "--drop", "config/suites|tables")
    shown = dvc(fresh, "exp", "show", *narrow, "--md")
    columns = [cell.strip() for cell in shown.splitlines()[0].strip("|").split("|")]
    # a metric that two suites have is named with the file of either
    methods = {cell.rpartition(":")[2].rpartition(".")[2] for cell in columns}
    assert {"suite", "ncm.label"} <= {*columns} and {"sparcl", "sparcl-paper"} <= methods, shown
    assert len(columns) <= 12, shown
    assert "!" not in shown


@pytest.mark.slow
def test_a_sweep_of_one_method(work: Path) -> None:
    """`dvc exp run -S` in place: the other methods' records stand, and its metric alone differs."""
    before = record_times(work)
    said = dvc(work, "exp", "run", "-S", "config/methods.yaml:sparcl-paper.hyper.tau=0.3")
    assert rewritten(work, before) == {"sparcl-paper"}
    assert "Running stage 'runs'" in said and "Running stage 'paper'" in said
    changed = git(work, "diff", "--name-only").split()
    assert {"dvc.lock", "paper/bundled/summary/runs.csv"} <= set(changed)
    differences = dvc(work, "metrics", "diff")
    rows = [line.split() for line in differences.splitlines() if "metrics.json" in line]
    assert {" ".join(row[1:3]) for row in rows} == {"last accuracy.sparcl-paper"}
    runs = (work / "paper/bundled/summary/runs.csv").read_text(encoding="utf-8")
    assert ",0.3," in runs


@pytest.mark.slow
def test_a_sweep_in_a_temporary_copy(work: Path) -> None:
    """`--temp` has no run records: it computes every method, and leaves the working copy alone."""
    before = record_times(work)
    changed = "config/methods.yaml:sparcl-paper.hyper.tau=0.9"
    # with the working copy on the path its code would run, which the workflow refuses
    said = dvc(work, "exp", "run", "--temp", "-S", changed, PYTHONPATH="")
    assert record_times(work) == before
    assert git(work, "status", "--porcelain") == ""
    name = re.search(r"Ran experiment\(s\): ([\w-]+)", said).group(1)
    shown = json.loads(dvc(work, "exp", "show", "--json", show=False))
    assert name in json.dumps(shown)
