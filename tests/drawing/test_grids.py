"""Tables in grids: what stands in which cell, in which marks, and where it comes from."""

import io
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import figures
from figures import condition_table, costs_table, grid, main_table, published_table, selected_table
from sparcl.base.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "data/published.csv"


def cell(label: str, head: str, printed: str, **more: Any) -> grid.Cell:
    return grid.Cell(printed, label=label, head=head, origin=grid.Origin("f", "", ""), **more)


def lines(markdown: str) -> dict[str, list[str]]:
    """Return the rows of Markdown tables by their names."""
    rows = [
        line[2:].rstrip("| ").split(" | ") for line in markdown.splitlines() if line[:2] == "| "
    ]
    return {name: cells for name, *cells in rows}


class TestGrid:
    CELLS = (
        cell("one", "a", "9.5 ± 10.0", over="measured", best=True),
        cell("one", "b", "8.0 ± 1.0", over="measured", underlined=True),
        cell("one", "c & d", "77.10", over="published", quoted=True),
        cell("two", "a", "8.5 ± 2.0", over="measured", group="apart", tied=True),
    )

    def test_latex(self):
        tex = grid.texts(self.CELLS, "Caption, 5%", "tag", needs="x")[".tex"]
        assert tex.startswith("% needs x\n\\begin{table*}[t]\n")
        assert r"\caption{Caption, 5\%}" in tex and r"\label{tab:tag}" in tex
        assert r" & \multicolumn{2}{c}{measured} & \multicolumn{1}{c}{published} \\" in tex
        assert r"\cmidrule(lr){2-3}\cmidrule(lr){4-4}" in tex
        first = r"one & \textbf{9.5} {\scriptsize$\pm$\,10.0} & \underline{8.0} "
        assert first + r"{\scriptsize$\pm$\,1.0} & \textcolor{gray}{77.10} \\" in tex
        assert r"\multicolumn{4}{l}{\emph{apart}} \\" in tex
        assert (
            r"\quad two & 8.5 {\scriptsize$\pm$\,\phantom{0}2.0}\rlap{$^{\dagger}$} & -- & -- \\"
            in tex
        )
        assert r"\multicolumn{1}{c}{c \& d}" in tex
        assert tex.count("{") == tex.count("}") and tex.count(r"\begin{") == tex.count(r"\end{")

    def test_markdown(self):
        text = grid.markdown(self.CELLS, "Caption")
        rows = lines(text)
        assert "|  | a (measured) | b (measured) | c & d (published) |" in text
        assert rows["one"] == ["**9.5** ± 10.0", "<ins>8.0</ins> ± 1.0", "<sub>77.10</sub>"]
        assert rows["two"] == ["8.5† ± 2.0", "–", "–"]

    def test_dense_blocks(self):
        """Titles stand block below block, and neighbours without features share the words."""
        cells = [
            cell("one", head, grid.ABSENT if over == "x" else "1.0", over=over, group="g")
            for over in ("x", "y")
            for head in ("a", "b")
        ]
        tex = grid.latex(cells, "Caption", "tag", dense=True, blocks=[["x"], ["y"]])
        assert r"\multicolumn{2}{c}{no block features} \\" in tex
        assert tex.count(r"\quad one") == 2 and tex.count(r"\midrule[\heavyrulewidth]") == 1
        assert r"\begin{tabular}{lrr}" in tex
        assert r"\shortstack" not in tex
        broken = grid.latex([cell("one", "a & b, c", "1")], "Caption", "tag", dense=True)
        assert r"\multicolumn{1}{c}{\shortstack{a \& b\\c}}" in broken
        assert r"{lrr@{\hskip 10pt}rr}" in grid.latex(cells, "Caption", "tag", dense=True)

    def test_a_dense_page_takes_smaller_type_and_breaks_titles(self):
        def dense(rows: int, titles: int) -> str:
            cells = [
                cell(f"row {i}", "a", "1", over=f"title {j}")
                for i in range(rows)
                for j in range(titles)
            ]
            return grid.latex(cells, "Caption", "tag", dense=True)

        assert "\\footnotesize\n" in dense(20, 2) and r"\parbox" not in dense(20, 2)
        assert "\\scriptsize\n" in dense(21, 2)
        assert dense(1, 4).count(r"\parbox[b]{0.20\textwidth}{\centering title") == 4

    def test_a_cell_without_a_source_is_refused(self):
        with pytest.raises(InputError, match="without a source: one, a"):
            grid.markdown([grid.Cell("1", label="one", head="a")], "")
        grid.markdown([grid.Cell(grid.NOTHING, label="one", head="a")], "")

    def test_a_cell_twice_is_refused(self):
        with pytest.raises(InputError, match="cell one, a twice"):
            grid.markdown([cell("one", "a", "1"), cell("one", "a", "2")], "")


