"""The project's settings, free to change."""

from typing import Any

import pytest


@pytest.fixture
def config(params: dict[str, Any]) -> dict[str, Any]:
    return params
