"""EagerOp: an op that ran, as gradient functions, kernels and errors see it in place of an Operation."""

from __future__ import annotations

from typing import Any

from weft.eager.resources import library
from weft.framework import attributes
from weft.framework.registry import OpDecl


class EagerOp:
    """An op that ran."""

    __slots__ = (
        "_decl",
        "_attrs",
        "_inputs",
        "_outputs",
        "_name",
        "skip_input_indices",
        "__weakref__",
    )

    device = _device = ""
    user_line = ""
    _control_inputs: list[Any] = []
    control_inputs: list[Any] = []

    def __init__(
        self,
        decl: OpDecl,
        inputs: list[Any],
        outputs: list[Any],
        attrs: dict[str, Any],
        name: str = "",
    ):
        self._decl, self._inputs, self._outputs, self._attrs = decl, inputs, outputs, attrs
        self._name = name or decl.name
        self.skip_input_indices: Any = ()

    @property
    def type(self) -> str:
        return self._decl.name

    @property
    def name(self) -> str:
        return self._name

    @property
    def inputs(self) -> list[Any]:
        return self._inputs

    @property
    def outputs(self) -> list[Any]:
        return self._outputs

    @property
    def graph(self) -> Any:
        raise AttributeError("An operation that ran eagerly has no graph.")

    @property
    def _graph(self) -> Any:
        return library

    def get_attr(self, name: str) -> Any:
        """The value of an attribute, as an Operation gives it."""
        try:
            return attributes.to_public(self._attrs[name])
        except KeyError:
            raise ValueError(f"Operation '{self._name}' has no attr named '{name}'.") from None

    @property
    def node_def(self) -> Any:
        from weft import proto

        node = proto.NodeDef(name=self._name, op=self._decl.name)
        for name in sorted(self._attrs):
            node.attr[name].CopyFrom(attributes.to_proto(self._attrs[name]))
        return node

    @property
    def traceback(self) -> list[Any]:
        return []

    def colocation_groups(self) -> list[bytes]:
        return []


class EagerNode:
    """What a kernel sees of its node; `memo` stays between runs of the same op with the same attributes."""

    __slots__ = ("op", "decl", "memo")

    def __init__(self, op: EagerOp):
        self.op, self.decl, self.memo = op, op._decl, None
