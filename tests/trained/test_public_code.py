"""Numbers of the authors' public code on tiny inputs.

``public_code.json`` has inputs and outputs of CODA-Prompt's and DualPrompt's ``forward`` (GT-RIPL/CODA-Prompt, commit
6417d4f), of EASE's ``solve_sim_reset`` and of the first step of SLCA's ``_stage2_compact_classifier`` with three draws
per class (LAMDA-PILOT, commit 5240714), each run once on a CPU with normal draws rounded to two decimals.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from study.trained import losses
from study.trained.methods.coda_prompt import CodaPrompt
from study.trained.methods.ease import complemented
from study.trained.methods.slca import Slca

PUBLIC = json.loads(Path(__file__).with_name("public_code.json").read_text(encoding="utf-8"))


def given(method: str) -> dict[str, Any]:
    """Return inputs and outputs of a method, nested lists as tensors."""
    return {
        name: torch.tensor(value) if isinstance(value, list) else value
        for name, value in PUBLIC[method].items()
    }


def test_coda_prompts_prefix_and_penalty() -> None:
    of = given("coda")
    pools = {
        name: [of[name][None, :2], of[name][None, 2:]] for name in ("keys", "focus", "prompts")
    }
    learner = SimpleNamespace(**pools, setup=SimpleNamespace(device="cpu"))
    weights = CodaPrompt.weights(learner, of["query"])[:, 0]
    torch.testing.assert_close(torch.einsum("bm,mld->bld", weights, of["prompts"]), of["prefix"])
    assert float(CodaPrompt.penalty(learner)) == pytest.approx(of["penalty"], rel=1e-6)


def test_dualprompts_slots_and_loss_of_a_key() -> None:
    of = given("dualprompt")
    near = losses.cosine(of["query"], of["keys"])
    assert torch.equal(near.argmax(dim=1), of["slots"])
    assert float((1 - near[:, 1]).sum()) == pytest.approx(of["loss of key 1"], rel=1e-6)


def test_eases_prototypes_that_cannot_be_measured() -> None:
    of = given("ease")
    torch.testing.assert_close(
        complemented(of["measured"], of["sizes"].tolist()), of["complemented"]
    )


def test_slcas_alignment() -> None:
    of = given("slca")
    loss = Slca.alignment_loss(
        SimpleNamespace(sizes=of["sizes"].tolist()), of["logits"], of["columns"]
    )
    assert float(loss) == pytest.approx(of["loss"], rel=1e-6)
