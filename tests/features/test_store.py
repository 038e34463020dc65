"""Feature files: what is written is read back, and nothing else is accepted."""

import fcntl
import itertools
import json
import shutil
import subprocess
import sys

import faults
import h5py
import numpy as np
import pytest

from sparcl.base.errors import FeatureFileError, OutputError
from sparcl.features import layout, manifest, store
from study.images import shards
from study.jobs import using


def test_what_is_written_is_read_back(feature_file, content):
    data = store.read(feature_file)
    np.testing.assert_array_equal(data.features, content["features"])
    np.testing.assert_array_equal(data.blocks, content["blocks"])
    np.testing.assert_array_equal(data.blocks_mean, content["blocks_mean"])
    np.testing.assert_array_equal(data.labels, content["labels"])
    assert data.features.dtype == np.float16 and data.labels.dtype == np.int32
    assert [i.decode() for i in data.ids] == content["ids"]
    assert data.class_names == content["class_names"]
    assert content["meta"].items() <= data.meta.items()
    stated = manifest.load(feature_file.with_suffix(".json"))
    assert data.meta["features_sha256"] == stated["arrays"]["features"]["sha256"]
    assert (stated["n"], stated["d"], stated["classes"]) == (12, 5, 3)


def test_float32_without_blocks(tmp_path, content):
    content |= {"features": content["features"].astype(np.float32)}
    content |= {"blocks": None, "blocks_mean": None}
    store.write(tmp_path / "a.h5", **content)
    data = store.read(tmp_path / "a.h5")
    assert data.features.dtype == np.float32 and data.blocks is data.blocks_mean is None
    assert using(data, "last").features is not None
    for kind, array in (("blocks", "blocks"), ("blocks-mean", "blocks_mean")):
        with pytest.raises(
            FeatureFileError, match=f"toy, train: .*toy-net hold no {array}, .*'{kind}'"
        ):
            using(data, kind)


@pytest.mark.parametrize("classes", [1, 4000, 4001, 20_000])
def test_any_number_of_classes_fits(tmp_path, content, classes):
    """An HDF5 attribute ends at 64 KB, which an array of 4,095 names exceeds."""
    names = [f"Klasse Nr. {number}, größer" for number in range(classes)]
    content["labels"] = np.zeros(12, dtype=np.int32)
    content["meta"]["split"] = "test"  # a class may lack test samples
    manifest = store.write(tmp_path / "a.h5", class_names=names, **without(content, "class_names"))
    assert manifest["classes"] == classes
    assert store.read(tmp_path / "a.h5").class_names == names
    assert store.header(tmp_path / "a.h5").class_names == names


def test_class_names_that_are_no_list(feature_file):
    for stored in ("ant", '{"ant": 0}', '"ant"', "[[", '[["ant"], ["bee"]]'):
        with h5py.File(feature_file, "r+") as file:
            file.attrs["class_names"] = stored
        with pytest.raises(FeatureFileError, match="attributes are damaged"):
            store.read(feature_file)


def without(content, key):
    return {name: value for name, value in content.items() if name != key}


def test_what_a_method_reads(feature_file, content):
    data, arrays = (
        store.read(feature_file),
        manifest.load(feature_file.with_suffix(".json"))["arrays"],
    )
    first, second = content["blocks"].transpose(1, 0, 2)
    expected = {
        "last": ("features", content["features"]),
        "blocks": ("blocks", np.hstack([first, second])),
        "blocks-mean": ("blocks_mean", content["blocks_mean"]),
    }
    assert expected.keys() == layout.KINDS.keys()
    for kind, (name, values) in expected.items():
        read = using(data, kind)
        np.testing.assert_array_equal(read.features, values)
        assert read.meta["features_sha256"] == arrays[name]["sha256"]
        np.testing.assert_array_equal(read.labels, data.labels)
    with pytest.raises(
        FeatureFileError, match="'first' are unknown; allowed: last, blocks, blocks-mean"
    ):
        using(data, "first")


def test_equal_content_gives_equal_bytes_in_another_process(tmp_path, feature_file):
    copy = tmp_path / "copy" / "train.h5"
    script = (
        "import sys; from sparcl.features import store; d = store.read(sys.argv[1]);"
        "meta = {k: v for k, v in d.meta.items() if not k.endswith('_sha256') or k == 'weights_sha256'};"
        "arrays = d.features, d.labels, d.ids, d.class_names, meta, d.blocks, d.blocks_mean;"
        "store.write(sys.argv[2], *arrays)"
    )
    subprocess.run([sys.executable, "-c", script, feature_file, copy], check=True)
    assert copy.read_bytes() == feature_file.read_bytes()
    assert copy.with_suffix(".json").read_bytes() == feature_file.with_suffix(".json").read_bytes()
    assert sorted(p.name for p in copy.parent.iterdir()) == ["train.h5", "train.json"]


