"""Backbones: the right tensors in the right places, or an error."""

import shutil

import numpy as np
import pytest
import timm
import torch
from own_data import pinned
from PIL import Image
from safetensors.torch import save_file

from sparcl.base.errors import ConfigError, WeightsError
from sparcl.extraction import backbones, weights
from sparcl.extraction.checkpoints import read_tensors
from sparcl.extraction.preprocessing import preprocess
from study.images.preprocessing import preprocessing_of

SMALL = {"depth": 3, "embed_dim": 48}  # of a ViT-Ti/16, which has 12 blocks of width 192
PREPROCESSING = {
    "size": 224,
    "crop": 1.0,
    "interpolation": "bicubic",
    "mean": [0.5, 0.5, 0.5],
    "std": [0.5, 0.5, 0.5],
}


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), dtype=np.uint8)


def saved(path, state, timm_id, **more):
    """A params block for a state dict saved as a local checkpoint."""
    if path.suffix == ".npz":
        np.savez(path, **state)
    else:
        save_file({key: value.contiguous() for key, value in state.items()}, path)
    block = {"timm_id": timm_id, "weights": pinned(path) | {"keys": "name"}, "blocks": []}
    return block | {"timm_args": SMALL if timm_id.startswith("vit") else {}} | more


def normalised(pixels):
    return torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255 * 2 - 1


@pytest.fixture(scope="module")
def tiny():
    torch.manual_seed(0)
    return timm.create_model("vit_tiny_patch16_224", **SMALL).eval()


def jax_arrays(model, heads):
    """The .npz layout of the original vision transformers, written from timm's tensors."""
    state = {key: value.numpy() for key, value in model.state_dict().items()}
    width = model.embed_dim
    arrays = {
        "embedding/kernel": state["patch_embed.proj.weight"].transpose(2, 3, 1, 0),
        "embedding/bias": state["patch_embed.proj.bias"],
        "cls": state["cls_token"],
        "Transformer/posembed_input/pos_embedding": state["pos_embed"],
        "Transformer/encoder_norm/scale": state["norm.weight"],
        "Transformer/encoder_norm/bias": state["norm.bias"],
    }
    for i in range(len(model.blocks)):
        theirs, ours = f"Transformer/encoderblock_{i}/", f"blocks.{i}."
        attention = f"{theirs}MultiHeadDotProductAttention_1/"
        for part, kernel, bias in zip(
            ("query", "key", "value"),
            np.split(state[f"{ours}attn.qkv.weight"], 3),
            np.split(state[f"{ours}attn.qkv.bias"], 3),
            strict=True,
        ):
            arrays[f"{attention}{part}/kernel"] = kernel.T.reshape(width, heads, -1)
            arrays[f"{attention}{part}/bias"] = bias.reshape(heads, -1)
        arrays[f"{attention}out/kernel"] = state[f"{ours}attn.proj.weight"].T.reshape(
            heads, -1, width
        )
        arrays[f"{attention}out/bias"] = state[f"{ours}attn.proj.bias"]
        for j in (0, 1):
            dense, norm = f"{theirs}MlpBlock_3/Dense_{j}/", f"{theirs}LayerNorm_{2 * j}/"
            arrays[f"{dense}kernel"] = state[f"{ours}mlp.fc{j + 1}.weight"].T
            arrays[f"{dense}bias"] = state[f"{ours}mlp.fc{j + 1}.bias"]
            arrays[f"{norm}scale"] = state[f"{ours}norm{j + 1}.weight"]
            arrays[f"{norm}bias"] = state[f"{ours}norm{j + 1}.bias"]
    return arrays