class TestPublished:
    @pytest.fixture
    def settings(self, options):
        return options | {
            "id": "published",
            "caption": "{suite}, {backbone}, {sessions} sessions, {orders} orders",
            "place": {"source": "sparcl", "place": "Table 1"},
            "quoted_as": {"acil": "ACIL", "sparcl": "SPARCL", "elsewhere": "REAL"},
            "quoted": {"Quoted": ["L2P"]},
            "files": {"runs": "runs.csv", "published": "data/published.csv"},
        }

    @pytest.fixture
    def quoted(self, frames):
        read = figures.frames.read([PUBLISHED], ["data/published"])
        return frames | read

    def test_every_published_number_is_grey_and_none_of_ours(self, quoted, settings):
        texts = published_table.texts(quoted, settings)
        rows = lines(texts[".md"])
        assert rows["ACIL"][0] == "81.0 ± 0.0" and rows["ACIL"][2] == "<sub>90.05</sub>"
        assert rows["L2P"][:3] == ["–", "–", "<sub>87.81</sub>"]
        assert r"\multicolumn{4}{c}{published, not comparable}" in texts[".tex"]
        numbers = re.findall(r"(gray\}\{)?(\d\d\.\d\d)\b", texts[".tex"])
        assert len(numbers) == 12 and all(gray for gray, _ in numbers)

    def test_only_agreement_in_all_makes_numbers_comparable(self, quoted, settings):
        table = quoted["published"]
        here = table[(table["place"] == "Table 1") & (table["dataset_id"] == "cifar-100")]
        same = {
            "datasets": {"cifar-100": {}},
            "backbones": {"vit-b16-in21k": {}},
            "sessions": 10,
        }
        agree = here.assign(averaging="samples")
        assert published_table.comparable(agree, same).all()
        assert not published_table.comparable(here, same).any()  # averaging unstated
        others = ({"sessions": 20}, {"datasets": {"cifar-100-150": {}}}, {"backbones": {"net": {}}})
        for other in others:
            assert not published_table.comparable(agree, same | other).any()

    def test_a_method_without_features_keeps_its_published_numbers(self, quoted, settings):
        settings["absent"] = ["acil"]
        quoted["runs"] = quoted["runs"].query("method != 'acil'")
        texts = published_table.texts(quoted, settings)
        assert lines(texts[".md"])["ACIL"][:3] == ["–", "–", "<sub>90.05</sub>"]

    def test_an_unpublished_method_is_refused(self, quoted, settings):
        with pytest.raises(InputError, match="no A_bar of FOSTER at"):
            published_table.texts(quoted, settings | {"quoted": {"Quoted": ["FOSTER"]}})