def in_blocks(features, rows=5):
    """Return features as a stream."""

    def blocks():
        return (features[i : i + rows] for i in range(0, len(features), rows))

    return layout.Stream(features.shape, features.dtype, blocks)


def test_a_stream_is_read_as_the_array_is(tmp_path, content):
    content |= {"blocks": None, "blocks_mean": None}
    store.write(tmp_path / "array.h5", **content)
    for name in ("one", "two"):
        streamed = content | {"features": in_blocks(content["features"])}
        store.write(tmp_path / f"{name}.h5", **streamed)
    manifests = [(tmp_path / f"{name}.json").read_bytes() for name in ("array", "one")]
    assert manifests[0] == manifests[1]
    data = store.read(tmp_path / "one.h5")
    np.testing.assert_array_equal(data.features, content["features"])
    assert [i.decode() for i in data.ids] == content["ids"]
    assert (tmp_path / "one.h5").read_bytes() == (tmp_path / "two.h5").read_bytes()


def test_a_stream_of_other_rows_is_refused(tmp_path, content):
    x = content["features"]
    for rows, words in (
        (np.where(np.arange(12)[:, None] == 7, np.nan, x).astype(x.dtype), "first row 7"),
        (x[:-1], "hold 11 rows, not the 12"),
        (np.vstack([x, x]), "hold 24 rows, not the 12"),
        (x.astype(np.float32), "row 0 is float32"),
    ):
        stream = layout.Stream(x.shape, x.dtype, in_blocks(rows).blocks)
        with pytest.raises(FeatureFileError, match=words):
            store.write(tmp_path / "a.h5", **content | {"features": stream})
    assert not list(tmp_path.iterdir())


def test_missing_and_foreign_files(tmp_path, feature_file):
    text = tmp_path / "text.h5"
    text.write_text("label,feature\n" * 100)
    with pytest.raises(FeatureFileError, match="not a readable HDF5"):
        store.read(text)
    foreign = tmp_path / "foreign.h5"
    with h5py.File(foreign, "w") as file:
        file["weights"] = np.ones(3)
    with pytest.raises(FeatureFileError, match="datasets missing: features, labels, ids"):
        store.read(foreign)
    with h5py.File(feature_file, "r+") as file:
        del file.attrs["format"]
    with pytest.raises(FeatureFileError, match="not a feature file of this project"):
        store.read(feature_file)
    content = bytearray(feature_file.read_bytes())
    content[48:56] = (2**63 + 5).to_bytes(8, "little")  # where the superblock says that a driver is
    feature_file.write_bytes(content)
    with pytest.raises(FeatureFileError, match="not a readable HDF5 file"):
        store.read(feature_file)


@pytest.mark.parametrize("kind", ["chunked", "external", "linked", "soft"])
def test_storage_outside_the_file_or_compressed_is_refused(tmp_path, feature_file, content, kind):
    other = tmp_path / "other.bin"
    other.write_bytes(content["features"].tobytes())
    with h5py.File(feature_file, "r+") as file:
        del file["features"]
        if kind == "chunked":
            file.create_dataset("features", data=content["features"], compression="gzip")
        elif kind == "external":
            file.create_dataset(
                "features", (12, 5), np.float16, external=[(str(other), 0, h5py.h5f.UNLIMITED)]
            )
        elif kind == "linked":
            file["features"] = h5py.ExternalLink(str(other), "features")
        else:
            file["features"] = h5py.SoftLink("/labels")
    with pytest.raises(FeatureFileError, match=r"contiguously|not a dataset of this file"):
        store.read(feature_file)


ENDLESS = """
import sys
from sparcl.base.errors import FeatureFileError, OutputError
from sparcl.features import store
for opened in (store.read, store.header, store.sources, lambda path: next(store.blocks(path))):
    try:
        opened(sys.argv[1])
    except FeatureFileError as error:
        print(error)
"""


