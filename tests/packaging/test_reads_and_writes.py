"""Every function that reads or writes bytes is named here.

One that reads has its entry point in the table of docs/security.md, or reads what the project has; one that writes
does it whole or not at all, by `sparcl.base.files.replacing`, or is named with what it does instead.
"""

import ast
import re
from collections.abc import Callable, Iterator

from copies import ROOT

FILES = sorted(f for top in ("sparcl", "figures", "workflow") for f in (ROOT / top).rglob("*.py"))
READS = {"read_text", "read_bytes", "safe_open", "hf_hub_download", "create_model", "literal_eval"}
OF = {
    "np": {"load"},
    "torch": {"load"},
    "yaml": {"load", "safe_load"},
    "zipfile": {"ZipFile"},
    "tarfile": {"open"},
    "gzip": {"open"},
    "Image": {"open"},
    "h5py": {"File"},
    "pandas": {"read_csv", "read_parquet"},
    "pd": {"read_csv", "read_parquet"},
    "csv": {"reader", "DictReader"},
    "pickletools": {"genops"},
    "onnx": {"load_model_from_string"},
    "requests": {"get"},
    "pooch": {"retrieve"},
    "subprocess": {"run", "Popen"},
    "os": {"open", "getenv"},
}
NPZ = "npz: models, sums, classifiers, checkpoints of trained methods"
ENTRY_POINTS = {
    "archive": {
        "workflow/study/images/archive.py:TarStorage.__init__",
        "workflow/study/images/download.py:md5_of",  # before it is opened as one
        "workflow/study/images/archive.py:_blocks",
        "sparcl/extraction/weights.py:read_member",
    },
    "pickle": {
        "workflow/study/images/readers/cifar.py:load_pickle",
        "sparcl/extraction/checkpoints.py:_read_torch",
    },
    "HDF5": {
        "sparcl/features/hdf5.py:opened",
        "sparcl/features/hdf5.py:write",
        "sparcl/features/layout.py:is_hdf5",
    },
    NPZ: {"sparcl/base/npz.py:_opened", "sparcl/base/npz.py:write_npz"},
    "weights and arrays of other tools": {
        "sparcl/app/importing.py:_sha256",
        "sparcl/extraction/arrays.py:_npy",
        "sparcl/extraction/arrays.py:_npz",
        "sparcl/extraction/arrays.py:_pt",
        "sparcl/extraction/arrays.py:_safetensors",
        "sparcl/extraction/arrays.py:_csv",
        "sparcl/extraction/arrays.py:_parquet",
        "sparcl/extraction/backbones.py:build",
        "sparcl/extraction/checkpoints.py:_read_npz",
        "sparcl/extraction/checkpoints.py:_read_onnx",
        "sparcl/extraction/weights.py:fetch",
        "sparcl/extraction/weights.py:_from_wheel",
    },
    "JSON": {
        "sparcl/app/arguments.py:sessions",
        "sparcl/base/files.py:read_json",
        "sparcl/features/manifest.py:load",
        "workflow/study/pipeline/streams.py:known_classes",
        "workflow/study/loop/order_file.py:read",
    },
    "table, list or log": {
        "workflow/study/exchange/__main__.py:import_log",
        "workflow/study/exchange/elsewhere.py:read",
        "workflow/study/exchange/mammoth.py:_value",
        "workflow/study/images/readers/published.py:read_grocery",
        "sparcl/app/arguments.py:lines",
        "workflow/study/images/split_lists.py:read",
        "workflow/study/images/shards.py:_list_skipped",
        "workflow/study/loop/order_file.py:_columns",
        "workflow/study/report/reading.py:read_csv",
        "workflow/study/report/verify.py:_read",
    },
    "YAML": {"workflow/study/pipeline/configuration.py:read_yaml"},
    "image": {
        "sparcl/extraction/images.py:ImageSplit._decode",
        "sparcl/extraction/storage/folder.py:FolderStorage.read",
    },
    "download": {
        "workflow/study/images/download.py:_resume",
        "sparcl/extraction/weights.py:_from_timm",
    },
    "package": {"sparcl/extraction/weights.py:_download_wheel"},
    "environment": {
        "sparcl/extraction/weights.py:cache_folder",
        "workflow/study/images/locate.py:local_place",
        "workflow/study/report/memory.py:apart",
        "workflow/study/report/memory.py:peak",
        "workflow/study/report/timing.py:machine",
    },
}
# What everything that is read must be, whatever it came from, and where bytes leave.
BEYOND = {"file in `results/`", "features as numbers", "path", "output", "page"}
# These read the project's own code and pages, and what its jobs have sealed; one confirms a folder on the disk.
OWN = {
    "figures/files.py:save",  # what was drawn in memory
    "sparcl/base/files.py:_sync",
    "workflow/snakemake_logger_plugin_oneline/__init__.py",
    "workflow/study/finished.py",
    "workflow/study/images/extract.py",
    "workflow/study/places.py",
    "workflow/study/report/published.py",
    *(
        f"workflow/study/pipeline/{name}.py"
        for name in ("adapter", "crate", "croissant", "outside", "page", "pages", "provenance")
    ),
}

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
    "workflow/study/exchange/__main__.py:export",  # a folder, renamed
    "sparcl/app/importing.py:write",  # a folder, renamed
    "figures/vector.py:svg",  # in memory
    "workflow/study/images/download.py:fetch",  # renamed once its hash is right
    "workflow/study/images/download.py:_resume",  # the part, which the next call goes on with
    "sparcl/extraction/weights.py:_download_wheel",  # in a temporary folder
    "sparcl/extraction/checkpoints.py:_load_jax",  # in a temporary folder
    "workflow/study/pipeline/adapter.py:_first",  # a note that a text was said, locked while it grows
    "workflow/study/pipeline/adapter.py:logged",  # a log, which nothing reads
}


