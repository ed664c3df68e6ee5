"""Make the documentation site: ``python tools/website.py`` writes build/site/index.html.

The pages are those of docs/, which read as well where they lie; this adds the menu, the search and
the Python interface, and checks every link between pages. A warning is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / "build" / "site"

# The menu: caption, then pages in order. A page of docs/ that is in none is an error.
MENU_PATTERNS: dict[str, list[str]] = {
    "Start": ["tutorial/*", "howto/*"],
    "Background": ["background/*"],
    "Reference": ["glossary", "reference/*"],
    "Evidence": ["validation", "studies/*"],
    "Project": ["architecture", "changelog", "decisions/*"],
}
# In front of the others of their folder, in this order.
FIRST_PAGES = [
    "reference/scenario-language",
    "reference/scenario-keys",
    "reference/results",
    "reference/results-columns",
    "reference/measures",
]
# From outside docs/, where the site has them.
PAGES_OUTSIDE_DOCS = {"ARCHITECTURE.md": "architecture.md", "CHANGELOG.md": "changelog.md"}
SPHINX_SETTINGS: dict[str, object] = {
    "project": "Trunkline",
    "author": "the Trunkline authors",
    "copyright": "the Trunkline authors",
    "extensions": ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"],
    "html_theme": "furo",
    "html_title": "Trunkline",
    "html_show_sphinx": False,
    "html_copy_source": False,
    "html_show_sourcelink": False,
    "myst_heading_anchors": 4,
    "autodoc_typehints": "none",
    "napoleon_use_rtype": False,
}
LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")
PYTHON_PAGE = """\
# Python

What the package `trunkline` exports; this page is made from its documentation strings.

