"""The first tier: runs a program's kernels one by one with NumPy. No compiler, no warm-up, any shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine.cell import Cell, random_cell
from weft.engine.namespace import numpy_namespace
from weft.engine.program import Node, Program
from weft.framework import errors, shape_inference
from weft.framework.shape_rules import ShapeError


class Context:
    """What a kernel that asks for `ctx` gets: the array namespace, its node, state, functions, the step."""

    tracing = False
    xp: Any = numpy_namespace
    new_cell = Cell
    # Whether nobody outside of the step holds an array that owns its memory: what is fed, and what Python
    # functions return, comes as views. A variable then keeps such an array without a copy.
    adopts = False
    # The node that may put off waiting: whoever runs it has other work to do in the meantime.
    may_put_off: Any = None
    # Where in loops that are run by data flow the node is: the frames around it, and the iteration.
    position: Any = None
    device: Any = None  # the device of the operation that the executor runs

    def __init__(self, resources: Any, step: Any = None, functions: Any = None):
        self.resources = resources
        self.step = step
        self.functions = functions  # name -> Program
        self.node: Node = None  # type: ignore[assignment]

    @property
    def op(self) -> Any:
        return self.node.op

    # -- state

    def read(self, cell: Cell) -> Any:
        """The value of a cell; FailedPreconditionError while it is not initialised."""
        value = cell.numpy()
        if value is None:
            raise uninitialized(cell)
        return value

    def peek(self, cell: Cell) -> Any:
        """The value of a cell, or None while it is not initialised."""
        return cell.numpy()

    def write(self, cell: Cell, value: Any, masked: bool = False) -> None:
        """Gives a cell a new value."""
        cell.value = value

    def shape(self, cell: Cell) -> tuple:
        """The shape of a cell's value."""
        if cell.value is None:
            raise uninitialized(cell)
        return cell.value.shape

    @property
    def lock(self) -> Any:
        """Held while a kernel reads and then writes a cell, so that no other step comes in between."""
        return self.resources.lock

    def scatter(self, cell: Cell, index: tuple, updates: Any, how: str = "update") -> None:
        """Changes the elements of a cell at `index`, as `xp.scatter` does, but touches these only."""
        with self.resources.lock:
            if cell.value is None:
                raise uninitialized(cell)
            self.xp.scatter_into(cell.writable(), index, updates, how)

    def is_padded(self, indices: Any) -> bool:
        """Whether there are more indices than are meant; only where they are traced."""
        return False

    def meant(self, indices: Any, outside: int) -> Any:
        """The indices, those that only pad replaced by one that is out of bounds."""
        return indices

    def random_cell(self, make: Any) -> Cell:
        """The cell of this node's random counter; `make()` gives its first value."""
        return random_cell(self.resources.random, self.node.op, make)

    # -- waiting

    def wait(self, waiting: Any) -> Any:
        """What an operation gives that waits for another one, of this step or of another.

        A kernel returns it as it is: a step that does something else meanwhile does not come back to the
        kernel.
        """
        if not waiting.done:
            if self.node is not None and self.node is self.may_put_off:
                raise PutOff(waiting)
            self.step.wait_for([waiting])
        return waiting.result()

    # -- functions

    def call(self, name: str, args: list[Any]) -> list[Any]:
        """Runs a function of the library on values of its arguments."""
        return _flow().call(self, name, args)

    def branch(self, index: Any, cases: list[tuple[str, list[Any]]]) -> list[Any]:
        """Runs one of several (function, arguments)."""
        name, args = cases[int(index)]
        return _flow().call(self, name, args)

    def loop(self, cond: str, body: str, args: list[Any]) -> list[Any]:
        """Runs function `body` on its own results for as long as function `cond` says so."""
        return _flow().run_loop(self, cond, body, args)

    def count(self, body: str, start: Any, limit: Any, delta: Any, args: list[Any]) -> list[Any]:
        """Runs function `body` on a counter and its own results."""
        return _flow().run_counter(self, body, start, limit, delta, args)

    def missing(self, dtype: Any, shape: Any) -> Any:
        """What stands for a value that nobody reads."""
        if dtype.np is None:
            return NOT_THERE
        sizes = () if shape is None else tuple(0 if d is None else d for d in shape)
        return np.broadcast_to(np.zeros((), dtype.np), sizes)


