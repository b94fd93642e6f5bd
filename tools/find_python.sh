#!/bin/sh
# Prints the newest Python on PATH that weft can be set up with: 3.11 or later, able to make a virtual environment.
# Each candidate is run, since a name on PATH may be a shim that leads nowhere.
for name in python3.14 python3.13 python3.12 python3.11 python3 python; do
    IFS=:
    for folder in $PATH; do
        if [ -x "$folder/$name" ] && "$folder/$name" -c \
            'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "$folder/$name"
            exit 0
        fi
    done
done
echo "weft needs Python 3.11 or later with the venv module; none was found on PATH." >&2
echo "Install one, or name one: make PYTHON=/path/to/python3" >&2
exit 1
