"""A learner that normalises sees what it would see of rows that somebody has normalised, to the bit."""

from pathlib import Path

import numpy as np
import pytest
from methods.test_learners import SMALL
from reference.streams import synthetic_stream

import sparcl
from sparcl import methods
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.rows import unit
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner

SESSIONS = synthetic_stream(sessions=3, classes=3, samples=12, dimension=20)
PROBE = np.random.default_rng(0).standard_normal((9, 20))
NAMES = ("acil", "sparcl", "sparcl-plus", "sparcl-plus-1", "ncm", "loranpac", "dsal", "derpp-head")
CASES = {name: SMALL.get(name, {}) for name in NAMES}


def rescaled(Phi: np.ndarray) -> np.ndarray:
    """Rows of other lengths, by powers of two: their directions keep every bit."""
    return Phi * 2.0 ** (np.arange(len(Phi)) % 9 - 4)[:, None]


def fitted(learner: Learner, prepare=rescaled) -> Learner:
    for Phi, y in SESSIONS:
        learner.fit_session(prepare(Phi), y)
    return learner


@pytest.mark.parametrize("method", CASES)
def test_rows_of_any_length_give_the_scores_of_unit_rows(method: str, tmp_path: Path) -> None:
    own = fitted(sparcl.build(method, **CASES[method]))
    prepared = fitted(methods.build(method, **CASES[method]), unit)
    scores = prepared.logits(unit(PROBE))
    assert np.array_equal(own.logits(rescaled(PROBE)), scores)
    assert not np.array_equal(own.logits(PROBE), prepared.logits(PROBE)) or method == "ncm"
    own.save(tmp_path / "own.npz")
    again = type(own).load(tmp_path / "own.npz")
    assert np.array_equal(again.logits(rescaled(PROBE)), scores)


def test_what_a_person_reads_is_of_the_rows_that_come_in() -> None:
    own = fitted(sparcl.build("linear-relu", width=30, ridge=0.1))
    prepared = fitted(methods.build("linear-relu", width=30, ridge=0.1), unit)
    assert isinstance(own, Composed) and isinstance(prepared, Composed)
    for read in ("expand", "core_rows"):
        ours, theirs = getattr(own, read)(rescaled(PROBE)), getattr(prepared, read)(unit(PROBE))
        assert np.array_equal(ours, theirs)
    assert np.array_equal(own.scores(rescaled(PROBE))[0, 0], prepared.scores(unit(PROBE))[0, 0])


def test_settings_say_it_and_unlike_learners_do_not_merge() -> None:
    own, raw = (fitted(sparcl.build("acil", normalize=flag)) for flag in (True, False))
    assert "normalize=True" in repr(own) and "normalize=False" in repr(raw)
    assert "tau=0.5" in repr(sparcl.build("sparcl", tau=0.5))
    assert "normalize=False" in repr(methods.build("acil"))
    with pytest.raises(InputError, match=r"differ in normalize \(True and False\)"):
        own.merge(raw)
    with pytest.raises(InputError, match="normalize = 1: it must be true or false"):
        sparcl.build("acil", normalize=1)


def test_rows_out_of_range_come_into_it_and_bad_ones_are_refused_as_before() -> None:
    Phi, y = SESSIONS[0]
    sparcl.build("acil").fit_session(Phi * 1e200, y)
    with pytest.raises(NumericalError, match="the largest feature is"):
        sparcl.build("acil", normalize=False).fit_session(Phi * 1e200, y)
    bad = Phi.copy()
    bad[4, 2] = np.nan
    learner = sparcl.build("acil")
    with pytest.raises(InputError, match=r"not finite \(first: row 4\)"):
        learner.fit_session(bad, y)
    assert learner.session == 0
