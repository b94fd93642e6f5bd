"""SaveSliceInfo: which part of a whole a partition of a variable is, for checkpoints."""

from __future__ import annotations

from typing import Any

from weft.framework.scope_names import prepend_name_scope, strip_name_scope


class SaveSliceInfo:
    """The place of a variable within the whole that a checkpoint stores under one name."""

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: list[int] | None = None,
        var_offset: list[int] | None = None,
        var_shape: list[int] | None = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ):
        if save_slice_info_def is not None:
            proto = save_slice_info_def
            self.full_name: str | None = prepend_name_scope(proto.full_name, import_scope)
            self.full_shape: list[int] | None = list(proto.full_shape)
            self.var_offset: list[int] | None = list(proto.var_offset)
            self.var_shape: list[int] | None = list(proto.var_shape)
        else:
            self.full_name, self.full_shape = full_name, full_shape
            self.var_offset, self.var_shape = var_offset, var_shape

    @property
    def spec(self) -> str:
        """The slice as checkpoints name it: the whole's shape, then `offset,size` of each axis."""
        whole = "".join(f"{d} " for d in self.full_shape or ())
        parts = ":".join(f"{o},{s}" for o, s in zip(self.var_offset or (), self.var_shape or ()))
        return whole + parts

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The SaveSliceInfoDef message; None where the name is outside of the scope."""
        from weft import proto

        name = self.full_name or ""
        if export_scope is not None and not name.startswith(export_scope):
            return None
        return proto.SaveSliceInfoDef(
            full_name=strip_name_scope(name, export_scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )
