"""`python -m weft` is the program `weft`."""

from weft.cli import main

main()
