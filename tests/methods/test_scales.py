"""Features of any scale, rank and precision: an answer in numbers, or an error that says why there is none."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.test_learners import SMALL
from reference.streams import Session, fit, synthetic_stream

from sparcl.algebra.sums import Gram
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.rows import unit
from sparcl.methods import build, hyperparameters
from study.sums.class_sums import ClassSums
from study.sums.sweep import learn_sums

STREAM = synthetic_stream(sessions=2)
PROBE = STREAM[1][0]
# no setting of these has the unit of a feature
SCALE_FREE = {
    "ncm", "gkeal", "loranpac", "klda", "klda-e", "lr-rgda", "anacp", "randumb", "fecam", "fenec", "srda", "teen",
    "c-fecam", "icarl-nme", "ridge-lda",
}  # fmt: skip
SESSION = r"^session [12]: "
POWERS = st.one_of(st.integers(-996, 996), st.integers(-40, 40))  # 2^996 is about 1e300


def scaled(power: int, dtype: type) -> list[Session]:
    with np.errstate(over="ignore"):
        return [((Phi * 2.0**power).astype(dtype), y) for Phi, y in STREAM]


@pytest.mark.parametrize("name", SMALL)
@settings(max_examples=20)
@given(
    power=POWERS,
    rank=st.integers(1, 16),
    copies=st.integers(1, 3),
    row=st.one_of(st.none(), POWERS),
    rows_of=st.sampled_from([np.float16, np.float32, np.float64]),
    works_in=st.sampled_from(["float32", "float64"]),
)
def test_numbers_or_an_error(
    name: str, power: int, rank: int, copies: int, row: int | None, rows_of: type, works_in: str
) -> None:
    hyper: dict[str, Any] = dict(SMALL[name])
    if "dtype" in hyperparameters(name):
        hyper["dtype"] = works_in
    learner = build(name, **hyper)
    said = ""
    for t, (Phi, y) in enumerate(scaled(power, np.float64)):
        Phi[:, rank:] = 0
        Phi[:copies] = Phi[0]
        with np.errstate(over="ignore"):
            if t == 1 and row is not None:
                Phi[-1] *= 2.0**row
            Phi = Phi.astype(rows_of)
        if not np.isfinite(Phi).all():
            with pytest.raises(InputError, match=rf"{SESSION}.*not finite"):
                learner.fit_session(Phi, y)
            return
        try:
            learner.fit_session(Phi, y)
        except (NumericalError, InputError) as refusal:
            said = str(refusal)
            break
    assert said.startswith(f"session {t + 1}: ") if said else np.isfinite(learner.logits(Phi)).all()


@cache
def unscaled(name: str) -> np.ndarray:
    return fit(build(name, **SMALL[name]), STREAM).predict(PROBE)


@pytest.mark.parametrize("name", sorted(SCALE_FREE))
@settings(max_examples=20)
@given(power=st.integers(-996, 996))
def test_a_scale_free_answer_has_no_scale(name: str, power: int) -> None:
    try:
        learner = fit(build(name, **SMALL[name]), scaled(power, np.float64))
    except NumericalError:
        assert abs(power) > 300
        return
    assert np.array_equal(learner.predict(PROBE * 2.0**power), unscaled(name))


@pytest.mark.parametrize("name", SMALL)
def test_a_scale_beyond_the_range_is_refused_before_anything_changes(name: str) -> None:
    learner = fit(build(name, **SMALL[name]), STREAM[:1])
    before = learner.logits(PROBE)
    for scale in (1e-300, 1e-160, 1e153, 1e300):
        with pytest.raises(NumericalError, match=rf"{SESSION}the largest feature .*norm"):
            learner.fit_session(STREAM[1][0] * scale, STREAM[1][1])
        with pytest.raises(NumericalError, match=r"to be scored: the largest feature .*norm"):
            learner.logits(PROBE * scale)
    assert np.array_equal(learner.logits(PROBE), before)
    learner.fit_session(*STREAM[1])


# methods of sums of squares, in which one row can be all there is: not trained by gradients, and without a map or norm
# that bounds each row
BOUNDED = (SCALE_FREE - {"loranpac", "randumb"}) | {"foal", "slca-frozen", "ft-head", "derpp-head"}
SUMMED = sorted(SMALL.keys() - BOUNDED)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_beside_which_the_others_vanish_is_an_error(dtype: type) -> None:
    Phi, y = scaled(0, dtype)[0]
    Phi[3] *= dtype(1e20)
    for name in SUMMED:
        with pytest.raises(NumericalError, match=rf"{SESSION}rows differ .*damaged row.*norm"):
            build(name, **SMALL[name]).fit_session(Phi, y)


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_sessions_of_different_scales_are_an_error(factor: float) -> None:
    text = r"rows differ .*different scales"
    second = STREAM[1][0] * factor, STREAM[1][1]
    with pytest.raises(NumericalError, match=rf"session 2: {text}"):
        fit(build("acil"), [STREAM[0], second])
    one, other = (fit(build("acil"), [part]) for part in (STREAM[0], second))
    with pytest.raises(NumericalError, match=text):
        one.merge(other)


@pytest.mark.parametrize("name", ["foal", "slca-frozen", "derpp-head"])
def test_features_that_vanish_beside_the_settings(name: str) -> None:
    with pytest.raises(NumericalError, match=rf"{SESSION}different features get the same scores"):
        fit(build(name, **SMALL[name]), [(Phi * 1e-30, y) for Phi, y in STREAM])


def test_sums_that_overflow_are_seen_without_a_row() -> None:
    learner = build("acil", ridge=1e-300)
    learner.accumulate(*STREAM[0])
    learner.sums.C[0, 0] = np.inf
    with pytest.raises(NumericalError, match=r"session 1: The scores of row 0 are not finite"):
        learner.solve()
    with pytest.raises(NumericalError, match="An earlier session failed"):
        learner.solve()
    sums = ClassSums(16, 12)
    sums.accumulate(*STREAM[0])
    sums.sums[STREAM[0][1][0]] = np.inf
    with pytest.raises(NumericalError, match=r"session 1: The scores of row 0 are not finite"):
        learn_sums(build("acil"), np.unique(STREAM[0][1]), sums)


def test_a_pivot_of_rounding_is_no_pivot() -> None:
    # the second pivot is exactly one unit in the last place of its diagonal entry
    A = np.array([[1.0, 1.0], [1.0, 1.0 + np.finfo(float).eps]])
    with pytest.raises(NumericalError, match="not positive definite"), Gram.wrap(A).factored(1e-30):
        pass


def test_unit_norm_at_any_scale() -> None:
    rows = np.vstack([PROBE, np.zeros(16)])
    for scale in (1e-300, 1e-170, 1e170, 1e300):
        assert unit(rows * scale) == pytest.approx(unit(rows), abs=1e-14)
