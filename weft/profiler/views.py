"""The views of a profile: trees by name scope, data flow and code, and the list of operation types."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import weft
from weft.profiler.shown import ROOT, Shown, any_matches, large_enough, legend, ordered
from weft.profiler.statistics import Statistics

_HERE = os.path.dirname(os.path.abspath(weft.__file__)) + os.sep


def fold(root: Any, state: Any, enter: Callable, leave: Callable) -> list[Any]:
    """Goes through a tree, however deep, from below to above.

    `enter(node, state)` gives the children and their state, or None where a node is left out; `leave(node, state,
    found)` takes what the children gave and gives what goes up.
    """
    out: list[Any] = []
    stack: list[Any] = []

    def push(node: Any, state: Any) -> None:
        entered = enter(node, state)
        if entered is not None:
            children, inner = entered
            stack.append((node, state, iter(children), inner, []))

    push(root, state)
    while stack:
        node, state, rest, inner, found = stack[-1]
        child = next(rest, None)
        if child is not None:
            push(child, inner)
            continue
        stack.pop()
        (stack[-1][-1] if stack else out).extend(leave(node, state, found))
    return out


class Tree:
    """A view in which some nodes are beneath others. A node that has several above it is shown beneath the first."""

    def __init__(self, root: Shown, keeps_unaccounted: bool):
        self.root, self._keeps_unaccounted = root, keeps_unaccounted

    def show(self, options: dict[str, Any]) -> tuple[str, Any]:
        """The text, and the message."""
        self._account(options)
        self._begin_at(options["start_name_regexes"])
        self._choose(options)
        select, step = options["select"], options["step"]
        lines = [legend(select, of_types=False)]
        messages = {id(self.root): self.root.message(step)}

        def enter(node: Shown, above: Shown | None) -> Any:
            lines.append(f"{' ' * node.indent}{node.text(select)}\n")
            if above is not None:
                made = messages[id(above)].children.add()
                made.CopyFrom(node.message(step))
                messages[id(node)] = made
            return node.shown, node

        fold(self.root, None, enter, lambda *_: [])
        return "".join(lines), messages[id(self.root)]

    def _account(self, options: dict[str, Any]) -> None:
        step, types = options["step"], options["account_type_regexes"]
        seen: set[str] = set()

        def enter(node: Shown, _: Any) -> Any:
            if node.name in seen:
                return None
            if not node.multiple:
                seen.add(node.name)
            return node.children, None

        def leave(node: Shown, _: Any, found: list[Shown]) -> list[Shown]:
            if node is self.root:
                node.shown, node.matching = found, []
                node.total = sum((n.total for n in found), node.own * 0)
                return [node]
            accounted = node.account(step, types)
            if not accounted and not (found and self._keeps_unaccounted):
                return found
            node.shown = found
            node.add_up(found)
            return [node]

        fold(self.root, None, enter, leave)

    def _begin_at(self, patterns: list[str]) -> None:
        if patterns == [".*"]:
            return
        starts: list[Shown] = []

        def enter(node: Shown, _: Any) -> Any:
            if node is not self.root and any_matches(patterns, [node.name]):
                starts.append(node)
                return None
            return node.shown, None

        fold(self.root, None, enter, lambda *_: [])
        self.root.shown = starts

    def _choose(self, options: dict[str, Any]) -> None:
        """Leaves what is to be shown, with what is below a node that is not in its place."""
        deepest, only_shown = options["max_depth"], options["account_displayed_op_only"]

        def shows(node: Shown, depth: int) -> bool:
            if node is self.root:
                return True
            return (
                depth <= deepest
                and large_enough(node, options)
                and any_matches(options["show_name_regexes"], [node.name])
                and not any_matches(options["hide_name_regexes"], [node.name])
            )

        def enter(node: Shown, state: tuple[int, int]) -> Any:
            depth, indent = state
            node.indent = indent
            trimmed = any_matches(options["trim_name_regexes"], [node.name]) or depth > deepest
            inner = (depth + 1, indent + 2 * shows(node, depth))
            return [] if trimmed else node.shown, inner

        def leave(node: Shown, state: tuple[int, int], found: list[Shown]) -> list[Shown]:
            if not shows(node, state[0]):
                return found
            node.shown = ordered(found, options["order_by"])
            if only_shown:
                node.add_up(node.shown)
            return [node]

        fold(self.root, (1, 0), enter, leave)


def by_scope(statistics: Statistics) -> Tree:
    """Name scopes, and the operations in them."""
    nodes = {name: Shown(name, [op]) for name, op in statistics.ops.items()}
    for name in list(nodes):
        while "/" in name:
            name = name.rpartition("/")[0]
            nodes.setdefault(name, Shown(name, []))
    root = Shown(ROOT, [])
    for name in sorted(nodes):
        above = name.rpartition("/")[0]
        (nodes[above] if "/" in name else root).children.append(nodes[name])
    return Tree(root, keeps_unaccounted=True)


def by_data_flow(statistics: Statistics) -> Tree:
    """Operations whose results nothing takes, and beneath each those it takes from."""
    nodes = {name: Shown(name, [statistics.ops[name]]) for name in sorted(statistics.ops)}
    inner = set()
    for node in nodes.values():
        taken = [name for name, _ in node.ops[0].inputs if name in nodes]
        node.children = [nodes[name] for name in taken]
        inner.update(taken)
    root = Shown(ROOT, [])
    root.children = [node for name, node in nodes.items() if name not in inner]
    return Tree(root, keeps_unaccounted=False)


def by_code(statistics: Statistics) -> Tree:
    """The program's lines, and beneath each those that it called; the last have the operations that they made."""
    root = Shown(ROOT, [], multiple=True)
    made: dict[tuple[str, ...], Shown] = {(): root}
    for name in sorted(statistics.ops):
        op = statistics.ops[name]
        way: tuple[str, ...] = ()
        for frame in _of_the_program(op.trace):
            above, way = made[way], (*way, frame)
            if way not in made:
                made[way] = Shown(frame, [], multiple=True)
                above.children.append(made[way])
        if way:
            made[way].ops.append(op)
    return Tree(root, keeps_unaccounted=True)


