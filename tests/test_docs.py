"""What the pages in docs/ show is run, and prints what they say. `...` stands for anything."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", re.DOTALL)
MARK = "-- end of block --"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_prints_what_it_says(page):
    blocks = BLOCK.findall(page.read_text())
    assert blocks
    program = "".join(f"{code}\nprint({MARK!r})\n" for code, _ in blocks)
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=100)
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split(MARK + "\n")[:-1]
    assert len(printed) == len(blocks)
    checker = doctest.OutputChecker()
    for (code, expected), found in zip(blocks, printed):
        assert checker.check_output(expected, found, doctest.ELLIPSIS), f"{code}\nprints\n{found}"


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