@pytest.mark.parametrize(("length", "free"), [(0, True), (2**64 - 16, False), (5000, False)])
def test_a_heap_that_hdf5_may_follow_for_ever_is_refused(feature_file, length, free):
    """The first object claims to be free space of no length, or to end outside the heap, at its own beginning too."""
    content = bytearray(feature_file.read_bytes())
    at = content.index(b"GCOL")  # with the texts of the attributes
    content[at + 16 : at + 32] = bytes([not free, *bytes(7)]) + length.to_bytes(8, "little")
    feature_file.write_bytes(content)
    command = [sys.executable, "-c", ENDLESS, feature_file]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    said = f"train.h5: not a readable HDF5 file (the heap at byte {at} holds an object of {length}"
    assert done.stdout.count(said) == 4, done.stderr


# --- views ------------------------------------------------------------------------------------


def parts(content, cuts):
    """Yield the content in consecutive parts, as shards."""
    arrays = ("features", "labels", "ids", "blocks", "blocks_mean")
    for k, (first, stop) in enumerate(itertools.pairwise(cuts), 1):
        yield (
            f"train.shards/{k}-of-{len(cuts) - 1}.h5",
            content | {name: content[name][first:stop] for name in arrays},
        )


@pytest.fixture
def view(tmp_path, content):
    """The feature file of `content` as a view of three shards, of which the second is empty."""
    path = tmp_path / "view" / "train.h5"
    read = []
    for name, part in parts(content, (0, 7, 7, 12)):
        store.write(path.parent / name, **(part | {"meta": content["meta"] | {"shard": {}}}))
        read.append((name, store.read(path.parent / name)))
    shards.write_view(path, read)
    return path


def test_a_view_is_read_while_somebody_locks_its_shards(view, content):
    with open(view.parent / "train.shards" / "1-of-3.h5", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        np.testing.assert_array_equal(store.read(view).features, content["features"])


def test_equal_views_have_equal_bytes(view):
    names = [f"train.shards/{k}-of-3.h5" for k in (1, 2, 3)]
    before, read = view.read_bytes(), [(name, store.read(view.parent / name)) for name in names]
    shards.write_view(view, read)
    assert view.read_bytes() == before


def test_a_view_is_written_of_shards_beside_it_alone(view, tmp_path):
    before, data = view.read_bytes(), store.read(view.parent / "train.shards/1-of-3.h5")
    for name in ("other.h5", "../view/train.shards/1-of-3.h5", str(view)):
        with pytest.raises(FeatureFileError, match="out of reach"):
            shards.write_view(view, [(name, data)])
    assert view.read_bytes() == before


def test_a_view_of_everything_but_shards_is_refused(view, content):
    """Other folders, other arrays, parts of arrays, gaps, other orders and views of views."""
    shutil.copy(view.parent / "train.shards" / "1-of-3.h5", view.parent / "other.h5")
    first, third = "train.shards/1-of-3.h5", "train.shards/3-of-3.h5"

    def rewrite(*sources, n=12):
        layout = h5py.VirtualLayout((n, 5), np.float16)
        for rows, name, array, shape, chosen in sources:
            source = h5py.VirtualSource(name, array, shape, np.float16)
            layout[slice(*rows)] = source if chosen is None else source[chosen]
        with h5py.File(view, "r+") as file:
            del file["features"]
            file.create_virtual_dataset("features", layout)

    def refused(message, *sources, n=12):
        rewrite(*sources, n=n)
        for opened in (store.read, store.header, lambda path: next(store.blocks(path))):
            with pytest.raises(FeatureFileError, match=message):
                opened(view)

    end = ((7, 12), third, "features", (5, 5), None)

    def start(name=first, array="features", shape=(7, 5), rows=(0, 7), chosen=None):
        return rows, name, array, shape, chosen

    rewrite(start(), end)
    np.testing.assert_array_equal(store.read(view).features, content["features"])
    outside = str(view.parent / first), "../view/" + first, "other.h5", "./" + first, "/etc/passwd"
    for name in (*outside, "..shards/../other.h5"):
        refused("view of something else than shards", start(name), end)
    refused("view of something else than shards", start(array="blocks_mean"), end)
    refused("view of something else than shards", end, start(rows=(1, 7), shape=(6, 5)))
    refused("view of something else", start(chosen=slice(0, 3), rows=(0, 3)), end)
    refused(r"1-of-3\.h5 are not the \(3, 5\)", start(rows=(0, 3), shape=(3, 5)), n=3)
    refused("claims 12 rows, its shards hold 7", start())
    refused("claims 2147483648 rows", start(), n=2**31)
    refused(r"2-of-9\.h5 is missing", start("train.shards/2-of-9.h5"), end)
    shutil.copy(view.with_name("other.h5"), view.parent / first)
    refused("feature rows|features have shape", start(), n=7)
    (view.parent / "train.shards/train.shards").mkdir()
    for name in (first, third):
        shutil.move(view.parent / name, view.parent / "train.shards" / name)
    shutil.copy(view, view.parent / first)
    refused(r"1-of-3\.h5: features is not stored contiguously", start(), n=7)


def test_only_a_shard_may_have_no_samples_or_lack_a_class(tmp_path, content):
    nothing = next(part for _, part in parts(content, (0, 0)))
    for part, message in (
        (nothing, "n, d >= 1"),
        ({"labels": content["labels"] % 2}, "no training"),
    ):
        with pytest.raises(FeatureFileError, match=message):
            store.write(tmp_path / "a.h5", **(content | part))
        marked = {"meta": content["meta"] | {"shard": {"index": 1}}}
        store.write(tmp_path / "b.h5", **(content | part | marked))
        assert store.read(tmp_path / "b.h5").meta["shard"] == {"index": 1}
        assert store.header(tmp_path / "b.h5").n == len((content | part)["labels"])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("features", np.ones((12, 5)), "features are float64"),
        ("features", np.ones(12, np.float32), r"expected \(n, d\)"),
        ("labels", np.arange(12), "labels are int64"),
        ("labels", np.zeros(11, np.int32), "there are 12 feature rows"),
        ("ids", np.arange(12), "expected fixed-length bytes"),
        ("blocks", np.ones((12, 2, 4), np.float16), "blocks have shape"),
        ("blocks", np.ones((12, 2, 5), np.float32), "blocks are float32"),
        (
            "blocks_mean",
            np.ones((11, 5), np.float16),
            r"blocks_mean have shape .*expected \(12, 5\)",
        ),
        ("blocks_mean", np.ones((12, 1, 5), np.float16), "blocks_mean have shape"),
        ("blocks_mean", np.ones((12, 5), np.float32), "blocks_mean are float32"),
    ],
)
def test_disagreeing_shapes_and_types(feature_file, name, value, message):
    with h5py.File(feature_file, "r+") as file:
        del file[name]
        file[name] = value
    with pytest.raises(FeatureFileError, match=message):
        store.read(feature_file)


