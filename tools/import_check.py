"""Holds the rooms of the package apart: says every import that reaches where it may not.

The core is a ladder: each room knows itself and the rooms before it. The libraries stand beside the
ladder and are written as a user could have written them. Only the top of the package (its
`__init__`, the command line, the studio) may know everybody. Imports inside functions count too:
they are the same dependency, paid later. Imports under `if TYPE_CHECKING:` do not.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "weft"
LADDER = ("proto", "framework", "ops", "engine", "runtime", "distributed")
TOP = "the top"  # the files directly beneath the package, and the packages that belong to them
TOP_PACKAGES = {"launch", "studio", "testing"}

LIBRARIES_MAY = {"proto", "framework", "ops"}
# What any library may have of a room that is otherwise closed to it.
PUBLIC_MODULES = {"weft.runtime.session", "weft.runtime.devices", "weft.studio.timeline"}
# What one room may have beyond the rule, each with its reason: a room or a module.
ALSO_MAY = {
    # Runs kernels at once, with the engine's array namespaces, on resources of the same store.
    "eager": {
        "weft.engine",
        "weft.runtime.functions",
        "weft.runtime.resources",
        "weft.runtime.function_call",
    },
}

# Slow to import, so never at the top of a module that `import weft` reaches.
HEAVY = {"jax", "jaxlib", "grpc"}
HEAVY_AT_TOP = {
    "engine",
    "runtime",
    "distributed",
}  # modules that are themselves imported on first use
HEAVY_NEVER = {"framework", "proto"}


def room_of(module: str, packages: set[str]) -> str:
    """The room that a module of the package is in, given the names of the packages beneath it."""
    name = (module.split(".") + [""])[1]
    return name if name in packages - TOP_PACKAGES else TOP


def allowed(importer: str, imported: str, packages: set[str]) -> bool:
    """Whether a module may import another module of the package."""
    room, target = room_of(importer, packages), room_of(imported, packages)
    if room in (target, TOP):
        return True
    if room in LADDER:
        return target in LADDER and LADDER.index(target) < LADDER.index(room)
    if imported == PACKAGE or imported in PUBLIC_MODULES:
        return True
    if {f"{PACKAGE}.{target}", imported} & ALSO_MAY.get(room, set()):
        return True
    return target in LIBRARIES_MAY or (target not in LADDER and target != TOP)


def check(root: Path) -> list[str]:
    """Lists every forbidden import of the package in folder `root`, as `file:line: why`."""
    modules = {_module_name(path, root): path for path in sorted((root / PACKAGE).rglob("*.py"))}
    packages = {folder.name for folder in (root / PACKAGE).iterdir() if folder.is_dir()}
    complaints = []
    for module, path in modules.items():
        for line, imported, at_top in _imports(path, module, modules):
            why = _complaint(module, imported, at_top, packages)
            if why:
                complaints.append(f"{path.relative_to(root)}:{line}: {why}")
    return complaints


def _complaint(module: str, imported: str, at_top: bool, packages: set[str]) -> str | None:
    room, first = room_of(module, packages), imported.split(".")[0]
    if first == PACKAGE:
        if not allowed(module, imported, packages):
            return f"{room} may not know {room_of(imported, packages)} (imports {imported})"
    elif first in HEAVY:
        if room in HEAVY_NEVER:
            return f"{room} may not know {first}"
        if at_top and room not in HEAVY_AT_TOP:
            return f"{first} is imported at the top; import it in the function that needs it"
    return None


def _module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, module: str, known: dict[str, Path]) -> Iterator[tuple[int, str, bool]]:
    """Yields line, imported module and whether it is loaded with its importer, for each import."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node, at_top in _walk(ast.parse(path.read_text(), str(path)), at_top=True):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, at_top
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            for alias in node.names:
                child = f"{base}.{alias.name}"
                is_module = child in known or any(name.startswith(child + ".") for name in known)
                yield node.lineno, child if is_module else base, at_top


def _walk(node: ast.AST, at_top: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and _is_type_checking(child.test):
            for other in child.orelse:
                yield other, at_top
                yield from _walk(other, at_top)
            continue
        yield child, at_top
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _walk(child, at_top and not inside)


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


def main() -> int:
    complaints = check(Path(__file__).resolve().parent.parent)
    for line in complaints:
        print(line)
    if complaints:
        print(
            f"{len(complaints)} imports between rooms that may not know each other", file=sys.stderr
        )
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
