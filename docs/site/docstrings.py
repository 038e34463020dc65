"""How this project's docstrings are read for the reference: a Griffe extension that mkdocs.yml names.

They follow numpydoc but for two things: what stands behind the colon of a parameter is its description, since the type
is in the signature, and what is returned is a sentence.
"""

import re
from textwrap import dedent, indent
from typing import Any

from griffe import Extension, Object

SECTION = re.compile(r"^(\w[\w ]*)\n(-{3,}) *$", re.MULTILINE)
NAMES = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.*)$")
ROLE = re.compile(r":(func|class|meth|mod|attr|data|exc):`(~?)([\w.]+)`")
SENTENCES = {"Returns", "Yields"}
LISTS = {"Parameters", "Attributes", "Other Parameters"}


class Docstrings(Extension):
    """Rewrites each docstring before it is parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = rewritten(obj.docstring.value)


def rewritten(text: str) -> str:
    """Return a docstring as numpydoc and Markdown have it."""
    text = ROLE.sub(_link, text)
    parts = SECTION.split(text)
    result = parts[0]
    for title, line, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        if title in SENTENCES:
            body = f"\n:\n{indent(dedent(body).strip(), '    ')}"
        elif title in LISTS:
            body = "\n".join(map(_described, body.splitlines()))
        result += f"{title}\n{line}{body}\n\n"
    return result


def _link(match: re.Match[str]) -> str:
    """Return a name as code, and as a link where it is whole; constants have no place of their own to lead to."""
    kind, short, target = match.groups()
    name = target.rpartition(".")[2] if short else target
    leads = target.startswith("sparcl.") and kind != "data"
    return f"[`{name}`][{target}]" if leads else f"`{name}`"


def _described(line: str) -> str:
    """Return a line of a list with what stands behind the colon below it."""
    found = [NAMES.match(part) for part in re.split(r"; (?=\w+ : )", line)]
    return "\n".join(f"{m[1]}\n    {m[2]}" for m in found if m) if all(found) else line
