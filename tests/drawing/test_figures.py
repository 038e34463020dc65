"""What the figures draw, read back from the axes."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from drawing.conftest import compared
from figures import curves as curves_grid
from figures import dilution, drift, sessions, style
from sparcl.base.errors import InputError


def curves(ax):
    """Curves by label."""
    return {line.get_label(): line for line in ax.get_lines()}


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that cover each other, and texts that cover another panel or leave the page."""
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()
    texts: list[tuple[Text, Axes | None]] = [(text, None) for text in figure.texts]
    for legend in (*figure.legends, *(ax.get_legend() for ax in figure.axes)):
        texts += [(text, None) for text in legend.get_texts()] if legend else []
    for ax in figure.axes:
        texts += [(text, ax) for text in (*ax.texts, ax.title, ax._left_title, ax._right_title)]
        for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            texts += [(label, ax) for tick in ticks for label in (tick.label1, tick.label2)]
            texts.append((axis.label, ax))
    texts = [(text, ax) for text, ax in texts if text.get_text() and text.get_visible()]
    # An annotation's own extent holds its leader line too; here only the letters count.
    boxes = np.array([Text.get_window_extent(text, renderer).extents for text, _ in texts])
    names, panels = [text.get_text() for text, _ in texts], [ax for ax in figure.axes if ax.axison]

    def covering(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the pairs of indices of rows of a and b (x0, y0, x1, y1) with a common area."""
        return np.argwhere(
            (np.minimum(a[:, None, 2:], b[:, 2:]) > np.maximum(a[:, None, :2], b[:, :2])).all(
                axis=2
            )
        )

    out = (boxes[:, :2] < figure.bbox.min).any(axis=1) | (boxes[:, 2:] > figure.bbox.max).any(
        axis=1
    )
    bad = [(names[i], "page") for i in np.flatnonzero(out)]
    bad += [(names[i], names[j]) for i, j in covering(boxes, boxes) if i < j]
    frames = np.array([ax.bbox.extents for ax in panels]).reshape(-1, 4)
    others = [(i, j) for i, j in covering(boxes, frames) if texts[i][1] is not panels[j]]
    # keys of a figure as a whole may stand in a panel
    return bad + [(names[i], "panel") for i, j in others if texts[i][1] is not None]


def test_sessions_draws_the_mean_of_every_method(frames, options):
    figure = sessions.draw(compared(frames), options)
    assert len(figure.axes) == 6
    accuracy, gain, forgetting = figure.axes[:3]
    assert list(curves(accuracy)) == list(options["methods"])
    # rank 1, mean over repeats 0, 1, 2 is 1
    np.testing.assert_allclose(curves(accuracy)["acil"].get_ydata(), [87, 82, 77, 72])
    np.testing.assert_array_equal(curves(accuracy)["acil"].get_xdata(), [1, 2, 3, 4])
    # without `against` the first method, NCM, is what the others are compared with
    assert list(curves(gain)) == ["equal", "acil", "sparcl", "sparcl-paper"]
    np.testing.assert_allclose(curves(gain)["sparcl"].get_ydata(), 2)
    np.testing.assert_allclose(curves(forgetting)["sparcl"].get_ydata(), -2)
    np.testing.assert_array_equal(curves(forgetting)["sparcl"].get_xdata(), [2, 3, 4])
    band = gain.collections[1].get_paths()[0].vertices
    np.testing.assert_allclose([band[:, 1].min(), band[:, 1].max()], [1.5, 2.5])  # the interval
    titles = ["accuracy on seen (%)", "accuracy − NCM", "forgetting − NCM"]
    assert [ax.get_title(loc="left") for ax in figure.axes] == [*titles, "", "", ""]
    assert [ax.get_ylabel() for ax in figure.axes] == ["Set One", "", "", "Set Two", "", ""]
    assert [ax.get_xlabel() for ax in figure.axes] == [*[""] * 3, *["session"] * 3]
    assert accuracy.get_xlim()[0] < 1 and accuracy.get_xlim()[1] > 4
    assert {t.get_text() for t in accuracy.texts} == {
        "71.0 NCM",
        "72.0 ACIL",
        "73.0 SPARCL",
        "74.0 SPARCL-PAPER",
    }
    assert all(ax.get_legend() is None for ax in figure.axes)


def test_sessions_shows_only_what_is_asked_in_its_order(frames, options):
    figure = sessions.draw(compared(frames), options | {"show": ["sparcl", "not-in-suite", "ncm"]})
    assert [list(curves(ax)) for ax in figure.axes] == [
        ["sparcl", "ncm"],
        *[["equal", "ncm"]] * 2,
    ] * 2


def test_sessions_compares_with_the_method_that_is_asked_for(frames, options):
    told = options | {"show": ["ncm", "sparcl"], "against": "elsewhere | acil"}
    figure = sessions.draw(compared(frames), told)
    assert list(curves(figure.axes[0])) == ["ncm", "sparcl", "acil"]
    np.testing.assert_allclose(curves(figure.axes[1])["ncm"].get_ydata(), -1)
    assert figure.axes[2].get_title(loc="left") == "forgetting − ACIL"
    assert [t.get_text() for t in figure.axes[1].texts] == ["−1.0 NCM", "1.0 SPARCL"]


def test_drift_draws_mean_and_deviation_in_percent(frames, options):
    figure = drift.draw(frames, options)
    assert len(figure.axes) == 2
    ax = figure.axes[1]
    np.testing.assert_allclose(curves(ax)["sparcl"].get_ydata(), [10, 20 / 3, 5])
    np.testing.assert_array_equal(curves(ax)["sparcl"].get_xdata(), [2, 3, 4])
    band = ax.collections[1].get_paths()[0].vertices
    np.testing.assert_allclose([band[:, 1].min(), band[:, 1].max()], [4, 11])  # 1 point each way
    assert ax.get_yscale() == "log"
    # NCM stands still in some session of one order, and a logarithm has no place for that
    assert "ncm" not in curves(ax) and "no drift: NCM" in [t.get_text() for t in ax.texts]
    assert len(ax.collections) == len(options["methods"]) - 1
    assert figure.axes[0].get_ylabel() == "old-logit drift (% of logits' s.d.)"


def test_a_method_looks_the_same_in_every_figure(frames, options):
    for figure in (drift.draw(frames, options), sessions.draw(compared(frames), options)):
        for ax in figure.axes:
            for method, line in curves(ax).items():
                if method == "equal":
                    continue
                assert line.get_color() == style.line(method)["color"]
                named = [
                    t
                    for t in ax.texts
                    if t.get_text().split()[-1] == method.upper() and "no drift" not in t.get_text()
                ]
                assert [t.get_color() for t in named] == [style.ink(line.get_color())]


def test_settings_of_a_method_are_dashed_and_hollow_in_its_colour():
    for setting in ("acil-newest", "acil-official", "acil-paper", "ridge-newest", "sparcl-paper"):
        own = style.line("sparcl" if setting == "sparcl-paper" else "acil")
        assert own["markerfacecolor"] == own["color"] and own["linestyle"] == "-"
        fixed = {"linestyle": "--", "markerfacecolor": "white"}
        assert style.line(setting) == own | fixed
    assert style.line("acil-rhl-wide")["color"] == style.line("acil-rhl")["color"]


def test_looks_differ_even_without_colour():
    marks = [(look.linestyle, look.marker, look.hollow) for look in style.LOOKS.values()]
    assert len(set(marks)) == len(marks)
    assert [dashes for dashes, *_ in marks if dashes == "--"] == []  # those are of variants


def test_session_colours_darken():
    lightness = [np.dot(to_rgb(c), (0.2126, 0.7152, 0.0722)) for c in style.ramp(10)]
    assert (np.diff(lightness) < 0).all()
    assert lightness[0] < 0.8  # still visible on white


def test_dilution_draws_spectra_and_both_shrinks(frames, options):
    figure = dilution.draw(frames, options)
    assert len(figure.axes) == 6
    above, below, shift = figure.axes[:3]
    np.testing.assert_allclose(curves(shift)["in the core"].get_ydata(), 20)
    np.testing.assert_array_equal(curves(shift)["in the rest"].get_xdata(), [2, 3, 4])
    for ax in (above, below):  # the core's five modes are shaded
        (core,) = [patch for patch in ax.patches if patch.get_label() == "core"]
        assert core.get_x() + core.get_width() == 5
    assert list(curves(above)) == ["session 1", "session 2", "session 3", "session 4"]
    assert above.get_xscale() == above.get_yscale() == below.get_xscale() == "log"
    np.testing.assert_allclose(curves(above)["session 4"].get_ydata(), [400, 200, 80, 40, 8])
    # A zero eigenvalue has no place on a log axis and its mode is arbitrary.
    np.testing.assert_allclose(curves(above)["session 1"].get_xdata(), [1, 2, 5, 10])
    np.testing.assert_allclose(curves(below)["exact"].get_xdata(), [1, 2, 5, 10])
    np.testing.assert_allclose(curves(below)["exact"].get_ydata(), 0.2)
    np.testing.assert_allclose(curves(below)["shared basis (bound)"].get_ydata(), 0.4)
    assert [t.get_text() for t in above.texts] == ["session 1", "session 4"]
    assert above.get_xlim() == below.get_xlim()
    assert below.get_ylim()[0] == 0 and below.get_ylim()[1] >= 1
    assert above.get_ylabel() == "eigenvalue of $R$"
    question, formula = (text.get_text() for text in figure.texts)
    assert question.endswith("?") and "upper bound" in formula


def test_dilution_draws_the_first_class_order_alone_and_a_session_with_old_modes(frames, options):
    later = frames["spectrum"].assign(order=1994, eigenvalue=7.0, shrink_exact=0.3)
    both = frames | {"spectrum": pd.concat([later, frames["spectrum"]], ignore_index=True)}
    one, two = dilution.draw(frames, options), dilution.draw(both, options)
    for left, right in zip(one.axes, two.axes, strict=True):
        assert list(curves(left)) == list(curves(right))
        for name, curve in curves(left).items():
            np.testing.assert_array_equal(curve.get_xydata(), curves(right)[name].get_xydata())
    with pytest.raises(InputError, match=r"session 1.*2, 3, 4"):
        dilution.draw(frames, options | {"session": 1})


@pytest.mark.parametrize("module", [sessions, dilution, drift, curves_grid])
def test_no_text_covers_another_or_leaves_the_page(module, frames, options):
    """Four data sets fill a row; a fifth starts another, and no panel is left empty."""
    options["methods"] = {m: {"label": m, "short": m[:8]} for m in options["methods"]}
    options["groups"] = {"Means": ["ncm"], "Ridge": ["acil", "sparcl", "sparcl-paper"]}
    for count in {sessions: (1, 4, 5), curves_grid: (1, 4)}.get(module, (5,)):
        names = [f"s{i}" for i in range(count)]
        options["datasets"] = {name: {"label": f"Grocery-{name}"} for name in names}
        many = {
            key: pd.concat(frame.query("dataset == 'one'").assign(dataset=n) for n in names)
            for key, frame in frames.items()
        }
        figure = module.draw(compared(many), options)
        panels = {drift: count, curves_grid: 4 * count + 2}.get(module, 3 * count)
        assert len(figure.axes) == panels and all(ax.get_lines() for ax in figure.axes)
        assert overlapping(figure) == []
        assert figure.get_figwidth() == 6.875


# What is done to the frame `sessions` of the summaries, and what is then said of it.
INCOMPLETE = [
    (lambda rows: rows.query("not (method == 'acil' and dataset == 'two')"),
     r"12 row.*data set two, method acil, first order 1993"),
    (lambda rows: rows.query("not (method == 'ncm' and order == 1994 and session == 3)"),
     r"1 row.*data set one, method ncm, first order 1994, seed 1, session 3"),
    (lambda rows: rows.assign(forgetting=rows["forgetting"].where(rows["session"] != 3)),
     r"is empty for dataset one, method ncm, order 1993, session 3"),
    (lambda rows: rows.assign(seed=np.nan), "seed is empty for dataset one"),
    (lambda rows: pd.concat([rows, rows.iloc[:1]]), "twice"),
    (lambda rows: rows.drop(columns=["drift_scaled", "A_t"]), "no column"),
    (lambda rows: rows.assign(backbone=rows["backbone"].where(rows["dataset"] != "two", "other")),
     r"several values of backbone \(net, other\)"),
]  # fmt: skip


def test_incomplete_summaries_are_refused(frames, options):
    told, whole = compared(frames), frames["sessions"]
    for change, words in INCOMPLETE:
        with pytest.raises(InputError, match=words):
            sessions.draw(told | {"sessions": change(whole)}, options)
    with pytest.raises(InputError, match="'sessions' was not given"):
        sessions.draw({}, options)
    three = {"datasets": options["datasets"] | {"three": {"label": "Three"}}}
    for other, words in (
        (three, "no row of data set three"),
        ({"methods": options["methods"] | {"acil": {}}}, "acil: it has no label"),
        ({"show": ["typo"]}, r"none of the methods to show \(typo\)"),
    ):
        with pytest.raises(InputError, match=words):
            sessions.draw(told, options | other)


def test_one_of_two_backbones_and_methods_that_were_planned_are_drawn(frames, options):
    both = pd.concat([frames["sessions"], frames["sessions"].assign(backbone="other")])
    assert sessions.draw(compared(frames) | {"sessions": both}, options | {"backbone": "net"}).axes
    frames["sessions"] = frames["sessions"].query("method != 'acil'")
    drawn = sessions.draw(compared(frames), options | {"absent": ["acil"]})
    texts = [text.get_text() for ax in drawn.axes for text in ax.texts]
    assert any("SPARCL" in text for text in texts) and not any("ACIL" in text for text in texts)
