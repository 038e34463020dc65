"""Time or memory of methods, as measured once on one machine (timings/)."""

from itertools import product
from typing import Any

from figures.frames import Frames, Options, label, require
from figures.sheet import Sheet
from sparcl.base.errors import InputError

EXEMPLARS = 2000 * 224 * 224 * 3  # bytes of the image buffer that a replay method keeps
MACHINE = ["processor", "threads", "numpy"]


# Frame -> column, its name, the factor from its unit to the printed one, and its format.
COSTS: dict[str, list[tuple[str, str, float, str]]] = {
    "methods": [("tau_post", "s", 1, "{:.3f}"), ("relative_time", "relative", 1, "{:.2f}")],
    "memory": [
        ("state_bytes", "kept, MB", 1e6, "{:.1f}"),
        ("state_bytes", "of the buffer", EXEMPLARS / 100, "{:.1f}%"),
        ("peak_bytes", "peak, MB", 1e6, "{:.0f}"),
    ],
}


def texts(frames: Frames, options: Options) -> dict[str, str]:
    """Return the files of the table by suffix; the least of a column is in bold.

    Parameters
    ----------
    frames : mapping
        ``methods`` or ``memory``: one row per data set, class order and method; times in seconds,
        sizes in bytes.
    options : mapping
        ``show``: methods in the order of the rows; ``names``: their labels; ``caption`` with
        ``{buffer}``, the size of the image buffer in MB, and where times are shown ``{processor}``,
        ``{threads}`` and ``{numpy}``; ``id``.

    Raises
    ------
    InputError
        A method is not measured exactly once on every data set, a cost is empty, or times are
        from more than one machine.
    """
    (name, table), *_ = frames.items()
    costs = COSTS[name]
    require(table, name, [column for column, *_ in costs])
    machine: dict[str, Any] = {}
    if name == "methods":
        require(table, name, MACHINE)
        machine = {key: table[key].iloc[0] for key in MACHINE}
        if len(table[MACHINE].drop_duplicates()) > 1:
            raise InputError(
                f"timings/{name}.csv mixes machines; measure all of it on one with `make timings`"
            )
    chosen = table[table["method"].isin(options["show"])]
    sheet = Sheet(options, name, table.iloc[:0])
    for dataset in chosen["dataset"].unique():
        measured = chosen[chosen["dataset"] == dataset]
        over = label(options, "datasets", dataset) if dataset in options["datasets"] else dataset
        for (column, head, unit, form), method in product(costs, options["show"]):
            rows = measured[measured["method"] == method]
            if len(rows) != 1:
                raise InputError(
                    f"timings/{name}.csv has {len(rows)} rows of data set {dataset}, method "
                    f"{method}, not one; measure again with `make timings`"
                )
            value, keys = rows[column].iloc[0], {"dataset": dataset, "method": method}
            best, row = bool(value == measured[column].min()), options["names"][method]
            sheet.add(
                form.format(value / unit), column, keys, best, label=row, over=over, head=head
            )
    return sheet.texts(wide=name == "memory", buffer=f"{EXEMPLARS / 1e6:.0f}", **machine)
