"""What mkdocs does besides: pages of the files outside ``docs/`` to which the documentation links.

On a forge such a link leads to the file. A site has no files beside it, so each becomes a page
under ``source/``: Markdown as it reads, anything else as a listing. ``mkdocs.yml`` names this hook.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<=\])\((?![a-z]+:|#|/)([^)\s#]+)(#[^)\s]*)?\)")
PROMISES = ("guarantees.md", "mended.md", "clocks.md")
HELD = re.compile(r"\s*Held\s+by\s+(`tests/[^`]+`(?:,\s+`tests/[^`]+`)*)\.?")
LANGUAGES = {".py": "python", ".json": "json", ".toml": "toml", ".sh": "sh"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file that is linked to, also by a page that is added here."""
    waiting = [
        *map(repository_path, files.documentation_pages()),
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ]
    while waiting:
        path = waiting.pop()
        if not path.startswith("docs/"):
            if files.get_file_from_path(page_of(path)) is not None:
                continue
            files.append(File.generated(config, page_of(path), content=shown(path)))
        if path.endswith(".md"):
            waiting += [each for each in targets(path) if not each.startswith("docs/")]
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let links to files of the repository lead to their pages, and fold the tests of promises."""
    if page.file.src_uri in PROMISES:
        markdown = HELD.sub(folded, markdown)
    here = repository_path(page.file)
    if not here.endswith(".md"):
        return markdown

    def led(link: re.Match[str]) -> str:
        path = resolved(here, link[1])
        if not (REPOSITORY / path).is_file() or (here + path).count("docs/") == 2:
            return link[0]
        target = posixpath.relpath(page_of(path), posixpath.dirname(page.file.src_uri))
        return f"({target}{link[2] or ''})"

    return LINK.sub(led, markdown)


def folded(held: re.Match[str]) -> str:
    """Return the tests that hold a promise as what opens on a click."""
    tests = re.findall(r"`([^`]+)`", held[1])
    listed = "".join(f"<li><code>{test}</code></li>" for test in tests)
    count = f"{len(tests)} tests" if len(tests) > 1 else "1 test"
    return f' <details class="held"><summary>{count}</summary><ul>{listed}</ul></details>'


def targets(path: str) -> Iterator[str]:
    """Give the files of the repository to which a Markdown file links."""
    for link in LINK.finditer((REPOSITORY / path).read_text(encoding="utf-8")):
        target = resolved(path, link[1])
        if (REPOSITORY / target).is_file():
            yield target


def resolved(here: str, link: str) -> str:
    """Return the path in the repository that a link in a file of it means."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(here), link))


def repository_path(file: File) -> str:
    """Return where the text of a page is in the repository."""
    if file.src_uri.startswith("source/"):
        path = file.src_uri.removeprefix("source/")
        return path if (REPOSITORY / path).is_file() else path.removesuffix(".md")
    return f"docs/{file.src_uri}"


def page_of(path: str) -> str:
    """Return the page of a file: itself in ``docs/``, else one under ``source/``."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path.removesuffix('.md')}.md"


def shown(path: str) -> str:
    """Return a file as Markdown."""
    file = REPOSITORY / path
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return text
    return f"# {path}\n\n`````{LANGUAGES.get(file.suffix, 'text')}\n{text.rstrip()}\n`````\n"
