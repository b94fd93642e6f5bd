"""Operation: a node of a graph."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType
from typing import TYPE_CHECKING, Any

from weft.framework import attributes
from weft.framework.tensor import Tensor, run_in_session

if TYPE_CHECKING:
    from weft.framework.dtypes import DType
    from weft.framework.graph import Graph
    from weft.framework.registry import OpDecl

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DEEPEST_TRACE = 64

Site = tuple[tuple[CodeType, int], ...]


def creation_site(depth: int) -> Site:
    """The calls that led here, innermost first; resolved to lines only when somebody asks."""
    frame = sys._getframe(depth)
    site: list[tuple[CodeType, int]] = []
    while frame is not None and len(site) < _DEEPEST_TRACE:
        site.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(site)


def _line_of(code: CodeType, offset: int) -> int:
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            line = number
    return line


class Operation:
    """A node of a graph: takes tensors, gives tensors."""

    __slots__ = (
        "_graph",
        "_decl",
        "_name",
        "_inputs",
        "_control_inputs",
        "_control_outputs",
        "_attrs",
        "_outputs",
        "_device",
        "_id",
        "_site",
        "_original_op",
        "__weakref__",
        "__dict__",
    )

    _id: float  # the order in which the graph got its operations
    _captured: Any  # of a function's placeholder: what it stands for; others have no such attribute

    def __init__(
        self,
        graph: Graph,
        decl: OpDecl,
        name: str,
        inputs: list[Tensor],
        control_inputs: list[Operation],
        attrs: dict[str, Any],
        dtypes: list[DType],
        site: Site,
    ):
        self._graph = graph
        self._decl = decl
        self._name = name
        self._inputs = inputs
        self._control_inputs = control_inputs
        self._control_outputs: list[Operation] = []
        self._attrs = attrs
        self._device = ""
        self._site = site
        self._original_op: Operation | None = None
        self._outputs = [Tensor(self, i, t) for i, t in enumerate(dtypes)]
        for tensor in inputs:
            tensor._consumers.append(self)
        for op in control_inputs:
            op._control_outputs.append(self)

    # -- what it is ----------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def name(self) -> str:
        return self._name

    @property
    def type(self) -> str:
        """The op type, such as "MatMul"."""
        return self._decl.name

    @property
    def decl(self) -> OpDecl:
        return self._decl

    @property
    def inputs(self) -> list[Tensor]:
        return InputList(self._inputs)

    @property
    def _input_types(self) -> list[DType]:
        return [t.dtype for t in self._inputs]

    @property
    def outputs(self) -> list[Tensor]:
        return self._outputs

    @property
    def values(self) -> Any:
        return lambda: tuple(self._outputs)

    @property
    def control_inputs(self) -> list[Operation]:
        return list(self._control_inputs)

    @property
    def _control_outputs_list(self) -> list[Operation]:
        return list(self._control_outputs)

    @property
    def device(self) -> str:
        return self._device

    def _set_device(self, device: Any) -> None:
        from weft.framework.device_names import canonical_device

        self._device = canonical_device(device)

    def colocation_groups(self) -> list[bytes]:
        """The groups of ops that must stand on one device with this one."""
        default = [b"loc:@" + self._name.encode()]
        classes = self._attrs.get("_class")
        if not classes:
            return default
        groups = [c for c in classes if c.startswith(b"loc:@")]
        return groups or default

    # -- attributes ----------------------------------------------------------------------------------

    def get_attr(self, name: str) -> Any:
        """Returns an attribute's value; ValueError if the op has none of that name."""
        try:
            value = self._attrs[name]
        except KeyError:
            raise ValueError(f"Operation '{self._name}' has no attr named '{name}'.") from None
        return attributes.to_public(value)

    def _set_attr(self, name: str, value: Any) -> None:
        """Sets an attribute from an AttrValue message or a plain value."""
        self._attrs[name] = attributes.from_proto(value) if hasattr(value, "WhichOneof") else value
        self._graph._note_change()

    def _clear_attr(self, name: str) -> None:
        self._attrs.pop(name, None)
        self._graph._note_change()

    @property
    def node_def(self) -> Any:
        """The NodeDef message of this operation."""
        from weft.framework import graph_def

        return graph_def.node_def(self)

    @property
    def op_def(self) -> Any:
        """The OpDef message of this operation's type."""
        from weft.framework import graph_def

        return graph_def.op_def(self._decl)

    # -- changes -------------------------------------------------------------------------------------

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def _add_control_inputs(self, ops: list[Operation]) -> None:
        for op in ops:
            if not isinstance(op, Operation):
                raise TypeError(f"op must be an Operation: {op}")
            if op._graph is not self._graph:
                raise ValueError(f"{op} must be from the same graph as {self._name}.")
            if op not in self._control_inputs:
                self._control_inputs.append(op)
                op._control_outputs.append(self)
        self._graph._note_change()

    def _remove_all_control_inputs(self) -> None:
        for op in self._control_inputs:
            op._control_outputs.remove(self)
        self._control_inputs = []
        self._graph._note_change()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"tensor must be a Tensor: {tensor}")
        if tensor.graph is not self._graph:
            raise ValueError(f"Tensor {tensor.name} must be from the same graph as {self._name}.")
        self._inputs[index]._consumers.remove(self)
        self._inputs[index] = tensor
        tensor._consumers.append(self)
        self._graph._note_change()

    # -- control flow of TensorFlow 1, which weft builds as functions; imported graphs carry its ops -----

    def _get_control_flow_context(self) -> None:
        return None

    def _set_control_flow_context(self, context: Any) -> None:
        self.__dict__["_control_flow_context"] = context

    # -- where it was made ---------------------------------------------------------------------------

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """Where the operation was created: (file, line, function, text), outermost first."""
        out = []
        for code, offset in reversed(self._site):
            line = _line_of(code, offset)
            text = linecache.getline(code.co_filename, line).strip()
            out.append((code.co_filename, line, code.co_name, text))
        return out

    @property
    def user_line(self) -> str:
        """`file:line` of the innermost call that is not weft's own, or "" where there is none."""
        for code, offset in self._site:
            if not code.co_filename.startswith(_PACKAGE) and not code.co_filename.startswith("<"):
                return f"{code.co_filename}:{_line_of(code, offset)}"
        return ""

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs this operation in a session (the default one where none is given)."""
        run_in_session(self, feed_dict, session, self._graph)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self._name}' type={self.type}>"

    def __str__(self) -> str:
        return str(self.node_def)

    def __copy__(self) -> Operation:
        return self


class InputList(list):
    """The inputs of an operation, as a list that says what to use in place of changing it."""

    def _refuse(self, *args: Any) -> None:
        raise TypeError("The inputs of an operation are changed by its graph only.")

    append = extend = insert = remove = __setitem__ = __delitem__ = _refuse  # type: ignore[assignment]

    def __iter__(self) -> Any:
        return super().__iter__()