def test_a_vit_from_every_kind_of_file_is_the_model_it_came_from(tmp_path, pixels):
    """Random weights: the same bits of features, and those of timm's own forward pass to rounding."""
    torch.manual_seed(0)
    model = timm.create_model(
        "vit_tiny_patch16_224", **SMALL
    ).eval()  # with a classifier, as published
    state = model.state_dict()
    save_file(state, tmp_path / "a.safetensors")
    torch.save(state, tmp_path / "a.pth")
    torch.save({"state_dict": state, "epoch": 3}, tmp_path / "wrapped.pt")
    np.savez(tmp_path / "named.npz", **{key: value.numpy() for key, value in state.items()})
    np.savez(tmp_path / "jax.npz", **jax_arrays(model, 3))
    names = ["a.safetensors", "a.pth", "wrapped.pt", "named.npz", "jax.npz"]
    for name in names:
        shutil.copy(tmp_path / name, tmp_path / name.upper())
    with torch.inference_mode():
        direct = model.forward_head(
            model.forward_features(normalised(pixels[:1])), pre_logits=True
        ).numpy()
    model.reset_classifier(0)
    model = model.to(memory_format=torch.channels_last)
    original = backbones.Backbone(model, "vit", "0" * 64, PREPROCESSING, [], "cpu", "float32")
    expected, _ = original(pixels[:1])
    np.testing.assert_allclose(expected, direct, rtol=1e-4, atol=1e-5)
    for name in (*names, *map(str.upper, names)):
        pins = pinned(tmp_path / name)
        name_in_timm = "vit_tiny_patch16_224.augreg_in21k"
        block = {"timm_id": name_in_timm, "timm_args": SMALL, "weights": pins}
        network = backbones.build(block, PREPROCESSING)
        features, blocks = network(pixels[:1])
        assert blocks is None and network.weights_sha256 == pins["sha256"]
        np.testing.assert_array_equal(features, expected, err_msg=name)


