r"""Formulas as MathML: a hook that mkdocs.yml names.

Pages have them as GitHub reads them: in a line as ``$`\lambda` $`` without the blank, alone in a fence named ``math``.
"""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

INLINE = re.compile(r"\$<code>(.*?)</code>\$", re.DOTALL)
ALONE = re.compile(r'<div class="math">(.*?)</div>', re.DOTALL)


def on_page_content(html: str, **_: Any) -> str:
    """Return a page with its formulas as MathML."""
    html = ALONE.sub(lambda match: convert(unescape(match[1]).strip(), display="block"), html)
    return INLINE.sub(lambda match: convert(unescape(match[1])), html)