def test_manifest_mismatch_names_the_array(feature_file):
    path = feature_file.with_suffix(".json")
    for name in layout.ARRAYS:
        changed = json.loads(path.read_text())
        changed["arrays"][name]["sha256"] = "f" * 64
        other = path.with_name(f"{name}.json")
        other.write_text(json.dumps(changed))
        with pytest.raises(FeatureFileError, match=f"manifest in array {name}\\."):
            store.read(feature_file, other)
    for damaged in ("{", "[" * 200_000):
        path.write_text(damaged)
        with pytest.raises(FeatureFileError, match="no JSON"):
            store.read(feature_file)
    path.unlink()
    assert store.read(feature_file, verify=False).meta["dataset"] == "toy"


def test_values_that_are_not_finite_name_the_sample(tmp_path, content):
    for name in layout.KINDS.values():
        for bad in (np.nan, np.inf, -np.inf):
            array = content[name].copy()
            array[7] = bad
            said = r"first row 7, sample 'train/ä7\.png'.*float32"
            with pytest.raises(FeatureFileError, match=said):
                store.write(tmp_path / "a.h5", **content | {name: array})
    assert not list(tmp_path.iterdir())


def test_bad_labels_classes_and_ids(tmp_path, content):
    def refused(message, **changes):
        with pytest.raises(FeatureFileError, match=message):
            store.write(tmp_path / "a.h5", **(content | changes))

    for label in (3, -1):
        labels = content["labels"].copy()
        labels[4] = label
        refused(
            rf"label {label} of sample 'train/ä4.png' \(row 4\) is outside 0\.\.2", labels=labels
        )
    refused("whole numbers", labels=content["labels"] + 0.5)
    refused("1 of 4 classes have no training sample: dog", class_names=["ant", "bee", "cat", "dog"])
    refused("not unique", class_names=["ant", "bee", "bee"])
    refused("'same' occurs 12 times", ids=["same"] * 12)
    others = content["ids"][1:]
    for name in ("half a letter \udcff", "a zero\0 byte"):
        refused("class name 'half|class name 'a zero", class_names=["ant", "bee", name])
        refused("the id b'.*' of row 0 is no UTF-8 text", ids=[name, *others])
    refused("of row 0 is no UTF-8 text", ids=[b"\xff", *others])
    refused("split is 'val'", meta=content["meta"] | {"split": "val"})
    refused("unknown \\['shape'\\]", meta=content["meta"] | {"shape": 1})
    refused(
        "missing \\['backbone'\\]",
        meta={k: v for k, v in content["meta"].items() if k != "backbone"},
    )
    assert not list(tmp_path.iterdir())


