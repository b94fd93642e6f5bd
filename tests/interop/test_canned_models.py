"""Canned estimators that TensorFlow has begun to train go on in weft, step by step as they would there."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.interop.test_exchange import ROOT, interpreter


def told(implementation: str, folder: Path) -> dict:
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONWARNINGS="ignore")
    environment["PYTHONPATH"] = str(ROOT) if implementation == "weft" else ""
    environment.pop("XLA_FLAGS", None)  # those of this process, which older XLAs don't know
    script = Path(__file__).with_name("canned_models.py")
    done = subprocess.run(
        [interpreter(implementation), str(script), implementation, str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_training_goes_on_where_tensorflow_stopped(tmp_path):
    theirs = told("tf1", tmp_path)
    ours = told("weft", tmp_path)
    for name, expected in theirs.items():
        assert ours[name]["variables"] == expected["variables"]
        for part in ("before", "predicted", "after"):
            assert set(ours[name][part]) == set(expected[part]), (name, part)
            for key, value in expected[part].items():
                assert ours[name][part][key] == pytest.approx(value, rel=1e-3, abs=1e-5), (
                    name,
                    part,
                    key,
                )
