"""The rooms of the package know only the rooms that they may know."""

from pathlib import Path

import pytest

from tools import import_check

ROOT = Path(__file__).resolve().parent.parent


def test_every_import_stays_within_the_rooms():
    assert import_check.check(ROOT) == []


@pytest.mark.parametrize(
    ("file", "line", "why"),
    [
        ("framework/graph.py", "from weft.ops import math", "framework may not know ops"),
        ("ops/math/reduce.py", "from weft.engine.xp import numpy_xp", "ops may not know engine"),
        ("ops/math/reduce.py", "from ...engine import xp", "ops may not know engine"),
        (
            "ops/math/reduce.py",
            "def f():\n    import weft.runtime.plan",
            "ops may not know runtime",
        ),
        ("engine/interpreter.py", "import weft", "engine may not know the top"),
        ("engine/interpreter.py", "from weft import runtime", "engine may not know runtime"),
        ("runtime/plan.py", "from weft.train import optimizer", "runtime may not know train"),
        ("train/adam.py", "from weft.runtime.plan import Plan", "train may not know runtime"),
        ("train/adam.py", "from weft.cli import main", "train may not know the top"),
        ("train/adam.py", "from weft.engine import compiler", "train may not know engine"),
        ("eager/tape.py", "from weft.runtime.plan import Plan", "eager may not know runtime"),
        ("framework/graph.py", "def f():\n    import jax.numpy", "framework may not know jax"),
        ("ops/math/reduce.py", "import jax", "jax is imported at the top"),
        (
            "train/server.py",
            "try:\n    import grpc\nexcept ImportError:\n    pass",
            "grpc is imported",
        ),
    ],
)
def test_a_forbidden_import_is_named(tmp_path, file, line, why):
    complaints = import_check.check(package_with(tmp_path, file, line))
    assert len(complaints) == 1
    assert complaints[0].startswith(f"weft/{file}:")
    assert why in complaints[0]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("ops/math/reduce.py", "from weft.framework import graph"),
        ("engine/compiler.py", "import jax\nfrom weft.ops.math import reduce"),
        ("runtime/plan.py", "from weft.engine import compiler"),
        ("eager/tape.py", "from weft.engine import interpreter"),
        ("eager/tape.py", "from weft.runtime.resources import ResourceStore"),
        ("train/adam.py", "import weft as tf\nfrom weft.runtime.session import Session"),
        ("train/adam.py", "from weft.layers import dense\nfrom weft.ops.math import reduce"),
        ("ops/math/reduce.py", "def f():\n    from jax import lax"),
        (
            "framework/graph.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from weft.ops import math",
        ),
        ("__init__.py", "from weft.runtime import session"),
        ("cli.py", "import weft.distributed.server"),
        ("testing/modes.py", "from weft.engine import compiler\nfrom weft.cli import main"),
    ],
)
def test_an_allowed_import_passes(tmp_path, file, line):
    assert import_check.check(package_with(tmp_path, file, line)) == []


def package_with(folder: Path, file: str, text: str) -> Path:
    ladder = ("framework", "ops", "ops/math", "engine", "runtime", "distributed")
    for room in (*ladder, "train", "layers", "eager", "testing"):
        (folder / "weft" / room).mkdir(parents=True)
        (folder / "weft" / room / "__init__.py").touch()
    for other in ("__init__.py", "cli.py"):
        (folder / "weft" / other).touch()
    (folder / "weft" / file).write_text(text)
    return folder
