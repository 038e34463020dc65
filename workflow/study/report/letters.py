r"""Which characters a label or caption may hold, and how LaTeX writes each of them in ASCII.

A text that a person writes stands in LaTeX, Markdown, HTML and figures. All of ASCII can be printed
in all of them; of other characters those listed here, each of which the figures' font has too.
"""

import unicodedata

from sparcl.base.errors import InputError

ASCII = {c: "\\" + c for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\^{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
GREEK = dict(zip("αβγδεζηθικλμνξπρςστυφχψω", (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho varsigma sigma "
    "tau upsilon varphi chi psi omega"
).split(), strict=True)) | {
    "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma",
    "Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
MATHS = GREEK | {
    "±": "pm", "×": "times", "÷": "div", "·": "cdot", "−": "mathord{-}", "≤": "leq", "≥": "geq", "≠": "neq",
    "≈": "approx", "∞": "infty", "√": "surd", "∈": "in", "∑": "sum", "∂": "partial", "→": "rightarrow",
    "←": "leftarrow", "↑": "uparrow", "↓": "downarrow", "‖": "Vert", "µ": "mu",
}  # fmt: skip
OTHER = {
    "Ā": r"$\bar A$",
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "°": r"$^{\circ}$",
    "²": "$^{2}$",
    "³": "$^{3}$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "§": r"\S{}",
    "©": r"\copyright{}",
    "\N{NO-BREAK SPACE}": "~",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "đ": r"\dj{}",
    "Đ": r"\DJ{}",
    "ı": r"\i{}",
}
# Combining mark -> the command that sets it on a letter.
ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": "`",
    "\N{COMBINING ACUTE ACCENT}": "'",
    "\N{COMBINING CIRCUMFLEX ACCENT}": "^",
    "\N{COMBINING TILDE}": "~",
    "\N{COMBINING MACRON}": "=",
    "\N{COMBINING BREVE}": "u",
    "\N{COMBINING DOT ABOVE}": ".",
    "\N{COMBINING DIAERESIS}": '"',
    "\N{COMBINING RING ABOVE}": "r",
    "\N{COMBINING DOUBLE ACUTE ACCENT}": "H",
    "\N{COMBINING CARON}": "v",
    "\N{COMBINING CEDILLA}": "c",
    "\N{COMBINING OGONEK}": "k",
}
LATIN = [chr(code) for code in range(0xC0, 0x180)]


def _accented(letter: str) -> str | None:
    """Return a Latin letter with one accent as LaTeX, or None."""
    base, *marks = [*unicodedata.normalize("NFD", letter)]
    if len(marks) != 1 or marks[0] not in ACCENTS or not base.isascii():
        return None
    inner = {"i": r"\i", "j": r"\j"}.get(base, base) if marks[0] not in "\u0327\u0328" else base
    return rf"\{ACCENTS[marks[0]]}{{{inner}}}"


# Every character beyond plain ASCII that can be printed, and what it is in LaTeX.
LATEX = (
    ASCII
    | {letter: latex for letter in LATIN if (latex := _accented(letter))}
    | {char: rf"$\{name}$" for char, name in MATHS.items()}
    | OTHER
)


def unprintable(text: str) -> list[str]:
    """Return the characters of a text that LaTeX or the figures' font cannot print, each once."""
    return list(dict.fromkeys(c for c in text if not c.isascii() and c not in LATEX))


def named(char: str) -> str:
    """Return a character with its number and its name in Unicode, for messages."""
    return f"'{char}' (U+{ord(char):04X} {unicodedata.name(char, 'without a name')})"


def escape(plain: str) -> str:
    """Return plain text as LaTeX text, which is ASCII.

    Raises
    ------
    InputError
        A character is none that LaTeX prints; the message names it.
    """
    if foreign := unprintable(plain):
        raise InputError(
            f"the text '{plain}' holds {', '.join(map(named, foreign))}, which tables and figures cannot "
            "print; write it in words"
        )
    return "".join(LATEX.get(c, c) for c in plain)
