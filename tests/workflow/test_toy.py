"""The suite `toy` from features to figures: complete, repeatable, and silent about its machine."""

import getpass
import re
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path

from copies import TOY, jobs_of, outputs, planned, snakemake

from study.pipeline.configuration import load

PNG = b"\x89PNG\r\n\x1a\n"
STREAM = re.compile(rb"stream\r?\n(.*?)endstream", re.DOTALL)
DATE = re.compile(
    rb"20[2-9]\d-[01]\d-[0-3]\d|CreationDate|ModDate|tIME|date:create|[0-2]\d:[0-5]\d:[0-5]\d"
)
FORGED = "paper/toy/summary/runs.csv"
DRAW_ALONE = ("paper", "--config", "suite=toy", "--allowed-rules", "draw_figure", "write_table")


def test_every_record_table_and_figure_is_there(toy: Path) -> None:
    suite = load(toy)["suites"]["toy"]
    runs = {
        f"results/runs/toy/{dataset}/{backbone}/{method}/{order}-{seed}.json"
        for dataset in suite["datasets"]
        for backbone in suite["backbones"]
        for method in suite["methods"]
        for order, seed in suite["pairs"]
    }
    summaries = ("arrivals", "diagnostics", "differences", "recommendations", "runs")
    summaries += ("sessions", "spectrum")
    figures = ("dilution", "drift", "sessions")
    paper = {f"paper/toy/summary/{name}.csv" for name in summaries}
    paper |= {"paper/toy/summary/metrics.json"}
    paper |= {f"paper/toy/tables/main.{k}" for k in ("tex", "md", "csv")}
    paper |= {f"paper/toy/figures/{f}.{k}" for f in figures for k in ("pdf", "png", "svg")}
    assert {p for p in made(toy) if p.startswith("results/runs/")} == runs
    assert {p for p in made(toy) if p.startswith("paper/")} == paper
    assert all(len(content) > 20 for content in made(toy).values())


def made(folder: Path) -> dict[str, bytes]:
    """Return the outputs by their paths in the project."""
    return {
        name if name.startswith("paper/") else f"results/{name}": content
        for name, content in outputs(folder).items()
    }


def test_a_deleted_output_is_made_again_alone(toy: Path) -> None:
    """A table and a figure take a job each; a summary also those that read it, which write the same bytes.

    What somebody has edited is as good as deleted, and nothing is drawn from it.
    """
    before = outputs(toy)
    (toy / "paper/toy/figures/drift.png").unlink()
    with (toy / "paper/toy/tables/main.md").open("a", encoding="utf-8") as file:
        file.write("Ours is best.\n")
    assert planned(toy) == {"write_table": {"main"}, "draw_figure": {"drift"}}
    (toy / "paper/toy/summary/recommendations.csv").unlink()
    (toy / FORGED).write_text(ten_points_more(before[FORGED].decode()), encoding="utf-8")
    runs = toy / "results/runs/toy/cub-50/vit-s14-focus"
    (runs / "ncm/1993-0.json").unlink()
    (runs / "acil/1994-1.json").write_text("{}", encoding="utf-8")
    finished = {path: path.stat().st_mtime_ns for path in toy.glob("results/finished/**/*.json")}
    refused = snakemake(toy, "--cores", "1", *DRAW_ALONE)
    edited = "is not as its job has written it"
    assert refused.returncode != 0 and f"{FORGED} {edited}" in refused.stdout
    run = snakemake(toy, "--cores", "2", *TOY)
    assert run.returncode == 0 and outputs(toy) == before, run.stdout
    for name in (FORGED, "paper/toy/tables/main.md"):
        assert f"{name} {edited}" in run.stdout
    jobs = jobs_of(run.stdout)
    assert {"summarise_runs", "summarise_spectra", "write_table"} <= set(jobs)
    assert jobs.pop("run_method") == {"ncm", "acil"}
    taken = {"summarise_runs", "summarise_spectra", "compare_methods", "write_table", "draw_figure"}
    assert set(jobs) <= taken
    assert len(finished) == 11  # runs, selections and a trace: none of it was computed again
    assert finished == {path: path.stat().st_mtime_ns for path in finished}
    assert "Nothing to be done" in snakemake(toy, "--cores", "2", *TOY).stdout


