"""The wheel as it is installed, and a cluster that its jobs are submitted to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installed import Installed, install
from tests.servers import Cluster, standalone_cluster


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def cluster(installed: Installed, tmp_path: Path) -> Iterator[Cluster]:
    with standalone_cluster(installed.python, tmp_path) as running:
        yield running
