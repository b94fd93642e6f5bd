"""Finds the real TensorFlows that weft is compared with, and sets them up where it can.

A peer's interpreter comes from its environment variable, or from `.peers/` in the project, where
`--install` makes a virtual environment if a Python of the right version is found. A peer that
cannot be had is said, with the reason, and is no failure.
"""

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".peers"


@dataclass(frozen=True)
class Peer:
    title: str
    variable: str
    pythons: tuple[str, ...]
    requirements: tuple[str, ...]


PEERS = {
    "tf1": Peer(
        title="TensorFlow 1.15.5",
        variable="WEFT_BENCH_TF1",
        pythons=("3.7",),
        requirements=("tensorflow==1.15.5", "protobuf<3.21"),
    ),
    "tf2": Peer(
        title="TensorFlow 2.21",
        variable="WEFT_BENCH_TF2",
        pythons=("3.11", "3.12", "3.13"),
        requirements=("tensorflow-cpu==2.21.*",),
    ),
}


class Missing(Exception):
    """A peer that is not here; the text says why and what would bring it."""


def interpreter(name: str, install: bool = False) -> str:
    """Returns the Python that has a peer; raises Missing where there is none."""
    peer = PEERS[name]
    given = os.environ.get(peer.variable)
    if given:
        if not os.access(given, os.X_OK):
            raise Missing(f"{peer.variable} names {given}, which cannot be run")
        return given
    python = CACHE / name / "bin" / "python"
    stamp = CACHE / name / ".ready"
    wanted = " ".join(peer.requirements)
    if stamp.exists() and stamp.read_text() == wanted:
        return str(python)
    if not install:
        raise Missing(f"neither {peer.variable} is set nor did tools/peers.py --install set it up")
    _set_up(name, peer)
    stamp.write_text(wanted)
    return str(python)


def _set_up(name: str, peer: Peer) -> None:
    base = _base_python(peer.pythons)
    if base is None:
        versions = " or ".join(peer.pythons)
        raise Missing(f"no Python {versions} was found on PATH or among pyenv's versions")
    folder = CACHE / name
    print(f"setting up {peer.title} in {folder} with {base}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    pip += ["--disable-pip-version-check"]
    for command in ([base, "-m", "venv", str(folder)], [*pip, *peer.requirements]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            shutil.rmtree(folder, ignore_errors=True)
            raise Missing(f"setting it up failed: {' '.join(last)}")


def _base_python(versions: tuple[str, ...]) -> str | None:
    """The first Python of these versions that runs; pyenv's own before names on PATH."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in versions:
        candidates = [str(p) for p in sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)]
        on_path = shutil.which(f"python{version}")
        for candidate in [*candidates, *([on_path] if on_path else [])]:
            report = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
            done = subprocess.run([candidate, "-c", report], capture_output=True, text=True)
            if done.returncode == 0 and done.stdout.strip() == version:
                return candidate
    return None


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--install", action="store_true", help="set up what is missing")
    arguments.add_argument("names", nargs="*", default=list(PEERS), help="tf1, tf2; all by default")
    options = arguments.parse_args()
    for name in options.names:
        try:
            print(f"{PEERS[name].title}: {interpreter(name, options.install)}")
        except Missing as why:
            print(f"{PEERS[name].title}: not here: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
