"""Published numbers: each row is well formed, and the contradictions that notes state are there."""

import csv
import io
import re
from pathlib import Path

import pandas as pd
import pytest
from copies import ROOT, loaded

from sparcl.base.errors import InputError
from study.report import published

FILE = ROOT / "data/published.csv"
PARAMS = loaded()
COLUMNS = ["id", "source", "place", "method", "method_id", "dataset", "dataset_id", "backbone"]
COLUMNS += ["backbone_id", "sessions", "protocol", "setting", "metric", "averaging", "value"]
COLUMNS += ["spread", "spread_kind", "unit", "trained", "note"]
# What the columns of ids may name: what the settings have, and the peers that have published numbers.
PEERS = {"acil-rhl", "dsal", "flycl", "foal", "gacl", "gkeal", "real-ffb"}
IDS = {f"{kind}_id": {"", *PARAMS[f"{kind}s"]} for kind in ("method", "dataset", "backbone")}
IDS["method_id"] |= PEERS
ACCURACIES = ["A_bar", "A_last", "A_t", "forgetting"]
UNITS = dict.fromkeys([*ACCURACIES, "relative_change", "energy_share"], "percent")
UNITS |= {"accuracy_difference": "points", "tau_post": "s", "image_side": "pixels"}
UNITS |= dict.fromkeys(["d", "m", "width", "residual_rank", "refresh", "sessions"], "count")
UNITS |= dict.fromkeys(["classes", "classes_per_session", "orders", "seeds", "exemplars"], "count")
UNITS |= dict.fromkeys(["drift", "time_ratio", "ridge", "tau", "cost_exponent", "toy"], "1")
# What a value of each unit lies in; counts and pixels are whole.
RANGES = {"percent": (0, 100), "points": (-100, 100), "s": (1e-9, 1e9), "1": (-1e9, 1e9)}
RANGES |= {"count": (1, 1e9), "pixels": (1, 1e9)}
NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
# What every cell of a column is: of no column may it be empty where this says so.
FORMS = {
    "id": r"[a-z0-9]+(?:-[a-z0-9]+)*",
    "source": ".+",
    "place": ".+",
    "value": f"-?{NUMBER}",
    "spread": f"|{NUMBER}",
    "spread_kind": r"|1\.96 sd",
    "sessions": "|[1-9][0-9]{0,5}",
    "setting": r"|\w+=[^=;]+(?:; \w+=[^=;]+)*",
    "trained": "yes|no|unstated",
    "averaging": "|samples|tasks|classes|unstated",
}
MENTION = re.compile(r"\[([^\]]*)\]")
QUOTED = re.compile(r"contradicts \[([^\]]*)\]: ([\d.]+) (?:for|in) ")
CONTRADICTS = re.compile(r"contradicts((?: \[[^\]]*\])*)")


@pytest.fixture(scope="module")
def numbers() -> pd.DataFrame:
    return published.read(FILE).set_index("id", drop=False)


def test_a_row_is_read_as_it_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("place,sessions,value,spread\nTable 1,10,94.10,0.5\nnan,,3,\n")
    one, two = published.read(path).iloc
    assert one[["printed", "value", "spread", "sessions"]].tolist() == ["94.10", 94.1, 0.5, 10]
    assert two[["printed", "value", "place"]].tolist() == ["3", 3.0, "nan"]
    assert two[["spread", "sessions"]].isna().all()
    for content in (b"", b"a,b\n1,2\n", path.read_bytes().replace(b"10", b"ten"), b"\xe9"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"a\.csv: cannot be read .* `git checkout`"):
            published.read(path)
    with pytest.raises(InputError, match=r"none\.csv: cannot be read"):
        published.read(tmp_path / "none.csv")


# --- the committed file ---------------------------------------------------------------------------


def test_the_file_is_tidy_and_tells_nothing_twice(numbers: pd.DataFrame) -> None:
    content = FILE.read_bytes()
    assert content.endswith(b"\n") and b"\r" not in content and b" \n" not in content
    rows = [*csv.reader(io.StringIO(content.decode("utf-8")), strict=True)]
    assert rows[0] == COLUMNS and {len(row) for row in rows} == {len(COLUMNS)}
    assert all(cell == cell.strip() and cell.isprintable() for row in rows for cell in row)
    again = io.StringIO()
    csv.writer(again, lineterminator="\n").writerows(rows)
    assert content.decode("utf-8") == again.getvalue()
    assert numbers["id"].is_unique and numbers["id"].is_monotonic_increasing
    assert (numbers["id"].str.split("-").str[0] == numbers["source"]).all()
    assert set(numbers["metric"]) == set(UNITS)
    assert not numbers.drop(columns=["id", "note"]).duplicated().any()