def _of_the_program(trace: Iterable[tuple[str, int, str]]) -> list[str]:
    frames = [f for f in trace if not os.path.abspath(f[0]).startswith(_HERE)]
    return [f"{os.path.basename(file)}:{line}:{function}" for file, line, function in frames]


class Types:
    """The list of operation types: each has in its total those that follow it."""

    def __init__(self, statistics: Statistics, kinds: dict[str, str]):
        groups = defaultdict(list)
        for name in sorted(statistics.ops):
            groups[kinds.get(name, name)].append(statistics.ops[name])
        self._nodes = [Shown(kind, groups[kind], multiple=True) for kind in sorted(groups)]
        for node in self._nodes:
            node.is_type = True

    def show(self, options: dict[str, Any]) -> tuple[str, Any]:
        root = Shown(ROOT, [], multiple=True)
        root.matching = []
        for node in self._nodes:
            node.account(options["step"], options["account_type_regexes"])
            node.add_up([])
        accounted = [n for n in ordered(self._nodes, options["order_by"]) if n.accounted]
        self._add_up(root, accounted)
        shown = []
        for depth, node in enumerate(self._from(accounted, options["start_name_regexes"])):
            trimmed = any_matches(options["trim_name_regexes"], [node.name])
            if trimmed or depth > options["max_depth"]:
                break
            if (
                large_enough(node, options)
                and any_matches(options["show_name_regexes"], [node.name])
                and not any_matches(options["hide_name_regexes"], [node.name])
            ):
                shown.append(node)
        if options["account_displayed_op_only"]:
            self._add_up(root, shown)
        select = options["select"]
        lines = [legend(select, of_types=True), *(n.row(select, root) + "\n" for n in shown)]
        message = above = root.message(options["step"])
        for node in shown:
            above.children.add().CopyFrom(node.message(options["step"]))
            above = above.children[0]
        return "".join(lines), message

    @staticmethod
    def _add_up(root: Shown, nodes: list[Shown]) -> None:
        following: list[Shown] = []
        for node in reversed(nodes):
            node.add_up(following)
            following = [node]
        root.total = following[0].total if following else root.own * 0

    @staticmethod
    def _from(nodes: list[Shown], patterns: list[str]) -> list[Shown]:
        if patterns == [".*"] or not patterns:
            return nodes
        first = next(
            (i for i, n in enumerate(nodes) if any_matches(patterns, [n.name])), len(nodes)
        )
        return nodes[first:]
