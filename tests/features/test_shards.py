"""Shards of scikit-learn's digits, through an untrained network: together they are what one job gives."""

import dataclasses
import fcntl
import hashlib
import json
import multiprocessing
import os
import shutil
from pathlib import Path

import h5py
import miniatures
import numpy as np
import pytest
from own_data import write_network

from sparcl.base.errors import ConfigError, FeatureFileError
from sparcl.features import layout, store
from study.images import shards
from study.images.extract import extract_split

BATCH = 512  # 3 batches of the 1,258 images for training


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "network.pth"
    return path, write_network(path)


@pytest.fixture
def job(params, network):
    """The arguments of `extract_split`, but for path and shard."""
    path, digest = network
    weights = {"source": "file", "path": str(path), "sha256": digest, "keys": "name"}
    return {
        "dataset": "digits",
        "dataset_block": params["datasets"]["digits"],
        "backbone": "my-net",
        "backbone_block": params["backbones"]["efficientnet-lite0"]
        | {"timm_id": "test_efficientnet", "size": 32, "weights": weights},
        "split": "train",
        "extraction": params["extraction"] | {"device": "cpu", "batch_size": BATCH},
    }


def place(path, k, n):
    return path.parent / f"{path.stem}.shards" / f"{k}-of-{n}.h5"


def extract(path, job, n):
    """Extract all shards and return their paths."""
    found = [place(path, k, n) for k in range(1, n + 1)]
    for k, shard in enumerate(found, 1):
        extract_split(shard, **job, shard=(k, n))
    return found