class PutOff(BaseException):
    """Raised instead of waiting, through the kernel to the executor, which comes back to it later."""

    def __init__(self, waiting: Any):
        super().__init__()
        self.waiting = waiting


class _NotThere:
    """What stands for a variant that nobody reads; unlike None it may be an element of a list."""

    def __repr__(self) -> str:
        return "<not there>"


NOT_THERE = _NotThere()


def _flow() -> Any:
    from weft.engine import control_flow  # which is written on top of this module

    return control_flow


def uninitialized(cell: Cell) -> errors.OpError:
    if cell.extra == "resource":
        return errors.FailedPreconditionError(
            None,
            None,
            f"Error while reading resource variable {cell.name} from Container: localhost. This could mean that "
            f"the variable was uninitialized. Not found: Resource localhost/{cell.name}/N10tensorflow3VarE does "
            "not exist.",
        )
    return errors.FailedPreconditionError(
        None, None, f"Attempting to use uninitialized value {cell.name}"
    )


def run(program: Program, args: list[Any], ctx: Any) -> list[Any]:
    """Runs a program on arrays (one per input), and returns its outputs."""
    values = program.table.copy()
    for slot, value in zip(program.inputs, args):
        values[slot] = value
    outer = ctx.node
    if program.meets:
        _execute_meeting(program.todo, values, ctx)
    else:
        execute(program.todo, values, ctx)
    ctx.node = outer
    if program.read_outputs:
        return read_outputs(program, values, ctx)
    return [values[slot] for slot in program.outputs]


def read_outputs(program: Program, values: list[Any], ctx: Any) -> list[Any]:
    """The outputs of a program, some of which are references to read."""
    out = [values[slot] for slot in program.outputs]
    for i in program.read_outputs:
        if type(out[i]) is Cell:
            out[i] = ctx.read(out[i])
    return out


def execute(nodes: list[Node], values: list[Any], ctx: Any) -> None:
    """Runs nodes in order over a table of values."""
    step = ctx.step
    for node in nodes:
        if step is not None and step.stopped:
            step.check()
        ctx.node = node
        run_node(node, values, ctx)
        for slot in node.frees:
            values[slot] = None


def _execute_meeting(nodes: list[Node], values: list[Any], ctx: Any) -> None:
    """Runs nodes some of which wait for each other: those are put off, and what does not need them goes on."""
    outer = ctx.may_put_off
    put_off: dict[Node, Any] = {}
    missing = {node.op for node in nodes}
    todo = nodes
    try:
        while todo or put_off:
            later = []
            for node in todo:
                ctx.step.check()
                sources = [t._op for t in node.op._inputs] + node.op._control_inputs
                if not missing.isdisjoint(sources):
                    later.append(node)
                    continue
                ctx.node = ctx.may_put_off = node
                try:
                    run_node(node, values, ctx)
                except PutOff as e:
                    put_off[node] = e.waiting
                else:
                    missing.discard(node.op)
            todo = later
            if put_off:
                ctx.step.wait_for(list(put_off.values()))
            for node, waiting in list(put_off.items()):
                if waiting.done:
                    finish_node(node, waiting, values)
                    del put_off[node]
                    missing.discard(node.op)
    finally:
        ctx.may_put_off = outer
        for waiting in put_off.values():
            waiting.cancel()