# --- block by block ---------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 5, 12, 100])
def test_blocks_are_the_file(feature_file, content, rows):
    parts = list(store.blocks(feature_file, rows))
    assert max(len(y) for _, y in parts) == min(rows, 12)
    np.testing.assert_array_equal(np.concatenate([P for P, _ in parts]), content["features"])
    np.testing.assert_array_equal(np.concatenate([y for _, y in parts]), content["labels"])
    assert parts[0][0].dtype == np.float16


def test_the_header_says_what_the_file_says(feature_file, content):
    header, data = store.header(feature_file), store.read(feature_file)
    assert (header.n, header.d, header.class_names) == (12, 5, content["class_names"])
    assert header.meta == data.meta


def test_no_flipped_byte_of_an_array_goes_unnoticed(feature_file):
    """In blocks, it is known after the last one; the header reads no array."""
    with h5py.File(feature_file) as file:
        places = {name: file[name].id.get_offset() for name in layout.ARRAYS}
    whole = feature_file.read_bytes()
    for name, place in places.items():
        changed = bytearray(whole)
        changed[place] ^= 1
        feature_file.write_bytes(bytes(changed))
        with pytest.raises(FeatureFileError, match=f"manifest in array {name}|{name}|ids"):
            store.read(feature_file)
        store.header(feature_file)
        if name in layout.ARRAYS[:3]:
            with pytest.raises(FeatureFileError, match=f"manifest in array {name}\\."):
                list(store.blocks(feature_file, 5))


def test_read_header_and_blocks_refuse_alike(tmp_path, feature_file):
    whole, manifest = feature_file.read_bytes(), feature_file.with_suffix(".json")
    stated = json.loads(manifest.read_text())
    one = {"features": stated["arrays"]["features"]}

    def refused(message, path=feature_file):
        for opened in (store.read, store.header, lambda path: next(store.blocks(path))):
            with pytest.raises(FeatureFileError, match=message):
                opened(path)

    for changes, message in (
        ({"backbone": "another"}, "attribute backbone"),
        ({"n": 13}, "attribute n"),
        ({"arrays": stated["arrays"] | {"features": 5}}, "not a manifest"),
        ({"arrays": one}, "array blocks, array blocks_mean, array ids"),
    ):
        manifest.write_text(json.dumps(stated | changes))
        refused(message)
    manifest.write_text(json.dumps(stated))
    for share in (0.0, 0.05, 0.5, 0.98):
        feature_file.write_bytes(whole[: int(share * len(whole))])
        refused(r"train\.h5.*truncated")
    feature_file.write_bytes(whole)
    manifest.unlink()
    refused("manifest of the feature file is missing")
    with h5py.File(feature_file, "r+") as file:
        del file["features"]
        file.create_dataset("features", shape=(2**31, 2**15), dtype=np.float16)  # never filled
    refused("more than the file of")
    refused("no such feature file", tmp_path / "nothing.h5")


def test_a_bad_value_in_a_later_block_names_its_row(feature_file):
    for name, value, message in (
        ("features", np.nan, r"first row 7, sample 'train/ä7\.png'"),
        ("labels", 3, r"label 3 of sample 'train/ä7\.png' \(row 7\) is outside"),
    ):
        with h5py.File(feature_file, "r+") as file:
            good, file[name][7] = file[name][7], value
        parts = store.blocks(feature_file, 5)
        next(parts)
        with pytest.raises(FeatureFileError, match=message):
            next(parts)
        with h5py.File(feature_file, "r+") as file:
            file[name][7] = good


@pytest.mark.parametrize("streamed", [False, True])
def test_a_disk_that_is_full_at_any_byte_is_an_error_and_no_crash(tmp_path, streamed):
    n, block = 3000, np.ones((100, 70), np.float16)
    features = np.tile(block, (30, 1))
    if streamed:
        features = in_blocks(features, len(block))
    meta = dict.fromkeys(layout.REQUIRED_KEYS, "x") | {"split": "test", "preprocessing": {}}
    ids = [str(i) for i in range(n)]
    for limit in range(0, 460_000, 23_000):
        with faults.no_file_above(limit), pytest.raises(OutputError, match="ulimit -f"):
            store.write(tmp_path / "out.h5", features, np.zeros(n), ids, ["a"], meta)
    assert not list(tmp_path.iterdir())
