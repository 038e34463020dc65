"""The picture of the method: its boxes, inside the page, no text over another."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import FancyBboxPatch, Rectangle

from drawing.test_figures import overlapping
from figures import overview, style


def test_every_text_lies_in_its_box_and_none_covers_another() -> None:
    figure = overview.draw({}, {})
    assert figure.get_figwidth() == style.PAGE
    assert overlapping(figure) == []
    renderer = FigureCanvasAgg(figure).get_renderer()
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.texts[:2]] == ["session $t$", "sums over sessions"]
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    assert len(boxes) == 8
    written = {text.get_text(): text for text in ax.texts}
    for box in boxes:
        outer = box.get_window_extent(renderer)
        inner = written[box.get_label()].get_window_extent(renderer)
        assert outer.x0 < inner.x0 and inner.x1 < outer.x1, box.get_label()
        assert outer.y0 < inner.y0 and inner.y1 < outer.y1, box.get_label()
    assert not any(a.get_bbox().overlaps(b.get_bbox()) for a in boxes for b in boxes if a is not b)


def test_the_core_is_the_first_modes() -> None:
    (ax,) = overview.draw({}, {}).axes
    colors = [p.get_facecolor() for p in ax.patches if type(p) is Rectangle]
    assert len(colors) == len(overview.SPECTRUM)
    assert len(set(colors[: overview.HELD])) == len(set(colors[overview.HELD :])) == 1
    assert colors[0] != colors[-1]