def run_node(node: Node, values: list[Any], ctx: Any) -> None:
    """Runs one node with its reference kernel."""
    args = [values[i] for i in node.inputs]
    try:
        if node.derefs:
            for i in node.derefs:
                if type(args[i]) is Cell:
                    args[i] = ctx.read(args[i])
        if node.recheck:
            recheck(node, args)
        if node.groups is not None:
            args = [args[g] for g in node.groups]
        kernel = node.kernel
        if kernel is None:
            raise errors.UnimplementedError(
                None, None, f"Op {node.decl.name} has no kernel in weft yet."
            )
        result = kernel(ctx if node.wants_context else numpy_namespace, *args, **node.kwargs)
    except Exception as e:
        raise located(e, node, args) from e
    if node.only_output >= 0 and type(result) is np.ndarray:
        values[node.only_output] = result
    else:
        store_results(node, result, values)


def finish_node(node: Node, waiting: Any, values: list[Any]) -> None:
    """Stores what a node gives that had put off waiting, or raises its error."""
    try:
        result = waiting.result()
    except Exception as e:
        raise located(e, node, []) from e
    store_results(node, result, values)


def store_results(node: Node, result: Any, values: list[Any]) -> None:
    if node.flat_outputs:
        result = shape_inference.flatten_outputs(node.decl.signature, result)
        for slot, value, dtype in zip(node.outputs, result, node.dtypes):
            if slot >= 0:
                values[slot] = (
                    value if type(value) is np.ndarray or dtype is None else as_array(value, dtype)
                )
    elif node.outputs[0] >= 0:
        if type(result) is not np.ndarray and node.dtypes[0] is not None:
            result = as_array(result, node.dtypes[0])
        values[node.outputs[0]] = result


def as_array(value: Any, dtype: Any) -> Any:
    """A kernel's result as an array: NumPy reductions give scalars. A reference (a cell) stays."""
    if isinstance(value, np.generic) and dtype is not None and dtype != np.object_:
        return np.asarray(value, dtype)
    if isinstance(value, Cell) or value is None:
        return value
    if dtype == np.object_ and isinstance(value, (bytes, str)):
        out = np.empty((), object)
        out[()] = value
        return out
    if isinstance(value, (np.generic, int, float, bool, complex, list, tuple, bytes)):
        return np.asarray(value, dtype)
    return value


def recheck(node: Node, args: list[Any]) -> None:
    """Runs the shape rule on the actual shapes, unless these were found right before."""
    shapes = [a.shape if type(a) is np.ndarray else getattr(a, "shape", None) for a in args]
    if shapes == node.checked:
        return
    try:
        const = shape_inference.ActualInputs(
            shape_inference.grouped(node.decl.signature.inputs, args, node.op._attrs),
            node.decl.signature.inputs,
        )
        shape_inference.run_rule(node.decl, shapes, node.op._attrs, const)
    except ShapeError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None
    node.checked = shapes


def located(e: Exception, node: Node, args: list[Any]) -> errors.OpError:
    """The error as TensorFlow's class, with the operation it came from."""
    op = node.op
    if isinstance(e, errors.OpError):
        if e.op is not None or getattr(e, "keeps_place", False):
            return e
        return type(e)(op.node_def, op, e.message) if type(e) is not errors.OpError else e
    shapes = ", ".join(_describe(a) for a in args)
    text = f"{e or type(e).__name__} (inputs: {shapes})"
    if isinstance(e, (ValueError, IndexError, OverflowError, ZeroDivisionError)):
        cls: Any = errors.InvalidArgumentError
    elif isinstance(e, MemoryError):
        cls = errors.ResourceExhaustedError
    elif isinstance(e, NotImplementedError):
        cls = errors.UnimplementedError
    else:
        cls = errors.InternalError
        text = f"{type(e).__name__}: {text}"
    return cls(op.node_def, op, text)


def _describe(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_describe, value)) + "]"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None:
        return type(value).__name__
    return f"{getattr(dtype, 'name', dtype)}{list(shape)}"