def test_every_cell_is_what_its_column_says(numbers: pd.DataFrame) -> None:
    printed = pd.read_csv(FILE, dtype=str, keep_default_na=False)
    for column, form in FORMS.items():
        wrong = printed[~printed[column].str.fullmatch(form)]
        assert wrong[["id", column]].values.tolist() == [], "decimal numbers, without a power"
    for column, known in IDS.items():
        assert {*numbers[column]} <= known
    assert ((printed["spread"] == "") == (printed["spread_kind"] == "")).all()
    assert ((printed["averaging"] == "") == ~printed["metric"].isin(ACCURACIES)).all()
    for name, row in numbers.iterrows():
        low, high = RANGES[row["unit"]]
        assert row["unit"] == UNITS[row["metric"]] and low <= row["value"] <= high, name
        assert row["unit"] not in ("count", "pixels") or row["value"].is_integer(), name
        assert {*MENTION.findall(row["note"])} <= {*numbers.index} - {name}, name
        assert all(MENTION.search(mentions) for mentions in CONTRADICTS.findall(row["note"])), name


def test_the_page_describes_what_is_there(numbers: pd.DataFrame) -> None:
    page = (ROOT / "docs/published.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)
    assert described[: len(COLUMNS)] == COLUMNS
    assert described[len(COLUMNS) :] == list(dict.fromkeys(UNITS)) + sorted(set(numbers["source"]))
    counts = dict(re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", page, flags=re.MULTILINE))
    assert {s: int(n) for s, n in counts.items()} == numbers["source"].value_counts().to_dict()


def test_the_page_shows_the_peers_of_2025_and_2026(numbers: pd.DataFrame) -> None:
    """Each of their numbers with its digits, and whether the authors or others give it."""
    page = (ROOT / "docs/published.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| (RSIAT|MiN) \|(.*)\|$", page, flags=re.MULTILINE)
    peers = numbers[numbers["method"].isin(["RSIAT", "MiN"])]
    assert set(peers["source"]) == {"rsiat", "papernotes"}
    assert peers["note"].str.contains("secondary").equals(peers["source"] == "papernotes")
    for method, cells in shown:
        kind, dataset, sessions, *found = (cell.strip() for cell in cells.split("|"))
        source = {"primary": "rsiat", "secondary": "papernotes"}[kind]
        own = peers[(peers["source"] == source) & (peers["method"] == method)]
        own = own[(own["dataset"] == dataset) & (own["sessions"] == int(sessions))]
        printed = dict(zip(own["metric"], own["printed"], strict=True))
        assert found == [printed.get("A_bar", ""), printed.get("A_last", "")]
    assert sum(len([c for c in cells.split("|")[3:] if c.strip()]) for _, cells in shown) == len(
        peers
    )


# --- what the notes say ---------------------------------------------------------------------------


def contradictions(numbers: pd.DataFrame) -> set[tuple[str, str]]:
    """Return the pairs of ids of which one contradicts the other, both ways; a note marks one side or both."""
    pairs = {
        (str(name), other)
        for name, note in numbers["note"].items()
        for mentions in CONTRADICTS.findall(note)
        for other in MENTION.findall(mentions)
    }
    return pairs | {pair[::-1] for pair in pairs}


def sessions(numbers: pd.DataFrame, prefix: str) -> list[float]:
    return [numbers["value"][f"{prefix}-s{i:02d}"] for i in range(1, 11)]


def test_each_contradiction_is_one(numbers: pd.DataFrame) -> None:
    """Two values of one quantity; what is computed from several numbers is tested below."""
    computed, places = set(), set()
    for one, other in contradictions(numbers):
        a, b = numbers.loc[one], numbers.loc[other]
        pair = one.split("-")[1], other.split("-")[1]
        places |= {*pair}
        if a["metric"] != b["metric"]:
            computed.add(frozenset(pair))
            continue
        assert list(a[["method", "dataset"]]) == list(b[["method", "dataset"]])
        assert a["value"] != b["value"]
        assert len({a["sessions"], b["sessions"]} - {pd.NA}) < 2
    quoted = [q for note in numbers["note"] for q in QUOTED.findall(note)]
    assert len(quoted) == 18 and all(numbers["printed"][other] == value for other, value in quoted)
    assert computed == {frozenset(("t01", "t07")), frozenset(("d03", "t11"))}
    assert places == {"t01", "t04", "t07", "t08", "t11", "h02", "s06", "c", "d03"}


def test_sessions_do_not_average_to_the_main_table(numbers: pd.DataFrame) -> None:
    """It is above every session but the first."""
    means, pairs = [], contradictions(numbers)
    for method in ("acil", "real", "ranpac", "sparcl"):
        rows = sessions(numbers, f"sparcl-t07-{method}")
        mean, main = sum(rows) / 10, numbers.loc[f"sparcl-t01-{method}-cifar-100"]
        assert main["value"] - mean > 13  # rounding could explain 0.05
        for i in range(1, 11):
            row = numbers.loc[f"sparcl-t07-{method}-s{i:02d}"]
            assert (main["id"], row["id"]) in pairs
            assert f"the ten sessions average {mean:.2f}, not {main['printed']}" in row["note"]
        means.append(f"{mean:.1f}")
        assert rows == sorted(rows, reverse=True)
        assert main["value"] > rows[1]
    assert f"average {', '.join(means)}," in (ROOT / "docs/published.md").read_text("utf-8")


def test_the_gain_of_refreshing_every_session(numbers: pd.DataFrame) -> None:
    each, second = (numbers["value"][f"sparcl-t11-refresh{n}"] for n in (1, 2))
    assert each - second == pytest.approx(0.06)
    assert numbers["value"]["sparcl-d03-gain"] == 0.2
    assert "94.58 and 94.52" in numbers["note"]["sparcl-d03-gain"]


def test_what_is_called_odd_is_so(numbers: pd.DataFrame) -> None:
    value = numbers["value"]

    def lift(dataset: str, table: str = "t01") -> float:
        return value[f"sparcl-{table}-sparcl{dataset}"] - value[f"sparcl-{table}-real{dataset}"]

    share = {d: 100 * lift(f"-{d}") / value[f"sparcl-t01-real-{d}"] for d in ("imagenet-r", "cub")}
    assert {d: round(s, 2) for d, s in share.items()} == {"imagenet-r": 3.16, "cub": 3.21}
    assert round(lift("", "t04"), 2) == 1.73 and round(lift("-cifar-100"), 2) == 1.90
    assert value["sparcl-t02-sparcl-imagenet-a"] > value["sparcl-t02-foal-imagenet-a"]
    assert value["sparcl-t04-sparcl-forgetting"] < value["sparcl-t11-refresh2-forgetting"] == 4.5
    longer = numbers["note"].str.contains("20 sessions score higher than 10")
    assert longer.sum() == 5
    for name in numbers["id"][longer]:
        assert value[name] > value[name.replace("t04", "t01") + "-cifar-100"]
    for m in ("000", "064", "128", "256"):
        assert 22 < value["sparcl-t01-sparcl-cifar-100"] - value[f"sparcl-t05-m{m}"] < 24
    below = numbers["note"].str.contains("A_bar below A_last")
    for name in numbers["id"][below]:
        assert value[name] < value[f"{name}-last"]
    rows = numbers[numbers["source"].isin(["moal", "rsiat"]) & (numbers["metric"] == "A_bar")]
    assert below.sum() == sum(value[name] < value[f"{name}-last"] for name in rows["id"]) == 3
    assert value["moal-moal-imagenet-r"] == value["moal-moal-omnibenchmark"]
    assert value["sparcl-t07-sparcl-s01"] != value["sparcl-t07-acil-s01"]


def test_times_that_differ_beyond_rounding_say_so(numbers: pd.DataFrame) -> None:
    for name, row in numbers[numbers["place"].str.startswith("Table 6")].iterrows():
        other = numbers.loc[str(name).replace("t06", "t02")]
        differs = abs(row["value"] - other["value"]) > 0.05 + 1e-9
        assert differs == (f"differs from [{name}]" in other["note"])


def test_tables_that_repeat_each_other_agree(numbers: pd.DataFrame) -> None:
    value = numbers["value"]
    for tau in ("085", "090", "095", "098"):
        assert value[f"sparcl-t03-tau{tau}-cifar-100"] == value[f"sparcl-t10-ridge1-tau{tau}"]
    for dataset in ("cifar-100", "imagenet-r"):
        assert value[f"sparcl-t03-tau095-{dataset}"] == value[f"sparcl-t01-sparcl-{dataset}"]
        assert value[f"sparcl-t03-no-partition-{dataset}"] == value[f"sparcl-t01-acil-{dataset}"]
    assert value["sparcl-t11-refresh2"] == value["sparcl-t01-sparcl-cifar-100"]
    assert value["sparcl-t11-refresh2-forgetting"] == value["sparcl-t03-tau095-forgetting"]


def test_curves_average_to_what_stands_beside_them(numbers: pd.DataFrame) -> None:
    for name in ("cifar224", "cub", "imageneta", "imagenetr"):
        rows = sessions(numbers, f"revisitingcil-simplecil-{name}-t10")
        assert sum(rows) / 10 == pytest.approx(
            numbers["value"][f"revisitingcil-simplecil-{name}-t10"], abs=0.00501
        )
        assert rows[-1] == numbers["value"][f"revisitingcil-simplecil-{name}-last"]
    rows = sessions(numbers, "pilot-issue7-l2p")
    assert sum(rows) / 10 == pytest.approx(numbers["value"]["pilot-issue7-l2p"], abs=0.00501)


def test_accuracies_after_the_last_session_are_whole_counts(numbers: pd.DataFrame) -> None:
    """The logs' last accuracies are shares of the test samples that the field's splits have."""
    samples = {
        "cifar224": 10_000, "cub": 2358, "imagenetr": 6000, "imageneta": 1519, "vtab": 8619, "omnibenchmark": 5985,
        "objectnet": 6628,
    }  # fmt: skip
    for name, n in samples.items():
        printed = numbers["value"][f"revisitingcil-simplecil-{name}-last"]
        hits = round(printed / 100 * n)
        assert round(100 * hits / n, 2) == printed
