"""PartitionedVariable: a variable in parts, used as one tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from weft.framework import conversion
from weft.framework.graph import control_dependencies
from weft.framework.scopes import name_scope


class PartitionedVariable:
    """The parts of a variable in the order of their offsets; converts to their concatenation."""

    def __init__(self, name: str, shape: Any, dtype: Any, variable_list: Any, partitions: Any):
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(p >= 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        if len(shape) != len(partitions):
            raise ValueError(f"len(shape) != len(partitions): {shape} vs. {partitions}")
        infos = [v._get_save_slice_info() for v in variable_list]
        if any(info is None for info in infos):
            raise ValueError(
                "All variables must have a save_slice_info available: "
                f"{[v.name for v in variable_list]}"
            )
        for info in infos:
            if info.full_shape != shape:
                raise ValueError(
                    f"All variables' full shapes must match shape: {shape}; but full shapes were: "
                    f"{[info.full_shape]}"
                )
        self._variable_list = sorted(
            variable_list, key=lambda v: v._get_save_slice_info().var_offset
        )
        self._name, self._shape, self._dtype = name, shape, dtype
        self._partitions = partitions

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise ValueError(f"Cannot get a length for {len(axes)} > 1 partition axes")
        return len(self._variable_list)

    def _partition_axes(self) -> list[int]:
        return [i for i, p in enumerate(self._partitions) if p > 1] or [0]

    def _one_axis(self, what: str) -> int:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(
                f"Cannot {what} along more than one dimension: {axes}.  Multi-axis partitions are not supported."
            )
        return axes[0]

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def shape(self) -> Any:
        return self._shape

    def get_shape(self) -> Any:
        return self._shape

    _distribute_strategy = None

    def _get_variable_list(self) -> list[Any]:
        return self._variable_list

    def _get_partitions(self) -> Any:
        return self._partitions

    def _concat(self) -> Any:
        import weft as tf

        if len(self._variable_list) == 1:
            with name_scope(None):
                return tf.identity(self._variable_list[0], name=self._name)
        axis = self._one_axis("concatenate")
        with name_scope(self._name + "/ConcatPartitions/"):
            whole = tf.concat(self._variable_list, axis)
        with name_scope(None):
            return tf.identity(whole, name=self._name)

    def as_tensor(self) -> Any:
        """The whole as a tensor, free of the control dependencies in force here, as a variable's value is."""
        with control_dependencies(None):
            return self._concat()

    def _assign_each(self, assign: Callable, value: Any, read_value: bool) -> list[Any]:
        import weft as tf

        axis = self._one_axis("do assign action")
        if isinstance(value, list):
            if len(value) != len(self._variable_list):
                raise ValueError(
                    f"{len(value)} values for the {len(self._variable_list)} parts of {self._name}."
                )
            values = value
        elif isinstance(value, PartitionedVariable):
            values = list(value)
        else:
            sizes = [v.shape.as_list()[axis] for v in self._variable_list]
            values = tf.split(value, sizes, axis=axis)
        out = [assign(v, part) for v, part in zip(self._variable_list, values)]
        return out if read_value else [o.op if hasattr(o, "op") else o for o in out]

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Gives each part its share of a value."""
        return self._assign_each(
            lambda v, part: v.assign(
                part, use_locking=use_locking, name=name, read_value=read_value
            ),
            value,
            read_value,
        )

    def assign_add(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Adds to each part its share of a value."""
        return self._assign_each(
            lambda v, part: v.assign_add(
                part, use_locking=use_locking, name=name, read_value=read_value
            ),
            value,
            read_value,
        )

    def assign_sub(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Subtracts from each part its share of a value."""
        return self._assign_each(
            lambda v, part: v.assign_sub(
                part, use_locking=use_locking, name=name, read_value=read_value
            ),
            value,
            read_value,
        )


def _convert(
    variable: PartitionedVariable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    if as_ref:
        raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
    return variable.as_tensor()


conversion.register_tensor_conversion_function(PartitionedVariable, _convert)
