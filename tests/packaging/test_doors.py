"""Every place where bytes come in is a door of the table in docs/security.md, or reads what the project has."""

import ast
import re
from collections.abc import Iterator

from copies import ROOT

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
DOORS = {
    "archive": {
        "workflow/study/images/archive.py:TarStorage.__init__",
        "sparcl/extraction/storage/download.py:md5_of",  # before it is opened as one
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
        "sparcl/extraction/arrays.py:_header",
        "sparcl/extraction/arrays.py:_parquet",
        "sparcl/extraction/backbones.py:build",
        "sparcl/extraction/checkpoints.py:_read_npz",
        "sparcl/extraction/checkpoints.py:_read_onnx",
        "sparcl/extraction/weights.py:fetch",
        "sparcl/extraction/weights.py:_from_wheel",
    },
    "JSON": {
        "sparcl/base/files.py:read_json",
        "sparcl/features/manifest.py:load",
        "workflow/study/pipeline/streams.py:known_classes",
        "sparcl/protocol/order_file.py:read",
    },
    "table, list or log": {
        "workflow/study/exchange/import_log.py:run",
        "workflow/study/exchange/elsewhere.py:read",
        "workflow/study/exchange/mammoth.py:_value",
        "workflow/study/images/readers/published.py:read_grocery",
        "sparcl/extraction/splits.py:read",
        "sparcl/features/shards.py:_list_skipped",
        "sparcl/protocol/order_file.py:_columns",
        "workflow/study/report/published.py:_rows",
        "workflow/study/report/reading.py:read_csv",
        "workflow/study/report/verify.py:_read",
    },
    "YAML": {"workflow/study/pipeline/configuration.py:read_yaml"},
    "image": {
        "sparcl/extraction/images.py:ImageSplit._decode",
        "sparcl/extraction/storage/folder.py:FolderStorage.read",
    },
    "download": {
        "sparcl/extraction/storage/download.py:_resume",
        "sparcl/extraction/weights.py:_from_timm",
    },
    "package": {"sparcl/extraction/weights.py:_download_wheel"},
    "environment": {
        "sparcl/extraction/storage/download.py:cache_folder",
        "workflow/study/images/locate.py:local_place",
        "workflow/study/report/memory.py:apart",
        "workflow/study/report/memory.py:peak",
        "workflow/study/report/timing.py:machine",
    },
}
# What everything that is read must be, whatever it came from, and where bytes leave.
BEYOND = {"file in `results/`", "features as numbers", "path", "output", "page"}
# The project's own code and pages, and the folder that is confirmed on the disk.
OWN = {
    "sparcl/base/files.py:_sync",
    "workflow/study/images/extract.py:_fingerprint",
    "workflow/snakemake_logger_plugin_oneline/__init__.py:explained",
    "workflow/study/finished.py:key",
    "workflow/study/finished.py:unchanged",
    "workflow/study/pipeline/adapter.py:_first",
    "workflow/study/pipeline/adapter.py:seal",
    "workflow/study/pipeline/crate.py:_facts",
    "workflow/study/pipeline/crate.py:_git",
    "workflow/study/pipeline/croissant.py:_file",
    "workflow/study/pipeline/croissant.py:described",
    "workflow/study/pipeline/outside.py:_seals",
    "workflow/study/pipeline/outside.py:edited",
    "workflow/study/pipeline/outside.py:renew_features",
    "workflow/study/places.py:_line",
    "workflow/study/pipeline/page.py:claims",
    "workflow/study/pipeline/page.py:page",
    "workflow/study/pipeline/page.py:picture",
    "workflow/study/pipeline/page.py:table",
    "workflow/study/pipeline/pages.py:Numbers._yaml",
    "workflow/study/pipeline/pages.py:main",
    "workflow/study/pipeline/provenance.py:_content",
    "workflow/study/pipeline/provenance.py:_imports",
    "workflow/study/pipeline/provenance.py:_keywords",
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


def places(tree: ast.AST, inside: str = "") -> Iterator[str]:
    """Yield each function that reads, with its class before it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from places(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            if any(reads(inner) for inner in ast.walk(node)):
                yield inside + node.name
        elif inside == "" and any(reads(inner) for inner in ast.walk(node)):
            yield "the module"


def rows() -> dict[str, str]:
    """Return the rows of the table of doors by their first cell."""
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| ([^|]+) \|(.*)\|$", text, flags=re.MULTILINE)
    return {door: rest for door, rest in lines if door != "entry point"}


def test_every_place_that_reads_is_a_door() -> None:
    files = [f for top in ("sparcl", "figures", "workflow") for f in (ROOT / top).rglob("*.py")]
    found = {
        f"{file.relative_to(ROOT).as_posix()}:{place}"
        for file in files
        for place in places(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == OWN.union(*DOORS.values())


def test_every_door_has_a_row_with_its_test() -> None:
    table = rows()
    assert table.keys() == DOORS.keys() | BEYOND
    assert [door for door, rest in table.items() if "`tests/" not in rest] == []


def test_the_search_finds_what_reads() -> None:
    code = "def a(p):\n    return open(p, 'rb')\nclass B:\n    def c(self, p):\n        return p.open()\n"
    code += (
        "def d(p):\n    return open(p, 'w')\ndef e(core, x):\n    core.open(x)\nX = os.environ\n"
    )
    assert list(places(ast.parse(code))) == ["a", "B.c", "the module"]