def test_costs_of_other_machines_of_no_run_or_without_a_number_are_refused(options):
    told = options | {"show": ["sparcl", "ncm"], "names": {"sparcl": "SPARCL", "ncm": "NCM"}}
    machine = {"processor": "A CPU", "threads": 1, "numpy": "2.0", "relative_time": 1.0}
    row = {"dataset": "one", "order": 1993, "method": "sparcl", "tau_post": 0.5} | machine
    kept = {"dataset": "one", "method": "sparcl", "state_bytes": 1e6, "peak_bytes": 2e8}
    other = [kept | {"method": "ncm"}]
    for name, rows, words in (
        ("methods", [row, row | {"processor": "Another"}], "mixes machines"),
        ("memory", other, "0 rows of data set one, method sparcl"),
        ("memory", [kept | {"state_bytes": None}], "state_bytes is empty"),
    ):
        with pytest.raises(InputError, match=words):
            costs_table.texts({name: pd.DataFrame(rows)}, told)


def test_selected(frames, options):
    options |= {
        "id": "selected",
        "caption": "{orders}, {edges}",
        "show": ["acil", "sparcl", "ncm"],
        "selected": {"acil": ["ridge"], "sparcl": ["ridge", "tau"]},
        "candidates": {"ridge": [0.01, 1.0, 100.0], "tau": [0.5, 0.7, 0.9]},
    }
    runs = frames["runs"]
    runs["ridge_share"] = 1.0
    runs.loc[runs["order"].eq(1994) & runs["dataset"].eq("two"), "ridge_share"] = 0.01
    runs["tau"] = (
        runs["order"].map({1993: 0.5, 1994: 0.7, 1995: 0.9}).where(runs["method"] == "sparcl")
    )
    texts = selected_table.texts(frames, options)
    rows = lines(texts[".md"])
    assert rows["ACIL, λ"] == ["1", "1, 0.01, 1"]
    assert rows["SPARCL, λ"] == ["1", "1, 0.01, 1"]
    assert rows["SPARCL, τ"] == ["0.5, 0.7, 0.9"] * 2
    assert "ACIL, τ" not in rows and not any(row.startswith("NCM") for row in rows)
    # two methods, two data sets, three orders; an edge in one order of one set
    assert texts[".md"].startswith("3, 2 of 12")


def test_a_lost_condition_number_is_refused(frames, options):
    table = frames["sessions"].assign(kappa=1.0, condition=2.0, residual_condition=3.0)
    table.loc[table["session"] == 3, "kappa"] = None
    with pytest.raises(
        InputError, match=r"kappa is empty for dataset one, method sparcl, .*session 3"
    ):
        condition_table.texts({"diagnostics": table}, options | {"show": ["sparcl"]})


def test_two_suites_stand_side_by_side(frames, options):
    """Their data sets take turns, each column has its own best, each cell its own file."""
    easy = frames["runs"]
    other = easy.assign(suite="other", A_bar=easy["A_bar"] - 30, sessions=8)
    other.loc[other["method"] == "ncm", "A_bar"] = 99.0
    options |= {
        "id": "orders",
        "columns": {"toy/runs": "T = 4", "other/runs": "T = 8"},
        "caption": "{sessions} sessions",
        "files": {"toy/runs": "toy.csv", "other/runs": "other.csv"},
    }
    both = {"toy/runs": easy, "other/runs": other}
    texts = main_table.texts(both, options)
    assert texts[".md"].startswith("4 or 8 sessions\n")
    heads = texts[".md"].split("\n\n")[1].splitlines()[0].strip("| ").split(" | ")[1:]
    assert heads == ["Set One, T = 4", "Set One, T = 8", "Set Two, T = 4", "Set Two, T = 8"]
    rows = lines(texts[".md"].split("\n\n")[1])
    assert rows["the sparcl-paper"] == ["**83.0** ± 0.0", "53.0 ± 0.0"] * 2
    assert rows["the ncm"] == ["80.0 ± 0.0", "**99.0** ± 0.0"] * 2
    cells = pd.read_csv(io.StringIO(texts[".csv"]))
    files = cells.groupby("dataset_label")["file"].unique().map(list).to_dict()
    both = {"T = 4": ["toy.csv"], "T = 8": ["other.csv"]}
    assert files == {f"Set {n}, {t}": f for n in ("One", "Two") for t, f in both.items()}
