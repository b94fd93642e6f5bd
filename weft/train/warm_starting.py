"""`tf.train.warm_start`: variables that begin where another model ended, also with another vocabulary."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.train.checkpoint_reader import init_from_checkpoint, prefix_of
from weft.train.remapping import remapping_initializer
from weft.train.saver import object_graph_keys
from weft.variables.base import Variable
from weft.variables.partition_info import PartitionInfo

_VocabInfo = collections.namedtuple(
    "_VocabInfo",
    "new_vocab new_vocab_size num_oov_buckets old_vocab old_vocab_size backup_initializer axis",
)


@export("train.VocabInfo")
class VocabInfo(_VocabInfo):
    """The vocabularies, as files of a word in each line, that the rows (or columns) of a variable have and had."""

    __slots__ = ()

    def __new__(
        cls,
        new_vocab: str,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: str,
        old_vocab_size: int = -1,
        backup_initializer: Callable | None = None,
        axis: int = 0,
    ) -> VocabInfo:
        if axis not in (0, 1):
            raise ValueError(
                f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}"
            )
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


def _whole_name(variable: Any) -> str:
    """What a variable, or the whole that it is a part of, is called in checkpoints."""
    info = variable._get_save_slice_info()
    return info.full_name if info is not None else variable.op.name


def _with_vocabulary(parts: list[Any], info: VocabInfo, checkpoint: str, old_name: str) -> None:
    """Makes the initializers of a variable's parts read what belongs to the words they have."""
    words: dict[str, Any]
    for part in parts:
        shape = part.get_shape().as_list()
        place = part._get_save_slice_info()
        partition = None if place is None else PartitionInfo(place.full_shape, place.var_offset)
        if info.axis == 0:
            words = {
                "new_row_vocab_size": info.new_vocab_size,
                "new_col_vocab_size": shape[1],
                "old_row_vocab_size": info.old_vocab_size,
                "old_row_vocab_file": info.old_vocab,
                "new_row_vocab_file": info.new_vocab,
                "num_row_oov_buckets": info.num_oov_buckets,
            }
        else:
            words = {
                "new_row_vocab_size": sum(p.get_shape().as_list()[0] for p in parts),
                "new_col_vocab_size": info.new_vocab_size,
                "old_col_vocab_file": info.old_vocab,
                "new_col_vocab_file": info.new_vocab,
                "num_col_oov_buckets": info.num_oov_buckets,
            }
        make = remapping_initializer(
            checkpoint, old_name, initializer=info.backup_initializer, **words
        )
        value = tf.convert_to_tensor(make(shape, partition_info=partition))
        part._initializer_op = tf.assign(part, value).op


def _chosen(vars_to_warm_start: Any) -> list[Any]:
    """The variables that are meant."""
    if vars_to_warm_start is None or isinstance(vars_to_warm_start, str):
        return tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope=vars_to_warm_start)
    if not isinstance(vars_to_warm_start, list):
        raise ValueError(
            f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(vars_to_warm_start)}"
        )
    if all(isinstance(v, str) for v in vars_to_warm_start):
        scopes = vars_to_warm_start
        return [
            v for s in scopes for v in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope=s)
        ]
    if all(isinstance(v, Variable) for v in vars_to_warm_start):
        return vars_to_warm_start
    raise ValueError(
        "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given types are "
        f"{[type(v) for v in vars_to_warm_start]}"
    )


@export("train.warm_start")
def warm_start(
    ckpt_to_initialize_from: str,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: dict[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: dict[str, str] | None = None,
) -> None:
    """Lets variables begin with values of a checkpoint; where the vocabulary is another, word by word.

    Which variables: those that can be trained and whose names match, those that match any of a list, or a list of
    variables; None leaves those without vocabularies as they are.
    """
    tf.logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    vocabularies, old_names = var_name_to_vocab_info or {}, var_name_to_prev_var_name or {}
    groups: dict[str, list[Any]] = {}
    for variable in _chosen(vars_to_warm_start):
        groups.setdefault(_whole_name(variable), []).append(variable)
    for what, given in (("vocab_info", vocabularies), ("prev_var_name", old_names)):
        unused = set(given) - set(groups)
        if unused:
            raise ValueError(
                f"You provided the following variables in var_name_to_{what} that were not used: {unused}.  Perhaps "
                f"you misspelled them?  Here is the list of viable variable names: {list(groups)}"
            )
    checkpoint = prefix_of(ckpt_to_initialize_from)
    if checkpoint is None:
        raise ValueError(f"There is no checkpoint in directory {ckpt_to_initialize_from}")
    # In a checkpoint of objects the variables are found by the names that they had when it was written.
    keys = {} if old_names else object_graph_keys(checkpoint) or {}
    missing = sorted(set(groups) - set(keys)) if keys else []
    if missing:
        raise ValueError(
            "Attempting to warm-start from an object-based checkpoint, but found that the checkpoint did not "
            f"contain values for all variables. The following variables were missing: {missing}"
        )
    others: dict[str, Any] = {}
    for name, parts in groups.items():
        old_name = old_names.get(name, keys.get(name, name))
        if name in vocabularies:
            _with_vocabulary(parts, vocabularies[name], checkpoint, old_name)
        elif vars_to_warm_start:
            is_part = parts[0]._get_save_slice_info() is not None
            others[old_name] = parts if is_part else parts[0]
    init_from_checkpoint(ckpt_to_initialize_from, others)
    tf.logging.info("Warm-started %d variables.", len(others) + len(vocabularies))