def test_cls_tokens_of_chosen_blocks(tmp_path, tiny, pixels):
    block = saved(
        tmp_path / "a.safetensors", tiny.state_dict(), "vit_tiny_patch16_224", blocks=[2, 3]
    )
    features, blocks = backbones.build(block, PREPROCESSING)(pixels)
    with torch.inference_mode():
        tokens = tiny._pos_embed(tiny.patch_embed(normalised(pixels)))
        levels = []
        for layer in tiny.blocks:
            tokens = layer(tokens)
            levels.append(tokens[:, 0])
        second, mean = tiny.norm(levels[1]), tiny.norm((levels[1] + levels[2]) / 2)
    assert features.shape == (2, 48) and blocks.shape == (2, 3, 48)
    np.testing.assert_allclose(blocks[:, 0], second, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(blocks[:, 1], features)
    np.testing.assert_allclose(blocks[:, 2], mean, rtol=1e-4, atol=1e-5)
    assert np.abs(blocks[:, 2] - blocks[:, :2].mean(axis=1)).max() > 0.01  # the norm comes last


def test_blocks_that_do_not_exist(tmp_path, tiny, params):
    state = tiny.state_dict()
    for chosen in ([0], [4], [3, 2], [2, 2]):
        block = saved(tmp_path / "a.safetensors", state, "vit_tiny_patch16_224", blocks=chosen)
        with pytest.raises(ConfigError, match=r"increasing numbers within 1\.\.3"):
            backbones.build(block, PREPROCESSING)
    block = params["backbones"]["efficientnet-lite0"] | {"blocks": [1]}  # without class token
    with pytest.raises(ConfigError, match=r"within 1\.\.0"):
        backbones.build(block, PREPROCESSING)


def test_tensors_too_many_too_few_or_of_another_network(tmp_path, tiny):
    state = dict(tiny.state_dict())

    def refused(message, state, timm_id="vit_tiny_patch16_224", keys="name", **more):
        block = saved(tmp_path / "a.safetensors", state, timm_id, **more)
        block["weights"]["keys"] = keys
        with pytest.raises(WeightsError, match=message):
            backbones.build(block, PREPROCESSING)

    refused(r"a\.safetensors: tensors do not fit.*extra", state | {"extra": torch.ones(1)})
    short = {key: value for key, value in state.items() if key != "blocks.2.norm1.weight"}
    refused(r"blocks\.2\.norm1\.weight", short)
    refused("size mismatch", state, timm_args=SMALL | {"embed_dim": 96})
    refused("another network", state, "tf_efficientnet_lite0", "order")
    refused("tensors do not fit", state, keys="onnx-dinov2")
    arrays = jax_arrays(tiny, 3)
    del arrays["Transformer/encoderblock_1/MlpBlock_3/Dense_0/kernel"]
    with pytest.raises(WeightsError, match="does not fit the network"):
        backbones.build(saved(tmp_path / "b.npz", arrays, "vit_tiny_patch16_224"), PREPROCESSING)


def test_a_prefix_that_all_tensors_share(tmp_path, tiny, pixels, caplog):
    """As DataParallel, torch.compile and both leave it; another one is chosen by a key."""
    state = dict(tiny.state_dict())
    name = "vit_tiny_patch16_224"
    expected, _ = backbones.build(saved(tmp_path / "a.safetensors", state, name), PREPROCESSING)(
        pixels
    )
    assert not caplog.text
    for prefix in ("module.", "_orig_mod.", "_orig_mod.module."):
        block = saved(tmp_path / "b.safetensors", {prefix + k: v for k, v in state.items()}, name)
        found, _ = backbones.build(block, PREPROCESSING)(pixels)
        np.testing.assert_array_equal(found, expected)
        assert f"all tensors have the prefix {prefix}, which is left out" in caplog.text
        caplog.clear()
    whole = {f"backbone.{k}": v for k, v in state.items()} | {"projector.weight": torch.ones(1)}
    block = saved(tmp_path / "c.safetensors", whole, name)
    with pytest.raises(WeightsError, match=r"\"cls_token\".*`entry` or `prefix`"):
        backbones.build(block, PREPROCESSING)
    block["weights"]["prefix"] = "backbone."
    np.testing.assert_array_equal(backbones.build(block, PREPROCESSING)(pixels)[0], expected)


def test_order_checks_kind_and_shape(tmp_path, params):
    """EfficientNet-Lite0 under other names fits; two tensors swapped, or one of another kind, do not."""
    state = timm.create_model("tf_efficientnet_lite0").state_dict()
    kinds = [
        (f"layer{i}.{key.rpartition('.')[2]}", value)
        for i, (key, value) in enumerate(state.items())
    ]

    def build(pairs):
        torch.save(dict(pairs), tmp_path / "a.pth")
        weights = pinned(tmp_path / "a.pth") | {"keys": "order"}
        block = {"timm_id": "tf_efficientnet_lite0", "weights": weights}
        return backbones.build(block, PREPROCESSING)

    built = build(kinds).model.state_dict()
    assert all(torch.equal(built[key], state[key]) for key in built)
    swapped = list(kinds)
    swapped[0], swapped[6] = swapped[6], swapped[0]
    with pytest.raises(WeightsError, match="does not fit conv_stem"):
        build(swapped)
    renamed = [(name.replace("layer1.weight", "layer1.bias"), value) for name, value in kinds]
    with pytest.raises(WeightsError, match=r"does not fit bn1\.weight"):
        build(renamed)
    with pytest.raises(WeightsError, match="295 tensors"):
        build(kinds[:-1])


def test_unknown_names(params):
    block = params["backbones"]["efficientnet-lite0"]
    with pytest.raises(ConfigError, match="has no model 'resnet_of_mine'"):
        backbones.build(block | {"timm_id": "resnet_of_mine"}, PREPROCESSING)
    with pytest.raises(ConfigError, match="allowed: float32, float16, bfloat16"):
        backbones.build(block, PREPROCESSING, precision="int8")


def test_mixed_precision_stays_close(tmp_path, tiny, pixels):
    block = saved(tmp_path / "a.safetensors", tiny.state_dict(), "vit_tiny_patch16_224")
    exact, _ = backbones.build(block, PREPROCESSING)(pixels)
    mixed, _ = backbones.build(block, PREPROCESSING, precision="bfloat16")(pixels)
    assert mixed.dtype == np.float32
    assert 0 < np.abs(mixed - exact).max() < 0.2 * np.abs(exact).max()


def test_efficientnet_lite0_knows_what_it_sees(params):
    """The bundled features' weights, checked by meaning: its own classifier is left over in the file."""
    pins = params["backbones"]["efficientnet-lite0"]["weights"]
    name, content = weights.fetch(pins, "tf_efficientnet_lite0")
    tensors = read_tensors(name, content)
    assert list(tensors)[-2:] == ["_fc.weight", "_fc.bias"] and len(tensors) == 296
    network = backbones.build(params["backbones"]["efficientnet-lite0"], PREPROCESSING)
    assert sum(p.requires_grad for p in network.model.parameters()) == 0
    ramp = np.linspace(0, 255, 224).astype(np.uint8)
    square = np.broadcast_to(ramp[None, :, None], (1, 224, 224, 3)).copy()
    features, _ = network(square)
    logits = features @ tensors["_fc.weight"].numpy().T + tensors["_fc.bias"].numpy()
    assert features.shape == (1, 1280) and (features >= 0).all()  # pooled ReLU6 outputs
    assert np.exp(logits - logits.max()).sum() < 50, "1000 classes, and the network prefers few"


@pytest.mark.slow
def test_vit_equals_the_graph_it_was_exported_as(params):
    """Embeddings, positions and all twelve blocks against ONNX's own evaluation of the original graph."""
    import onnx
    from onnx.reference import ReferenceEvaluator
    from onnx.utils import Extractor

    block = params["backbones"]["vit-s14-focus"] | {"blocks": [1, 6, 12]}
    preprocessing = {"crop": 1.0} | {k: block[k] for k in ("size", "interpolation", "mean", "std")}
    rng = np.random.default_rng(0)
    coarse = Image.fromarray(rng.integers(0, 256, (7, 7, 3), dtype=np.uint8))
    pixels = preprocess(coarse, preprocessing)[None]
    features, blocks = backbones.build(block, preprocessing)(pixels)
    assert features.shape == (1, 384) and blocks.shape == (1, 4, 384)

    model = onnx.load_model_from_string(weights.fetch(block["weights"], "vit")[1])
    last = "/backbone/layernorm/Add_1_output_0"
    model.graph.value_info.append(
        onnx.helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, None)
    )
    graph = Extractor(model).extract_model(["input_image"], [last])
    image = (pixels / 255 - block["mean"]) / block["std"]
    image = image.transpose(0, 3, 1, 2).astype(np.float32)
    expected = ReferenceEvaluator(graph).run(None, {"input_image": image})[0][:, 0]
    np.testing.assert_allclose(features, expected, atol=2e-5 * np.abs(expected).max())
    np.testing.assert_array_equal(blocks[:, 2], features)


