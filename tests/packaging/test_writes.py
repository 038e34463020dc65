"""Every place that writes a file does it whole or not at all, or is one of those that are named here."""

import ast
from collections.abc import Iterator
from pathlib import Path

from copies import ROOT

WRITES = {
    "os": {"replace", "rename", "link", "symlink"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move"},
    "np": {"save", "savez", "savez_compressed", "savetxt"},
    "torch": {"save"},
}
METHODS = {"write_text", "write_bytes", "savefig", "tofile", "to_parquet", "hardlink_to", "rename"}
# These write by other means.
ALONE = {
    "sparcl/base/files.py:replacing",
    "sparcl/base/npz.py:_write",  # a member of an archive, which is renamed
    "sparcl/base/locks.py:_locked_file",  # holds nothing, or the chunks of a work file, each with its hash
    "workflow/study/exchange/export.py:run",  # a folder, renamed
    "sparcl/app/importing.py:write",  # a folder, renamed
    "sparcl/app/plots.py:drawn",  # in memory
    "sparcl/extraction/storage/download.py:fetch",  # renamed once its hash is right
    "sparcl/extraction/storage/download.py:_resume",  # the part, which the next call goes on with
    "sparcl/extraction/weights.py:_download_wheel",  # in a temporary folder
    "sparcl/extraction/checkpoints.py:_load_jax",  # in a temporary folder
    "workflow/study/pipeline/adapter.py:_first",  # a note that a text was said, locked while it grows
    "workflow/study/pipeline/adapter.py:logged",  # a log, which nothing reads
}


def writes(call: ast.Call) -> bool:
    """Return whether a call writes a file, as far as its name and its mode tell."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        if function.value.id in WRITES:
            return name in WRITES[function.value.id]
    if name in ("open", "ZipFile"):
        modes = [*call.args, *(word.value for word in call.keywords)]
        texts = [
            n.value for m in modes for n in ast.walk(m) if isinstance(n, ast.Constant) and n.value
        ]
        return any(
            type(t) is str and set(t) <= set("rwaxbt+") and set(t) & set("wax+") for t in texts
        )
    if name == "rename":  # of a path; a frame's has names
        return bool(call.args)
    return isinstance(function, ast.Attribute) and name in METHODS


def places(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield each function that writes, and whether what it writes is renamed in the end."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
            names = {getattr(call.func, "id", "") for call in calls}
            if any(writes(call) for call in calls):
                yield f"{path.relative_to(ROOT).as_posix()}:{node.name}", "replacing" in names


def test_every_write_is_whole_or_named() -> None:
    files = [f for top in ("sparcl", "figures", "workflow") for f in (ROOT / top).rglob("*.py")]
    found = dict(place for file in sorted(files) for place in places(file))
    assert sum(found.values()) >= 8  # the search finds what it is meant to find
    assert {name for name, whole in found.items() if not whole} == ALONE
