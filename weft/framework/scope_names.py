"""Names of operations with a scope put before them, or taken away, as export and import do."""

from __future__ import annotations

import re


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """`name` within a scope; the markers of control inputs and colocation stay in front."""
    if not import_scope:
        return name
    if import_scope.endswith("/"):
        import_scope = import_scope[:-1]
    return re.sub(r"^(\^|loc:@|)(.+)$", lambda m: f"{m[1]}{import_scope}/{m[2]}", name)


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """`name` without a scope that it starts with."""
    if not export_scope:
        return name
    if export_scope.endswith("/"):
        export_scope = export_scope[:-1]
    pattern = r"^(\^|loc:@|)" + re.escape(export_scope) + r"[/]+(.*)$"
    return re.sub(pattern, lambda m: m[1] + m[2], name)
