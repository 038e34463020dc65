"""The project's settings, free to change, and the schemas."""

from typing import Any

import pytest
from copies import ROOT
from referencing import Registry

from study.pipeline import configuration


@pytest.fixture(scope="session")
def schemas() -> Registry:
    return configuration.read_schemas(ROOT / configuration.SCHEMAS)


@pytest.fixture
def config(params: dict[str, Any]) -> dict[str, Any]:
    return params
