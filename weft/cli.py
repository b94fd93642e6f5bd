"""The command line: `weft run SCRIPT [ARGS]`, `weft launch [OPTIONS] SCRIPT [ARGS]`."""

from __future__ import annotations

import sys

_USAGE = """usage: weft run [-m] SCRIPT [ARGS ...]
       weft launch [--ps N] [--workers N] [--secure] [--ray] [...] SCRIPT [ARGS ...]
       weft --version

  run      runs a TensorFlow 1 program, unmodified: `import tensorflow` gives weft
  launch   runs one on each task of a cluster, on this machine or with Ray on several, until its workers have ended
"""


def main(argv: list[str] | None = None) -> None:
    """The program `weft`."""
    # By hand: the arguments behind the script are the script's, and `run` must start quickly.
    args = list(sys.argv[1:] if argv is None else argv)
    if args and args[0] == "run" and len(args) > 1 and args[1] not in ("-h", "--help"):
        from weft.run_script import end_with_launcher, run_module, run_script

        end_with_launcher()
        if args[1] == "-m":
            if len(args) < 3:
                sys.exit("weft run: -m needs the name of a module")
            run_module(args[2], args[3:])
        else:
            run_script(args[1], args[2:])
    elif args and args[0] == "launch":
        from weft.launch import launch

        sys.exit(launch(args[1:]))
    elif args and args[0] in ("-V", "--version"):
        import weft

        print(f"weft {weft.__version__}")
    elif not args or args[0] in ("-h", "--help") or args[:1] == ["run"]:
        print(_USAGE, end="")
        sys.exit(0 if args and args[-1] in ("-h", "--help") else 2)
    else:
        print(f"weft: unknown command {args[0]!r}\n{_USAGE}", end="", file=sys.stderr)
        sys.exit(2)
