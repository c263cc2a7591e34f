"""Records a terminal session for the documentation: real commands, on a real terminal, as an SVG.

``python docs/record_session.py`` writes ``assets/demo-session.svg`` anew. Each command runs in a
pseudo-terminal of 92 columns in a new directory, and what it sends there is drawn.
"""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.text import Text

DRAWN = Path(__file__).resolve().parent / "assets/demo-session.svg"
COLUMNS = 92
SESSION = (
    "pubsub-delta demo",
    "export PUBSUB_DELTA_ROOT=./pubsub-demo",
    "pubsub-delta topics list",
    "pubsub-delta subscriptions pull delays --limit=2 --auto-ack",
    "pubsub-delta subscriptions watch delays --count=1",
    "pubsub-delta topics publish fligts --message=late",
    "pubsub-delta doctor",
)

FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""  # noqa: E501
"""Rich's own, without fonts that a reader's browser would fetch from elsewhere."""


def record(session: tuple[str, ...] = SESSION) -> str:
    """Run commands one after the other, and return what a terminal shows of them as an SVG."""
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="standard"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = surroundings(Path(folder))
        for command in session:
            console.print(Text.assemble(("$ ", "green"), (command, "bold")))
            name, _, value = command.removeprefix("export ").partition("=")
            if command.startswith("export "):
                environment[name] = value
            else:
                shown = run(shlex.split(command), Path(folder), environment)
                console.print(Text.from_ansi(shown.rstrip("\n")))
            console.print()
    return console.export_svg(title="pubsub-delta", code_format=FORMAT, unique_id="session")


def surroundings(folder: Path) -> dict[str, str]:
    """Return an environment with the program on the path, and nobody's settings."""
    program = folder / "bin/pubsub-delta"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom pubsub_delta.cli.main import main\nmain()\n")
    program.chmod(0o755)
    kept = {name: os.environ[name] for name in ("JAVA_HOME", "PYTHONPATH") if name in os.environ}
    path = f"{program.parent}:{os.environ['PATH']}"
    size = {"COLUMNS": str(COLUMNS), "LINES": "60", "TERM": "xterm-256color"}
    return {**kept, **size, "PATH": path, "HOME": str(folder), "LANG": "C.UTF-8"}


def run(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run a command on a terminal of its own, and return what it sent there."""
    shown, inner = pty.openpty()
    with subprocess.Popen(  # noqa: S603 - the commands above
        words, cwd=folder, env=environment, stdin=inner, stdout=inner, stderr=inner
    ) as process:
        os.close(inner)
        told = b""
        with suppress(OSError):  # so a terminal ends that nobody writes to any more
            while part := os.read(shown, 65536):
                told += part
        process.wait()
    os.close(shown)
    text = on_screen(told.decode())
    return text.replace(f"{folder.resolve()}/", "~/").replace(str(folder.resolve()), "~")


def on_screen(sent: str) -> str:
    """Return what stands on a terminal in the end, where lines are written over."""
    lines, row = [""], 0
    for part in re.split(r"(\r?\n|\r|\x1b\[1A|\x1b\[2K|\x1b\[\?25[hl])", sent):
        if part.endswith("\n"):
            row += 1
            lines += [""] * (row == len(lines))
        elif part == "\x1b[1A":
            row = max(0, row - 1)
        elif part == "\x1b[2K":
            lines[row] = ""
        elif not part.startswith(("\r", "\x1b[?")):
            lines[row] += part
    return "\n".join(lines)


if __name__ == "__main__":
    DRAWN.write_text(record(), encoding="utf-8")