def ten_points_more(runs: str) -> str:
    """Return a summary whose last run has ten points more of accuracy."""
    *lines, last = runs.splitlines()
    row = last.split(",")
    at = lines[0].split(",").index("A_last")
    row[at] = f"{float(row[at]) + 10:.4f}"
    return "\n".join([*lines, ",".join(row), ""])


def test_everything_around_it_may_differ_but_the_bytes(toy: Path, elsewhere) -> None:
    """Cores, folder, locale, time zone, umask, hash seed, home, user, BLAS threads."""
    assert elsewhere.code == 0, elsewhere.said
    first, second = made(toy), made(elsewhere.folder)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_a_second_run_says_so_and_leaves_the_first_unharmed(elsewhere) -> None:
    assert elsewhere.intruder_code != 0
    assert "Another run is active in this folder" in elsewhere.intruder_said
    assert "Traceback" not in elsewhere.intruder_said
    assert elsewhere.code == 0, elsewhere.said


def chunks(png: bytes) -> Iterator[bytes]:
    """Yield the type and content of each chunk of a PNG."""
    at = len(PNG)
    while at < len(png):
        length = int.from_bytes(png[at : at + 4])
        yield png[at + 4 : at + 8 + length]
        at += 12 + length


def readable(content: bytes) -> bytes:
    """Return a file without a PNG's pixels and with the compressed streams of a PDF laid open."""
    if content.startswith(PNG):
        return b"\n".join(chunk for chunk in chunks(content) if not chunk.startswith(b"IDAT"))
    opened = [STREAM.sub(b"", content)]
    for stream in STREAM.findall(content) if content.startswith(b"%PDF") else []:
        try:
            opened.append(zlib.decompress(stream))
        except zlib.error:
            opened.append(stream)
    return b"\n".join(opened)


def test_no_output_tells_of_its_machine(elsewhere) -> None:
    place, home = elsewhere.folder, elsewhere.folder.parent
    machine = [str(place), str(home), str(Path.home()), "somebody"]
    machine += [socket.gethostname(), getpass.getuser()]
    words = [
        re.compile(rb"(?<![\w-])" + re.escape(word.encode()) + rb"(?![\w-])") for word in machine
    ]
    texts = {name: readable(content) for name, content in made(place).items()}
    assert b"SPARCL" in texts["paper/toy/tables/main.tex"]
    assert b"IHDR" in texts["paper/toy/figures/drift.png"]
    assert b"/FontDescriptor" in texts["paper/toy/figures/drift.pdf"]
    found = {
        (name, hit.group())
        for name, text in texts.items()
        for pattern in [*words, DATE]
        if (hit := pattern.search(text))
    }
    assert found == set()


def test_the_search_sees_a_date_in_a_compressed_stream() -> None:
    pdf = b"%PDF-1.4\nstream\n" + zlib.compress(b"drawn 2031-05-06") + b"\nendstream"
    assert DATE.search(readable(pdf)) and not DATE.search(pdf)


def test_run_records_are_small(toy: Path) -> None:
    sizes = [path.stat().st_size for path in (toy / "results/runs").rglob("*.json")]
    assert len(sizes) == 6
    assert max(sizes) < 200_000


def test_a_clone_with_the_committed_paper_still_computes_every_record(
    toy: Path, clone: Path
) -> None:
    """File times on a fresh clone mean nothing: outputs that are there never stand for runs."""
    for name, content in outputs(toy).items():
        if name.startswith("paper/"):
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_bytes(content)
    assert planned(clone)["run_method"] == {"ncm", "acil", "sparcl"}
