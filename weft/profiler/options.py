"""`tf.profiler.ProfileOptionBuilder`: dicts that say what a profile shows."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from weft.framework.export import export

TRAINABLE_VARIABLES = "_trainable_variables"

_EVERYTHING: dict[str, Any] = {
    "max_depth": 10000,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": True,
    "select": [],
    "step": -1,
    "output": "stdout",
}
# What a dict that does not say so means.
_UNSAID = {**_EVERYTHING, "max_depth": 10, "account_displayed_op_only": False}
_UNSAID.update(
    dict.fromkeys(("account_type_regexes", "start_name_regexes", "show_name_regexes"), [])
)
_MINIMA = "min_peak_bytes min_residual_bytes min_output_bytes min_accelerator_micros min_cpu_micros".split()
OUTPUTS = ("timeline", "stdout", "file", "pprof", "none")


def _with(**given: Any) -> dict[str, Any]:
    return {**copy.deepcopy(_EVERYTHING), **given}


def complete(options: dict[str, Any]) -> dict[str, Any]:
    """Options with all that is unsaid; what they ask for of outputs is taken apart."""
    full = {**dict.fromkeys(_MINIMA, 0), **_UNSAID, **options}
    kind, _, rest = str(full["output"]).partition(":")
    if kind not in OUTPUTS:
        raise ValueError(f"Unknown output of a profile: {full['output']!r}; one of {OUTPUTS}.")
    full["output"] = kind
    full["outfile"] = dict(p.partition("=")[::2] for p in rest.split(",")).get("outfile", "")
    if kind in ("file", "timeline", "pprof") and not full["outfile"]:
        raise ValueError(f"output={options['output']!r} needs a file: '{kind}:outfile=<path>'.")
    return full


@export("profiler.ProfileOptionBuilder")
class ProfileOptionBuilder:
    """Makes the options of a profile, beginning with a dict of options or with those that show time.

    The methods that are called `with_...`, `select`, `order_by` and `account_displayed_op_only` return the builder.
    """

    def __init__(self, options: dict[str, Any] | None = None):
        if options is None:
            options = _with(max_depth=100, account_displayed_op_only=False, select=["micros"])
        self._options = copy.deepcopy(options)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Options that show how many parameters the trainable variables have."""
        return _with(account_type_regexes=[TRAINABLE_VARIABLES], select=["params"])

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Options that show how many float operations there are."""
        return _with(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Options that show the time and the memory that operations took."""
        return _with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            order_by="micros",
            select=["micros", "bytes"],
        )

    def build(self) -> dict[str, Any]:
        """The options, a dict."""
        return copy.deepcopy(self._options)

    def _set(self, **options: Any) -> ProfileOptionBuilder:
        self._options.update(copy.deepcopy(options))
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Shows what is at most so deep: scopes within scopes, or inputs of inputs; of a list so many."""
        return self._set(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> ProfileOptionBuilder:
        """Shows what takes at least so much memory."""
        return self._set(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Shows what takes at least so much time."""
        return self._set(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Shows what has at least so many parameters."""
        return self._set(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Shows what occurs at least so often."""
        return self._set(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Shows what takes at least so many float operations."""
        return self._set(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> ProfileOptionBuilder:
        """Counts operations one of whose types (its own, its device, those of the log) matches."""
        return self._set(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> ProfileOptionBuilder:
        """Chooses by names where to begin, what to show and to hide, and where to go no further."""
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._set(**{k: list(v) for k, v in given.items() if v is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Counts for those above only what is shown."""
        return self._set(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Shows nothing: the result is all."""
        return self._set(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Prints the profile."""
        return self._set(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Writes the profile to a file."""
        return self._set(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Writes a trace for Chrome's viewer, one file `<timeline_file>_<step>` for each step."""
        return self._set(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> ProfileOptionBuilder:
        """Asks for pprof's format, which weft does not write: the profile says so."""
        return self._set(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Orders by an attribute: name, bytes, micros, params, float_ops, occurrence, ..."""
        return self._set(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> ProfileOptionBuilder:
        """Shows these attributes."""
        return self._set(select=list(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Shows a step of those that were added; -1 for the average."""
        return self._set(step=step)
