"""Times weft beside real TensorFlow and JAX and prints how they compare.

    python -m benchmarks.run --row mlp --row cnn --rounds 5 --json bench.json

Each figure comes from a process of its own; the implementations take turns, and the best of the
rounds counts, since two runs of the same thing differ on a shared machine. A name that does not
match a row whole selects the rows that contain it.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from benchmarks.rows import ROWS, SCALE, TENSORFLOWS, Bound, Row
from tools import peers

HERE = Path(__file__).resolve().parent
TITLES = {"weft": "weft", "tf1": "TF 1.15.5", "tf2": "TF 2.21", "jax": "plain JAX"}
# figures[module][implementation][metric]: the least of the rounds
Figures = dict[str, dict[str, dict[str, float]]]


def main() -> int:
    options = _arguments()
    console = Console()
    if not console.is_terminal:
        console.width = 120  # a file or a log need not wrap as a small screen does
    rows = _chosen(options.row)
    pythons = _interpreters(options.only, console)
    figures, failures = _measure(rows, pythons, options.rounds, console)
    results = [_result(row, figures.get(row.module, {})) for row in rows]
    console.print(_table(rows, results, list(pythons)))
    for (module, implementation), why in failures.items():
        console.print(
            f"[red]{module} on {TITLES[implementation]} failed:[/] {why}", highlight=False
        )
    if options.json:
        Path(options.json).write_text(
            json.dumps({"rows": results, "rounds": options.rounds}, indent=1)
        )
    return 1 if any(implementation == "weft" for _, implementation in failures) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--row", action="append", help="only this row (repeatable)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts")
    parser.add_argument("--only", action="append", choices=list(TITLES), help="only this one")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to a file")
    return parser.parse_args()


def _chosen(names: list[str] | None) -> list[Row]:
    if not names:
        return list(ROWS)
    chosen = []
    for name in names:
        found = [r for r in ROWS if r.name == name] or [r for r in ROWS if name in r.name]
        if not found:
            sys.exit(f"no row {name!r}; there are: {', '.join(row.name for row in ROWS)}")
        chosen += [row for row in found if row not in chosen]
    return chosen


def _interpreters(only: list[str] | None, console: Console) -> dict[str, str]:
    """The Python of each implementation that is here; says which are not."""
    found = {}
    for name in TITLES:
        if only and name not in only:
            continue
        if name in peers.PEERS:
            try:
                found[name] = peers.interpreter(name)
            except peers.Missing as why:
                console.print(f"without {peers.PEERS[name].title}: {why}", highlight=False)
        else:
            found[name] = sys.executable
    return found


def _measure(
    rows: list[Row], pythons: dict[str, str], rounds: int, console: Console
) -> tuple[Figures, dict[tuple[str, str], str]]:
    implementations = {row.module: row.implementations for row in rows}
    jobs = [
        (module, name)
        for module in implementations
        for _ in range(rounds)
        for name in pythons
        if name in implementations[module]
    ]
    figures: Figures = defaultdict(lambda: defaultdict(dict))
    failures: dict[tuple[str, str], str] = {}
    columns = (TextColumn("{task.description:32}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(jobs))
        for module, name in jobs:
            progress.update(task, description=f"{module} on {TITLES[name]}")
            if (module, name) not in failures:
                try:
                    measured = _once(pythons[name], name, module)
                except _Failed as why:
                    failures[module, name] = str(why)
                else:
                    known = figures[module][name]
                    for metric, value in measured.items():
                        known[metric] = min(value, known.get(metric, value))
            progress.advance(task)
    return figures, failures


class _Failed(Exception):
    pass


def _once(python: str, implementation: str, module: str, timeout: int = 900) -> dict[str, float]:
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONWARNINGS="ignore")
    # Nobody compiles sources anew in each process, whatever the environment says of bytecode.
    environment["PYTHONPYCACHEPREFIX"] = str(peers.CACHE / "bytecode")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if implementation == "weft":
        environment["PYTHONPATH"] = str(HERE.parent)
    else:
        environment.pop("PYTHONPATH", None)
    command = [python, str(HERE / "worker.py"), implementation, module]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise _Failed(f"not finished after {timeout} s") from None
    if done.returncode:
        raise _Failed((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def _result(row: Row, figures: dict[str, dict[str, float]]) -> dict:
    """The figures of a row and, for each bound that can be checked, the ratio and the verdict."""
    found = {name: figures[name][row.metric] for name in row.implementations if name in figures}
    checks = []
    for bound in row.bounds:
        peer = _peer_figure(bound, found)
        if peer is not None and "weft" in found:
            ratio = found["weft"] / peer
            check = {"peer": bound.peer, "limit": bound.limit, "ratio": ratio}
            checks.append(check | {"ok": ratio <= bound.limit})
    return {"row": row.name, "figures": found, "checks": checks}


def _peer_figure(bound: Bound, found: dict[str, float]) -> float | None:
    if bound.peer == "start":  # the figure is itself a ratio to the start of the same run
        return 1.0
    if bound.peer == "better":
        return min((found[name] for name in TENSORFLOWS if name in found), default=None)
    return found.get(bound.peer)


def _table(rows: list[Row], results: Iterable[dict], implementations: list[str]) -> Table:
    table = Table(title="the best of the rounds; lower is better")
    table.add_column("work")
    for name in implementations:
        table.add_column(TITLES[name], justify="right")
    table.add_column("ratio", justify="right")
    table.add_column("at most", justify="right")
    table.add_column("")
    for row, result in zip(rows, results, strict=True):
        cells = [_figure(result["figures"].get(name), row.unit) for name in implementations]
        checks = result["checks"]
        table.add_row(
            row.title,
            *cells,
            "\n".join(f"{check['ratio']:.2f}" for check in checks),
            "\n".join(f"{bound.limit:g} × {bound.peer}" for bound in row.bounds),
            "\n".join("[green]ok[/]" if check["ok"] else "[red]miss[/]" for check in checks),
        )
    return table


def _figure(seconds: float | None, unit: str) -> str:
    if seconds is None:
        return "–"
    value = seconds * SCALE[unit]
    return f"{value:.3g} {unit}" if value < 999.5 else f"{value:.0f} {unit}"


if __name__ == "__main__":
    sys.exit(main())
