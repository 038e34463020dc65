"""The method in one picture: what is summed, split, frozen and solved again."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from figures import style
from figures.frames import Frames, Options

HEIGHT = 2.3  # inches; the axes count in inches too
CORE, REST = style.LOOKS["sparcl"].color, style.QUIET
MAP, PLAIN = style.LOOKS["sparcl-plus"].color, style.INK
# An invented spectrum, whose leading eigenvalues are the core.
SPECTRUM = [0.62 * 0.74**i + 0.02 for i in range(14)]
HELD = 4
MIDDLE, ABOVE, BELOW = 1.12, 1.62, 0.62
SUMS = "$R$ += $\\Phi_t^{\\mathrm{T}}\\Phi_t$\n$C$ += $\\Phi_t^{\\mathrm{T}}Y_t$"
FROZEN = "core, frozen:\n$U_c^{\\mathrm{T}}W=U_c^{\\mathrm{T}}W_{t-1}$"
SOLVED = "residual, solved again:\n$(U_r^{\\mathrm{T}}AU_r)\\,Z=U_r^{\\mathrm{T}}(C-AU_cG)$"
MAPPED = r"SPARCL+ 1: also $\mathrm{relu}(P\,u)$ of the residual $u$"
LOGITS = "$fW$\nold: core + rest\nnew: $A^{-1}C$"
# Boxes left of the spectrum: centre, size, text, colour, how strongly it fills them, and whether the text is small.
BEFORE = (
    ((0.58, ABOVE), (0.92, 0.34), "images", PLAIN, 0.0, False),
    ((0.58, MIDDLE), (0.92, 0.34), "frozen backbone", PLAIN, 0.1, False),
    ((0.58, BELOW), (0.92, 0.34), r"features $\Phi_t$", PLAIN, 0.0, False),
    ((1.78, MIDDLE), (0.98, 0.62), SUMS, PLAIN, 0.0, False),
)
# Boxes below and right of it.
AFTER = (
    ((4.83, ABOVE), (1.5, 0.5), FROZEN, CORE, 0.2, False),
    ((4.83, BELOW), (1.5, 0.5), SOLVED, REST, 0.16, False),
    ((6.3, MIDDLE), (0.86, 0.5), LOGITS, PLAIN, 0.0, True),
    ((3.12, 0.2), (2.26, 0.26), MAPPED, MAP, 0.16, True),
)
# Start, end and colour.
ARROWS = (
    ((0.58, ABOVE - 0.17), (0.58, MIDDLE + 0.17), PLAIN),
    ((0.58, MIDDLE - 0.17), (0.58, BELOW + 0.17), PLAIN),
    ((1.04, BELOW), (1.29, MIDDLE - 0.12), PLAIN),
    ((2.27, MIDDLE), (2.56, MIDDLE), PLAIN),
    ((3.7, 1.3), (4.08, ABOVE - 0.06), CORE),
    ((3.7, 0.96), (4.08, BELOW + 0.08), REST),
    ((5.58, ABOVE), (5.87, MIDDLE + 0.1), CORE),
    ((5.58, BELOW), (5.87, MIDDLE - 0.1), REST),
    ((4.25, 0.2), (4.6, BELOW - 0.25), MAP),
)
HEAD = {
    "arrowstyle": "-|>,head_width=0.14,head_length=0.28",
    "lw": 0.9,
    "shrinkA": 0,
    "shrinkB": 0.5,
}


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw the method from features to logits; no data are read.

    Parameters
    ----------
    frames : mapping
        Not used.
    options : mapping
        Not used.

    Returns
    -------
    Figure
        One panel without axes, in inches.
    """
    figure = Figure(figsize=(style.PAGE, HEIGHT))
    ax = style.field(figure, 0, 0, style.PAGE, HEIGHT, HEIGHT)
    for x, text in (
        (0.58, "session $t$"),
        (1.78, "sums over sessions"),
        (3.12, "spectrum of old $R$"),
        (4.83, "weights of old classes"),
        (6.3, "logits"),
    ):
        ax.text(x, 2.14, text, ha="center", va="center", color=style.QUIET)
    for box in BEFORE:
        _box(ax, *box)
    _spectrum(ax, (2.62, 0.84))
    for box in AFTER:
        _box(ax, *box)
    for start, end, color in ARROWS:
        ax.annotate("", end, start, arrowprops={**HEAD, "color": color})
    return figure


def _box(
    ax: Axes,
    centre: tuple[float, float],
    size: tuple[float, float],
    text: str,
    color: str,
    fill: float,
    small: bool,
) -> None:
    """Draw a rounded box with its text."""
    (x, y), (width, height) = centre, size
    corner = (x - width / 2, y - height / 2)
    shape = "round,pad=0,rounding_size=0.05"
    face = (color, fill) if fill else "white"
    ax.add_patch(
        FancyBboxPatch(corner, width, height, boxstyle=shape, fc=face, ec=color, lw=0.8, label=text)
    )
    size_of_text = style.LABEL_SIZE if small else style.LABEL_SIZE + 0.7
    ax.text(x, y, text, ha="center", va="center", fontsize=size_of_text, linespacing=1.35)


def _spectrum(ax: Axes, corner: tuple[float, float]) -> None:
    """Draw eigenvalues as bars: those that hold the share tau of the energy are the core."""
    x, y = corner
    step = 0.07
    for i, value in enumerate(SPECTRUM):
        color = CORE if i < HELD else REST
        ax.add_patch(Rectangle((x + i * step, y), 0.78 * step, value, fc=color, lw=0, label="mode"))
    ax.plot([x - 0.03, x + len(SPECTRUM) * step], [y, y], color=style.QUIET, lw=0.6)
    for first, last, text, color in (
        (0, HELD, "$U_c$", CORE),
        (HELD, len(SPECTRUM), "$U_r$", REST),
    ):
        middle = x + step * (first + last - 0.22) / 2
        ax.text(middle, y - 0.1, text, ha="center", va="center", color=color, fontsize=7)
    style.note(ax, x + 0.4, y + 0.62, r"share $\tau$ of the energy", CORE, ha="left", va="center")
