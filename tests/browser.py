"""Chromium without a window, offline, that keeps what its console and its network say."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium import webdriver

ARGUMENTS = (
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync"),
    *("disable-background-networking", "disable-component-update", "disable-dev-shm-usage"),
)
WIDTHS = (400, 900, 1400)


@contextmanager
def chromium(profile: Path) -> "Iterator[webdriver.Chrome]":
    """Start a browser with a profile of its own; without one on this machine the test is skipped, and says so."""
    found = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if missing := [name for name, path in found.items() if path is None]:
        pytest.skip(f"{' and '.join(missing)} not found: apt-get install chromium chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = found["chromium"]
    for argument in (*ARGUMENTS, f"user-data-dir={profile}"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(found["chromedriver"]))
    try:
        yield driver
    finally:
        driver.quit()


def resize(driver: "webdriver.Chrome", width: int) -> None:
    """Give the page a width in CSS pixels; a window may not be so narrow."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def requested(driver: "webdriver.Chrome") -> set[str]:
    """Return the addresses that were asked for since the last call, without data, files and its own pages."""
    told = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = (event for event in told if event["method"] == "Network.requestWillBeSent")
    addresses = {event["params"]["request"]["url"] for event in sent}
    return {
        address for address in addresses if not address.startswith(("data:", "file:", "chrome:"))
    }