@pytest.mark.parametrize(
    ("size", "crop"), [((32, 32), 1.0), ((300, 256), 0.875), ((256, 511), 0.875)]
)
def test_preprocessing_keeps_the_centre_square(size, crop):
    """A ramp along one side stays a ramp, cut to the middle share."""
    wide = size[0] >= size[1]
    length = max(size)
    ramp = np.linspace(0, 250, length)
    values = np.broadcast_to(ramp[None, :] if wide else ramp[:, None], size[::-1])
    image = Image.fromarray(values.astype(np.uint8))
    out = preprocess(image, PREPROCESSING | {"crop": crop})
    assert out.shape == (224, 224, 3) and out.dtype == np.uint8
    line = out[100, :, 0] if wide else out[:, 100, 0]
    kept = min(size) * crop / length * 250 * 223 / 224
    assert abs((float(line[-1]) - float(line[0])) - kept) < 6
    assert abs((float(line[-1]) + float(line[0])) / 2 - 125) < 3


def test_preprocessing_converts_modes():
    for mode in ("L", "RGBA", "P", "CMYK", "1"):
        assert preprocess(Image.new(mode, (9, 5)), PREPROCESSING).shape == (224, 224, 3)


def test_of_a_thin_image_only_what_is_kept_is_resized():
    """The bits of Pillow, which would make all of it: of the last one, eight gigabytes."""
    rng = np.random.default_rng(0)
    settings = PREPROCESSING | {"size": 32, "crop": 0.875}
    for interpolation in ("bicubic", "bilinear"):
        for width, height in ((200, 3), (3, 200), (1, 500), (500, 1)):
            image = Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8))
            long = max(width, height) * 36 // min(width, height)
            whole = (long, 36) if width > height else (36, long)
            left, top = ((side - 32) // 2 for side in whole)
            whole = image.resize(whole, Image.Resampling[interpolation.upper()])
            found = preprocess(image, settings | {"interpolation": interpolation})
            np.testing.assert_array_equal(found, whole.crop((left, top, left + 32, top + 32)))
    long = np.zeros((1, 40_000, 3), dtype=np.uint8)
    long[0, 20_000:] = 200
    found = preprocess(Image.fromarray(long), PREPROCESSING | {"crop": 0.875})
    assert found.shape == (224, 224, 3) and (found[0] == found).all()
    line = found[0, :, 0].astype(int)  # 7/8 of one pixel's width, over the edge from 0 to 200
    assert (
        line[0] < 15 and (np.diff(line) >= 0).all() and line[-1] > 185 and 99 <= line.mean() <= 101
    )


def test_presets(params):
    """What is fed to the network, by preset and data set; the name goes into the attributes."""
    blocks, sets = params["backbones"], params["datasets"]
    common = {"size": 224, "interpolation": "bicubic"}
    half = common | {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}
    unit = common | {"mean": [0.0, 0.0, 0.0], "std": [1.0, 1.0, 1.0]}
    for backbone, dataset, wanted, crop, preset in (
        ("vit-b16-in21k", "cub-200", half, 0.9, "timm"),
        ("vit-b16-in21k", "cifar-100", half, 1.0, "timm"),
        ("vit-b16-in21k-unit-range", "cub-200", unit, 0.875, "unit-range"),
        ("vit-b16-in21k-unit-range", "cifar-100", unit, 1.0, "unit-range"),
        ("vit-b16-in21k-resize-256-crop", "cifar-100", unit, 0.875, "resize-256-crop"),
    ):
        found = preprocessing_of(blocks[backbone], sets[dataset])
        assert found == wanted | {"crop": crop, "preset": preset}
    small = preprocessing_of(blocks["vit-s14-dinov2"], {})
    assert small["size"] == 224 and small["crop"] == 1.0
    own = {"timm_id": "x", "preprocessing": unit | {"crop": 0.5}}
    assert preprocessing_of(own, sets["cifar-100"]) == unit | {"crop": 0.5}
    lite = blocks["efficientnet-lite0"]
    assert "preset" not in preprocessing_of(lite, sets["cub-50"])
    assert preprocessing_of(lite, {})["crop"] == 0.875


def test_presets_that_cannot_be_had():
    with pytest.raises(ConfigError, match=r"of x: mean, std missing\. State it"):
        preprocessing_of({"timm_id": "x", "size": 224, "interpolation": "bicubic"}, {})
    with pytest.raises(ConfigError, match="timm states no preprocessing for resnet_of_mine"):
        preprocessing_of({"timm_id": "resnet_of_mine"}, {})


def test_every_backbone_of_the_table_is_known_to_timm(params):
    known = set(timm.list_models()) | set(timm.list_models(pretrained=True))
    for name, block in params["backbones"].items():
        assert block["timm_id"] in known, name


def test_unpinned_weights_of_the_hub_are_hashed(tmp_path, tiny, pixels, monkeypatch, caplog):
    import huggingface_hub

    path = tmp_path / "model.safetensors"
    save_file(tiny.state_dict(), path)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda *_, **__: str(path))
    block = {"timm_id": "vit_tiny_patch16_224.augreg_in21k", "timm_args": SMALL}
    network = backbones.build(block, preprocessing_of(block, {}))
    digest = pinned(path)["sha256"]
    assert network.weights_sha256 == digest and f"not pinned; sha256 is {digest}" in caplog.text
    assert network(pixels)[0].shape == (2, 48)


def test_timm_args_load_nothing(tmp_path):
    for arguments, error, message in (
        ({"checkpoint_path": "own.pth"}, WeightsError, "checkpoint_path: weights come from"),
        ({"pretrained": True}, WeightsError, "pretrained: weights come from"),
        ({"pretrained_cfg_overlay": {"file": "own.pth"}}, WeightsError, "pretrained_cfg_overlay"),
        ({"depht": 3}, ConfigError, "depht"),
    ):
        block = {"timm_id": "vit_tiny_patch16_224", "timm_args": arguments}
        with pytest.raises(error, match=message):
            backbones.build(block, {}, cache=str(tmp_path))