def reads(node: ast.AST) -> bool:
    """Return whether an expression takes bytes from outside, as far as its name and its mode tell."""
    if isinstance(node, ast.Attribute):
        return node.attr == "environ"
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        if name in OF.get(function.value.id, ()):
            return True
    if name == "open":
        method = isinstance(function, ast.Attribute)
        given = [*node.args[0 if method else 1 :], *(w.value for w in node.keywords)][:1]
        modes = [a.value if isinstance(a, ast.Constant) else None for a in given] or ["r"]
        return isinstance(modes[0], str) and modes[0][0] == "r"
    return name in READS or name in {"_CifarUnpickler"}


def writes(call: ast.AST) -> bool:
    """Return whether a call writes a file, as far as its name and its mode tell."""
    if not isinstance(call, ast.Call):
        return False
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


def places(
    tree: ast.AST, does: Callable[[ast.AST], bool], inside: str = ""
) -> Iterator[tuple[str, ast.AST]]:
    """Yield each function in which something ``does``, by its name with its class before it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from places(node, does, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            if any(does(inner) for inner in ast.walk(node)):
                yield inside + node.name, node
        elif inside == "" and any(does(inner) for inner in ast.walk(node)):
            yield "the module", node


def in_project(does: Callable[[ast.AST], bool]) -> dict[str, ast.AST]:
    """Return those places of all files."""
    return {
        f"{file.relative_to(ROOT).as_posix()}:{place}": node
        for file in FILES
        for place, node in places(ast.parse(file.read_text(encoding="utf-8")), does)
    }


def test_every_function_that_reads_is_named() -> None:
    found = {*in_project(reads)}
    own = {place for place in found if OWN & {place, place.partition(":")[0]}}
    assert found - own == set().union(*ENTRY_POINTS.values())
    assert {name for name in OWN if not any(place.startswith(name) for place in own)} == set()


def test_every_entry_point_has_a_row_with_its_test() -> None:
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    lines = dict(re.findall(r"^\| ([^|]+) \|(.*)\|$", text, flags=re.MULTILINE))
    del lines["entry point"]
    assert lines.keys() == ENTRY_POINTS.keys() | BEYOND
    assert [name for name, rest in lines.items() if "`tests/" not in rest] == []


def test_every_write_is_whole_or_named() -> None:
    def whole(function: ast.AST) -> bool:
        return any(getattr(inner, "id", "") == "replacing" for inner in ast.walk(function))

    found = {
        place: all(
            whole(inner)
            for inner in ast.walk(node)
            if isinstance(inner, ast.FunctionDef) and any(map(writes, ast.walk(inner)))
        )
        for place, node in in_project(writes).items()
    }
    assert sum(found.values()) >= 8  # the search finds what it is meant to find
    assert {place for place, is_whole in found.items() if not is_whole} == ALONE


def test_the_search_finds_what_reads_and_what_writes() -> None:
    tree = ast.parse(
        "def a(p):\n    return open(p, 'rb')\nclass B:\n    def c(self, p):\n        return p.open()\n"
        "def d(p):\n    return open(p, 'w')\ndef e(core, x):\n    core.open(x)\nX = os.environ\n"
    )
    assert [name for name, _ in places(tree, reads)] == ["a", "B.c", "the module"]
    assert [name for name, _ in places(tree, writes)] == ["d"]
