"""Seeded bugs of ``cli/demo.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_demo.py",
    "tests/unit/test_cli_doctor.py",
    "tests/unit/test_cli_quick.py",
)

BUGS = (
    Bug(
        "help-opens-the-store",
        "The help of the demo loads what opens a store.",
        "if TYPE_CHECKING:",
        "if not TYPE_CHECKING:",
    ),
    Bug(
        "demo-fills-a-directory-that-is-used",
        "The demo makes its store among the files of a directory.",
        "if directory.is_dir() and any(directory.iterdir()):",
        "if False:",
    ),
    Bug(
        "a-demo-in-a-directory-of-a-tilde",
        "demo --root=~/flights makes its store in a directory that is named ~.",
        "root = app.settings.root  # with a home directory for ~",
        'root = app.global_options.get("root")',
    ),
    Bug(
        "a-demo-of-an-unnamed-project",
        "The commands that a demo prints do not find what it has made in another project.",
        'if "project" in app.global_options:',
        "if False:",
    ),
    Bug(
        "a-demo-beside-an-endpoint",
        "The commands that a demo prints are refused where the environment names a server.",
        "for name in others if app.environment.get(name)]",
        "for name in others if name in ()]",
    ),
)
