"""The registry of ops. An op is declared once:

    @op("BiasAdd", "value: T, bias: T -> output: T", "T: numbers; data_format: string in {NHWC, NCHW} = 'NHWC'")
    def bias_add(xp, value, bias, *, data_format): ...      # the reference kernel

    @bias_add.shape
    def _(value, bias, *, data_format): ...                  # static shapes, and the runtime check

    @bias_add.gradient
    def _(op, grad): ...                                     # builds graph ops

The name `bias_add` is then the declaration itself; calling it adds the op to the default graph (or runs it,
eagerly). The first parameter of a kernel tells what it wants: `xp`, the array namespace, or `ctx`, the step's
context (state, randomness, the node itself).
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any

from weft.framework import signature as _signature


class OpDecl:
    """A declared op: everything that weft knows of it."""

    def __init__(
        self,
        name: str,
        args: str,
        attrs: str = "",
        *,
        stateful: bool = False,
        host: bool | Callable[[Any], bool] = False,
        blocking: bool = False,
        meets: bool = False,
        static: Iterable[str] | Callable[[Any], Iterable[str]] = (),
        static_if_possible: Iterable[str] = (),
        commutative: bool = False,
        aggregate: bool = False,
        allows_uninitialized: bool = False,
        shape_only: bool = False,
        passes_references: bool = False,
        reads_strings: bool = False,
        handle: bool = False,
    ):
        self.name = name
        self.args_text, self.attrs_text = args, attrs
        self.takes_references = "ref " in args.partition("->")[0]
        self.stateful = stateful  # has or changes state: never shared, folded or pruned as equal
        # Runs on the host only: XLA cannot take it. Either may depend on the operation: a function of it.
        self.host = host
        self.blocking = blocking  # may wait for another op or step; others go on meanwhile
        self.meets = meets  # waits for others of its kind, which may be in the same function
        # Refers to state of a session, so that its output is the same in every step: evaluated once.
        self.handle = handle
        # Inputs whose values XLA needs while compiling.
        self.static = static if callable(static) else tuple(static)
        # Inputs whose values make compiling possible in more cases.
        self.static_if_possible = tuple(static_if_possible)
        self.commutative, self.aggregate = commutative, aggregate
        self.allows_uninitialized = allows_uninitialized
        self.shape_only = shape_only  # reads shapes, not values (Shape, Size, Rank)
        # Takes a reference as it is where a value is declared: the functions that it calls read it.
        self.passes_references = passes_references
        self.reads_strings = (
            reads_strings  # XLA can take it although it has strings, which are constants
        )
        self.kernel: Callable | None = None
        self.xla_kernel: Callable | None = None
        self.rows_kernel: Callable | None = None
        self.rows_inputs: frozenset[str] = frozenset()
        self.is_elementwise = False  # whether that is the kernel itself
        self.rows_may_be_lists = False
        self.shape_rule: Callable | None = None
        self.gradient_rule: Callable | None = None
        self._signature: _signature.Signature | None = None
        self._call_plan: Any = None  # of `apply`, made at the first call
        self._eager_calls: dict[
            Any, Any
        ] = {}  # of eager execution: what is ready to run, by kind of arguments

    def __repr__(self) -> str:
        return f"<op {self.name}({self.args_text})>"

    @property
    def signature(self) -> _signature.Signature:
        if self._signature is None:
            try:
                self._signature = _signature.parse(self.args_text, self.attrs_text)
            except ValueError as e:
                raise ValueError(f"The declaration of op {self.name} is malformed: {e}") from None
        return self._signature

    @property
    def is_compilable(self) -> bool:
        return self.host is not True and (self.kernel is not None or self.xla_kernel is not None)

    # -- the parts of a declaration, as decorators ---------------------------------------------------

    def shape(self, rule: Callable) -> Callable:
        """Registers the shape rule: from input shapes (and, by name, attributes and `const`) to output shapes."""
        self.shape_rule = rule
        return rule

    def gradient(self, rule: Callable) -> Callable:
        """Registers the gradient: from the op and the gradients of its outputs to those of its inputs."""
        gradients[self.name] = rule
        self.gradient_rule = rule
        return rule

    def kernel_for(self, engine: str) -> Callable[[Callable], Callable]:
        """Registers a second kernel, for engine `"xla"`, where one expression will not do for both."""
        if engine != "xla":
            raise ValueError(f"Engine {engine!r} is not known; a second kernel is for 'xla'.")

        def register(kernel: Callable) -> Callable:
            self.xla_kernel = kernel
            return kernel

        return register

    def rows(self, *inputs: str, lists: bool = False) -> Callable[[Callable], Callable]:
        """Registers a kernel for many runs at once, which differ in `inputs`: these come with an axis more, and so do
        the outputs go, or as a list of one for each run. Where it fails, in whatever words, runs are made one by one.
        With `lists` inputs of different shapes may come as lists, too.
        """

        def register(kernel: Callable) -> Callable:
            self.rows_kernel, self.rows_inputs = kernel, frozenset(inputs)
            self.rows_may_be_lists = lists
            return kernel

        return register

    def elementwise(self, *inputs: str) -> OpDecl:
        """States that the kernel does for many runs at once, since it does the same to each element of `inputs`. What
        is among these and does not differ from run to run may be a scalar."""
        self.rows(*inputs)(self.kernel)  # type: ignore[arg-type]
        self.is_elementwise = True
        return self

    def not_differentiable(self) -> OpDecl:
        """States that no gradient flows through the op."""
        gradients[self.name] = None
        return self

    def __call__(self, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        return _apply(self, args, kwargs, name)


_ops: dict[str, OpDecl] = {}
gradients: dict[str, Callable | None] = {}  # op type -> rule; None: not differentiable
_loaders: list[Callable[[], None]] = []
_loading = threading.RLock()


def op(
    name: str, args: str = "", attrs: str = "", **flags: Any
) -> Callable[[Callable | None], OpDecl]:
    """Declares an op; the decorated function is its reference kernel."""

    def register(kernel: Callable | None) -> OpDecl:
        if name in _ops:
            raise ValueError(f"Op {name} is declared twice.")
        decl = _ops[name] = OpDecl(name, args, attrs, **flags)
        decl.kernel = kernel
        if kernel is not None:
            decl.__doc__ = kernel.__doc__
        return decl

    return register


def on_unknown_op(loader: Callable[[], None]) -> None:
    """Registers a function that declares further ops; it is called once, when an unknown type is asked for."""
    _loaders.append(loader)


def _load_rest() -> None:
    with _loading:
        while _loaders:
            _loaders.pop()()


def find(name: str) -> OpDecl | None:
    """The declaration of an op type, or None."""
    decl = _ops.get(name)
    if decl is None:
        _load_rest()
        decl = _ops.get(name)
    return decl


def get(name: str) -> OpDecl:
    decl = find(name)
    if decl is None:
        raise KeyError(f"Op type not registered '{name}' in weft.")
    return decl


def all_ops() -> dict[str, OpDecl]:
    """Every op that can run, by name."""
    _load_rest()
    return {name: decl for name, decl in _ops.items() if decl.kernel is not None}


def wanted_keywords(function: Callable) -> tuple[str, ...]:
    """The keyword-only parameters of a kernel or rule: the attributes that it asks for."""
    code = inspect.unwrap(function).__code__
    first = code.co_argcount
    return code.co_varnames[first : first + code.co_kwonlyargcount]


def wants_context(kernel: Callable) -> bool:
    """Whether a kernel's first parameter is the step's context rather than the array namespace."""
    first = next(iter(inspect.signature(kernel).parameters), "xp")
    return first == "ctx"


def _apply(decl: OpDecl, args: tuple, kwargs: dict, name: str | None) -> Any:
    from weft.framework import apply  # the graph imports the registry

    globals()["_apply"] = apply.call
    return apply.call(decl, args, kwargs, name)