```{{eval-rst}}
{entries}
```
"""


def stage_pages(folder: Path) -> None:
    """Lay out the pages as the site has them. folder: Where."""
    shutil.copytree(DOCS, folder, dirs_exist_ok=True)
    (folder / "README.md").rename(folder / "index.md")
    for name, place in PAGES_OUTSIDE_DOCS.items():
        shutil.copy(ROOT / name, folder / place)
    (folder / "reference" / "python.md").write_text(make_python_page(), encoding="utf-8")
    for page in sorted(folder.rglob("*.md")):
        staged_path = page.relative_to(folder)
        source_folder = (
            ROOT if str(staged_path) in PAGES_OUTSIDE_DOCS.values() else (DOCS / staged_path).parent
        )
        text = page.read_text("utf-8")
        text = LINK.sub(partial(rewrite_link, home=source_folder, page=page, folder=folder), text)
        page.write_text(text, encoding="utf-8")
    index = folder / "index.md"
    index.write_text(index.read_text("utf-8") + format_menu(folder), encoding="utf-8")


def rewrite_link(found: re.Match[str], home: Path, page: Path, folder: Path) -> str:
    """A link of a page as the site needs it.

    found: Target and anchor.
    home: Folder of the page in the repository.
    page: The page on the site.
    folder: The site's sources.
    Returns: A file outside docs/ is taken along, so that the link leads somewhere.
    """
    target, anchor = found["target"], found["anchor"] or ""
    if "://" in target or target.startswith("mailto:"):
        return found[0]
    real_path = (home / target).resolve()
    if real_path.is_relative_to(DOCS):
        staged_path = folder / real_path.relative_to(DOCS)
        staged_path = folder / "index.md" if real_path == DOCS / "README.md" else staged_path
    else:
        staged_path = folder / "sources" / real_path.relative_to(ROOT)
        if str(real_path.relative_to(ROOT)) in PAGES_OUTSIDE_DOCS:
            staged_path = folder / PAGES_OUTSIDE_DOCS[str(real_path.relative_to(ROOT))]
        elif real_path.is_file():
            staged_path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(real_path, staged_path)
        elif real_path.is_dir():
            # A folder has no page: its list of files stands for it.
            staged_path = staged_path.with_name(f"{staged_path.name}.txt")
            staged_path.parent.mkdir(parents=True, exist_ok=True)
            names = sorted(each.name for each in real_path.iterdir() if each.is_file())
            staged_path.write_text("\n".join(names) + "\n", encoding="utf-8")
    levels_up = len(page.parent.relative_to(folder).parts)
    return "../" * levels_up + str(staged_path.relative_to(folder)) + anchor


def write_lesson_pages(folder: Path) -> None:
    """Write the lessons of the tutorial as pages that run, and link each from its part.

    folder: The site's sources.
    """
    from trunkline.share import EngineModuleMissing, build_runnable_scenario, write_page

    lessons = ROOT / "python" / "trunkline" / "examples" / "lessons"
    for file in sorted(lessons.glob("*.yaml")):
        part = folder / "tutorial" / f"{file.stem.removeprefix('lesson-')}.md"
        page = SITE / "tutorial" / "lessons" / f"{file.stem}.html"
        try:
            write_page(build_runnable_scenario(file), page)
        except EngineModuleMissing as error:
            print(f"the site has no pages that run: {error}", file=sys.stderr)
            return
        link = f'<a href="lessons/{page.name}">Run this part in your browser</a>'
        title, _, rest = part.read_text("utf-8").partition("\n")
        note = f"{link}: a page with tasks that checks itself, without an installation."
        part.write_text(f"{title}\n\n{note}\n{rest}", encoding="utf-8")
    index = folder / "index.md"
    title, _, rest = index.read_text("utf-8").partition("\n\n")
    frame = (
        '<iframe src="tutorial/lessons/lesson-1-trunks.html" title="A network that runs here" '
        'style="width: 100%; height: 42rem; border: 1px solid" loading="lazy"></iframe>'
    )
    index.write_text(f"{title}\n\n{frame}\n\n{rest}", encoding="utf-8")


def format_menu(folder: Path) -> str:
    """Format the tables of contents that make the menu.

    folder: The site's sources.
    Returns: For the end of the first page, not shown there.
    """
    parts = []
    for caption, patterns in MENU_PATTERNS.items():
        pages: list[str] = []
        for pattern in patterns:
            found = sorted(folder.glob(f"{pattern}.md"))
            names = [str(each.relative_to(folder).with_suffix("")) for each in found]
            pages += sorted(
                names, key=lambda name: FIRST_PAGES.index(name) if name in FIRST_PAGES else 99
            )
        parts += ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]
    return "\n" + "\n".join(parts)


def make_python_page() -> str:
    """Make the page of the Python interface."""
    import inspect

    import trunkline

    entries = []
    for name in sorted(trunkline.__all__):
        kind = "autoclass" if inspect.isclass(getattr(trunkline, name)) else "autofunction"
        if not name.startswith("_"):
            members = "\n   :members:\n" if name in ("Results", "Table") else "\n"
            entries.append(f".. {kind}:: trunkline.{name}{members}")
    return PYTHON_PAGE.format(entries="\n".join(entries))


def main() -> int:
    """Build the site. Returns: 0, or the status of Sphinx."""
    from trunkline import __version__

    shutil.rmtree(SITE, ignore_errors=True)
    SITE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="trunkline-site-") as scratch_folder:
        folder = Path(scratch_folder) / "pages"
        stage_pages(folder)
        write_lesson_pages(folder)
        lines = [f"{key} = {value!r}" for key, value in SPHINX_SETTINGS.items()]
        lines += [f"release = version = {__version__!r}", ""]
        (folder / "conf.py").write_text("\n".join(lines), encoding="utf-8")
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
        command += ["-d", str(Path(scratch_folder) / "doctrees"), str(folder), str(SITE)]
        completed = subprocess.run(command, check=False)
    if completed.returncode == 0:
        pages = len(list(SITE.rglob("*.html")))
        print(f"{pages} pages in {SITE.relative_to(ROOT)}; open {SITE / 'index.html'}")
    return completed.returncode


if __name__ == "__main__":
    sys.exit(main())