def content(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    return tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("shards")


@pytest.fixture
def whole(places, job):
    """What one job extracts, made once."""
    path = places[0] / "train.h5"
    if not path.exists():
        extract_split(path, **job)
    return path


@pytest.fixture
def merged(places, job, tmp_path):
    """Three shards and their view in a folder of the test's own, made once."""
    path = places[1] / "train.h5"
    if not path.exists():
        shards.merge(path, extract(path, job, 3))
    return Path(shutil.copytree(path.parent, tmp_path / "merged")) / "train.h5"


def three(path):
    return [place(path, k, 3) for k in (1, 2, 3)]


def rewrite(path, **changes):
    """Write a shard again with other content: fields of `layout.FeatureSet`, the rest goes into its attributes."""
    data = store.read(path)
    fields = {k: v for k, v in changes.items() if k in ("features", "labels", "ids", "class_names")}
    data = dataclasses.replace(data, **fields)
    meta = {k: v for k, v in data.meta.items() if k in layout.TEXT_KEYS + layout.JSON_KEYS}
    for key in changes.keys() - fields.keys():
        old = meta.get(key)
        meta[key] = old | changes[key] if isinstance(old, dict) else changes[key]
    store.write(path, data.features, data.labels, data.ids, data.class_names, meta)


@pytest.mark.parametrize("n", [1, 5])
def test_the_view_is_what_one_job_gives(tmp_path, whole, job, n):
    path = tmp_path / "train.h5"
    parts = extract(path, job, n)
    before = content(path.parent)
    manifest = shards.merge(path, reversed(parts))
    expected, data = store.read(whole), store.read(path)
    np.testing.assert_array_equal(data.features, expected.features)
    np.testing.assert_array_equal(data.labels, expected.labels)
    assert data.ids.tolist() == expected.ids.tolist() and data.ids.dtype == expected.ids.dtype
    assert data.meta == expected.meta and data.class_names == expected.class_names
    assert path.with_suffix(".json").read_bytes() == whole.with_suffix(".json").read_bytes()
    assert manifest == json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    read = [features for features, _ in store.blocks(path, 100)]
    np.testing.assert_array_equal(np.concatenate(read), expected.features)
    assert store.header(path) == store.header(whole)
    # nothing was copied, and nothing was done to the shards
    with h5py.File(path) as file:
        assert file["features"].is_virtual
    assert path.stat().st_size < whole.stat().st_size - expected.features.nbytes + 10_000
    after = content(path.parent)
    assert before.items() <= after.items()
    assert {str(p) for p in after.keys() - before.keys()} == {"train.h5", "train.json"}


def test_a_shard_is_whole_batches_and_says_which(merged):
    stated = [store.header(path).meta["shard"] for path in three(merged)]
    assert [(s["first"], s["stop"]) for s in stated] == [(0, 512), (512, 1024), (1024, 1258)]
    assert {(s["of"], s["total"]) for s in stated} == {(3, 1258)}
    ids = b"".join(i + b"\n" for i in store.read(merged).ids)
    assert {s["ids_sha256"] for s in stated} == {hashlib.sha256(ids).hexdigest()}


@pytest.mark.parametrize(("n", "batch_size", "of"), [(0, 4, 3), (1, 4, 3), (18, 4, 7), (20, 4, 2)])
def test_ranges_tile_the_split(n, batch_size, of):
    ids = [str(i) for i in range(n)]
    stated = [shards.describe(ids, batch_size, k, of) for k in range(1, of + 1)]
    rows = [i for s in stated for i in range(s["first"], s["stop"])]
    assert rows == list(range(n))
    assert all(s["first"] % batch_size == 0 or s["first"] == n for s in stated)
    sizes = [-(-(s["stop"] - s["first"]) // batch_size) for s in stated]
    assert max(sizes) - min(sizes) <= 1


def test_a_shard_is_redone_alone(merged, job):
    before = content(merged.parent)
    second = place(merged, 2, 3)
    second.unlink()
    with pytest.raises(
        FeatureFileError, match=r"2-of-3\.h5 is missing, .*512 of its samples.*snak"
    ):
        store.read(merged)
    extract_split(second, **job, shard=(2, 3))
    assert content(merged.parent) == before
    store.read(merged)


def test_a_view_moves_with_its_shards_and_not_without(merged, tmp_path, monkeypatch):
    expected = store.read(merged)
    moved = Path(shutil.move(merged.parent, tmp_path / "elsewhere")) / "train.h5"
    np.testing.assert_array_equal(store.read(moved).features, expected.features)
    # HDF5 would look in the current folder too
    alone = tmp_path / "alone" / "train.h5"
    alone.parent.mkdir()
    for suffix in (".h5", ".json"):
        shutil.copy(moved.with_suffix(suffix), alone.with_suffix(suffix))
    monkeypatch.chdir(moved.parent)
    with pytest.raises(FeatureFileError, match=r"alone/train\.shards/1-of-3\.h5 is missing"):
        store.read(alone)


def test_no_damage_to_a_shard_goes_unnoticed(merged):
    third = place(merged, 3, 3)
    with h5py.File(third) as file:
        at = file["features"].id.get_offset()
    damaged = bytearray(third.read_bytes())
    damaged[at] ^= 1
    third.write_bytes(damaged)
    with pytest.raises(FeatureFileError, match=r"3-of-3\.json|does not match .* array features"):
        shards.merge(merged, three(merged))
    with pytest.raises(FeatureFileError, match=r"train\.h5: does not match .* array features"):
        store.read(merged)
    third.write_bytes(damaged[: len(damaged) // 2])
    with pytest.raises(FeatureFileError, match=r"3-of-3\.h5: .*truncated"):
        store.read(merged)


# --- what does not belong together ------------------------------------------------------------

NAMES = [str(i) for i in range(10)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"backbone": "other-net"}, "backbone is 'other-net' here, 'my-net' there"),
        ({"split_sha256": "e" * 64}, "split_sha256 is 'eee.*None there"),
        ({"preprocessing": {"crop": 0.5}}, r"preprocessing\.crop is 0\.5 here, 1\.0 there"),
        ({"extraction": {"batch_size": 4}}, r"extraction\.batch_size is 4 here, 512 there"),
        ({"block_indices": [3]}, r"block_indices is \[3\] here, None there"),
        ({"class_names": [*NAMES[:9], "zehn"]}, "class 9 is 'zehn' here, '9' there"),
        ({"class_names": [*NAMES, "10"]}, "number of classes is 11 here, 10 there"),
        ({"features": np.ones((512, 256), np.float32)}, "dtype is 'float32' here, 'float16' there"),
        ({"features": np.ones((512, 9), np.float16)}, "features is 9 here, 256 there"),
        (
            {"shard": {"total": 5}},
            r"2-of-3\.h5 and \S*1-of-3\.h5 are .* shard\.total is 5 here, 1258",
        ),
        ({"shard": {"first": 500}}, "2-of-3.h5: .* up to 512 of 1258, and it starts at 500"),
        ({"shard": {"first": 520}}, "2-of-3.h5: .* up to 512 of 1258, and it starts at 520"),
        ({"shard": {"stop": 1000}}, "3-of-3.h5: .* up to 1000 of 1258, and it starts at 1024"),
        ({"shard": {"stop": 1030}}, "3-of-3.h5: .* up to 1030 of 1258, and it starts at 1024"),
        ({"shard": {"index": 7}}, r"number \[1, 3, 7\], and there are 3"),
        (
            {"shard": {"left_out": [[600, "a"]]}},
            r"2-of-3.h5: 512 samples, .* less 1 left out make 511",
        ),
    ],
)
def test_shards_that_do_not_belong_together_are_refused_by_difference(merged, changes, said):
    rewrite(place(merged, 2, 3), **changes)
    before = content(merged.parent)
    with pytest.raises(FeatureFileError, match=said):
        shards.merge(merged, three(merged))
    assert content(merged.parent) == before


def test_images_of_another_order_under_the_right_range(merged):
    """Numbers and counts are right; ids tell."""
    second = place(merged, 2, 3)
    rewrite(second, ids=store.read(second).ids[::-1])
    with pytest.raises(
        FeatureFileError, match="the 1258 ids of the shards are not those of the sp"
    ):
        shards.merge(merged, three(merged))


def test_a_shard_that_was_extracted_otherwise_is_refused(merged, job):
    second = place(merged, 2, 3)
    extract_split(
        second, **(job | {"extraction": job["extraction"] | {"dtype": "float32"}}), shard=(2, 3)
    )
    with pytest.raises(FeatureFileError, match="dtype is 'float32' here, 'float16' there"):
        shards.merge(merged, three(merged))
    with pytest.raises(
        FeatureFileError, match=r"2-of-3\.h5 are not the .*float16 that were merged"
    ):
        store.read(merged)


def test_shards_that_are_missing_or_there_twice(merged, whole):
    with pytest.raises(FeatureFileError, match=r"train\.h5: not a shard"):
        shards.merge(merged, [whole, place(merged, 2, 3)])
    with pytest.raises(FeatureFileError, match=r"number \[1, 3\], and there are 3"):
        shards.merge(merged, [place(merged, 1, 3), place(merged, 3, 3)])
    place(merged, 2, 3).unlink()
    with pytest.raises(FeatureFileError, match=r"2-of-3\.h5: no such feature file"):
        shards.merge(merged, three(merged))
    for suffix in (".h5", ".json"):
        first, second = (place(merged, k, 3).with_suffix(suffix) for k in (1, 2))
        shutil.copy(first, second)
    with pytest.raises(FeatureFileError, match=r"number \[1, 1, 3\], and there are 3"):
        shards.merge(merged, three(merged))


# --- images that cannot be read -------------------------------------------------------------------


def test_left_out_images(tmp_path, job):
    """One job and three shards leave out and list the same; one shard has no image left."""
    for first, split in ((0, "train"), (50, "test")):
        names = {f"{'ab'[i % 2]}/{i:02d}.png": miniatures.jpeg(first + i) for i in range(12)}
        miniatures.unpack(tmp_path / "data" / split, names)
    (tmp_path / "data/train/a/notes.txt").write_text("no image")
    # shard 2 of 3 has images 4 to 7 of a/00, a/02, ... a/10, b/01, ...
    for name in ("a/08", "a/10", "b/01", "b/03", "b/07"):
        (tmp_path / f"data/train/{name}.png").write_bytes(b"")
    block = {"reader": "folder", "root": str(tmp_path / "data"), "on_bad_image": "skip"}
    job |= {"dataset": "mine", "dataset_block": block}
    job |= {"extraction": job["extraction"] | {"batch_size": 2}}
    extract_split(tmp_path / "one" / "train.h5", **job)
    path = tmp_path / "three" / "train.h5"
    shards.merge(path, extract(path, job, 3))
    assert [store.header(p).n for p in three(path)] == [4, 0, 3]
    for name in ("train.json", "train.skipped.txt"):
        assert (path.with_name(name)).read_bytes() == (tmp_path / "one" / name).read_bytes()
    assert path.with_suffix(".skipped.txt").read_text().count("\n") == 6
    data = store.read(path)
    np.testing.assert_array_equal(data.features, store.read(tmp_path / "one/train.h5").features)


# --- two at once ------------------------------------------------------------------------------------

FORK = multiprocessing.get_context("fork")


def extract_when_both_are_ready(path, job, locks, both):
    both.wait()
    with pytest.MonkeyPatch.context() as patch:
        if (
            not locks
        ):  # two machines on one disk: no lock reaches the other, and process ids may be equal
            patch.setattr(fcntl, "flock", lambda *_: None)
            patch.setattr(os, "getpid", lambda: 4711)
        extract_split(path, **job, shard=(1, 2))


# Waiting for a lock is also tested on the work file alone (tests/extraction/test_work_file.py).
@pytest.mark.parametrize("locks", [pytest.param(True, marks=pytest.mark.slow), False])
def test_two_processes_write_one_shard_at_once(tmp_path, job, locks):
    """This process and another."""
    job |= {"extraction": job["extraction"] | {"batch_size": 16, "threads": 1}}
    expected = tmp_path / "alone" / "1-of-2.h5"
    extract_split(expected, **job, shard=(1, 2))
    path = tmp_path / "both" / "1-of-2.h5"
    path.parent.mkdir()
    arguments = (path, job, locks, FORK.Barrier(2))
    other = FORK.Process(target=extract_when_both_are_ready, args=arguments)
    other.start()
    extract_when_both_are_ready(*arguments)
    other.join(300)
    assert other.exitcode == 0
    assert content(path.parent) == content(expected.parent)


@pytest.mark.parametrize(("of", "in_place"), [(1, True), (3, True), (3, False), (5, False)])
def test_a_file_that_is_cut_is_read_as_it_was(feature_file, tmp_path, of, in_place):
    before, manifest = store.read(feature_file), feature_file.with_suffix(".json").read_bytes()
    path = feature_file if in_place else tmp_path / "cut" / "train.h5"
    shards.cut(feature_file, path, of)
    after = store.read(path)
    assert path.with_suffix(".json").read_bytes() == manifest
    assert after.meta == before.meta == store.header(path).meta
    parts = zip(*store.blocks(path, 5), strict=True)
    for read, name in zip(parts, ("features", "labels"), strict=True):
        np.testing.assert_array_equal(np.concatenate(read), getattr(before, name))
    for name in layout.ARRAYS:
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    sizes = [store.header(place(path, k, of)).n for k in range(1, of + 1)]
    assert sum(sizes) == 12 and max(sizes) == -(-12 // of)
    assert store.ids(path).tolist() == before.ids.tolist()


def test_a_cut_into_too_many_shards_or_none_and_a_damaged_file(feature_file, tmp_path):
    for of in (0, 13, 2**32 - 1):  # the last: a list of as many shards takes no memory first
        with pytest.raises(ConfigError, match=rf"train\.h5: its 12 samples .* into {of} shards"):
            shards.cut(feature_file, tmp_path / "cut.h5", of)
    shards.cut(feature_file, tmp_path / "view.h5", 2)
    with pytest.raises(ConfigError, match=r"view\.shards exists.*1-of-2"):
        shards.cut(tmp_path / "view.h5", tmp_path / "view.h5", 3)
    with pytest.raises(FeatureFileError, match=r"1-of-2\.h5: a shard is not cut again"):
        shards.cut(place(tmp_path / "view.h5", 1, 2), tmp_path / "cut.h5", 2)
    feature_file.with_suffix(".json").write_text("{}")
    with pytest.raises(FeatureFileError, match=r"train\.json"):
        shards.cut(feature_file, tmp_path / "cut.h5", 2)
    assert not (tmp_path / "cut.shards").exists()


@pytest.mark.parametrize("written", range(5))
def test_an_interrupted_cut_goes_on(feature_file, tmp_path, monkeypatch, written):
    """Each shard is two files, a view two more; the process ends before one of them."""
    shards.cut(feature_file, tmp_path / "whole.h5", 2)
    left, rename = iter(range(written)), os.replace

    def replace(source, target):
        if next(left, None) is None:
            raise KeyboardInterrupt
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            shards.cut(feature_file, tmp_path / "cut.h5", 2)
    shards.cut(feature_file, tmp_path / "cut.h5", 2)
    for k in (1, 2):
        assert place(tmp_path / "cut.h5", k, 2).read_bytes() == (
            place(tmp_path / "whole.h5", k, 2).read_bytes()
        )
    assert (tmp_path / "cut.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert len(list((tmp_path / "cut.shards").iterdir())) == 4


def test_a_cut_never_takes_the_shards_of_another_file_for_its_own(feature_file, tmp_path):
    whole = store.read(feature_file)
    meta = {
        key: whole.meta[key] for key in (*layout.TEXT_KEYS, *layout.JSON_KEYS) if key in whole.meta
    }
    rest = (whole.labels, whole.ids, whole.class_names, meta, whole.blocks, whole.blocks_mean)
    store.write(tmp_path / "other.h5", whole.features + 1, *rest)
    shards.cut(tmp_path / "other.h5", tmp_path / "cut.h5", 2)
    before = {file: file.read_bytes() for file in (tmp_path / "cut.shards").iterdir()}
    with pytest.raises(ConfigError, match="no shard of this cut"):
        shards.cut(feature_file, tmp_path / "cut.h5", 2)
    assert {file: file.read_bytes() for file in (tmp_path / "cut.shards").iterdir()} == before
