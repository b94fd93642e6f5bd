"""Iterators in checkpoints: on with the input where it was."""

from __future__ import annotations

import os
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.train.saveable import SaveableObject, SaveSpec


class IteratorSaveable(SaveableObject):
    """Where an iterator is, for a Saver."""

    def __init__(self, iterator_resource: Any, name: str, state_name: str):
        state = tf.raw_ops.SerializeIterator(resource_handle=iterator_resource)
        super().__init__(iterator_resource, [SaveSpec(state, "", state_name)], name)

    def restore(self, restored_tensors: list[Any], restored_shapes: Any) -> Any:
        with tf.colocate_with(self.op):
            return tf.raw_ops.DeserializeIterator(
                resource_handle=self.op, serialized=restored_tensors[0]
            )


def saveables(iterator_resource: Any) -> dict[str, Any]:
    """What an iterator gives to an object-based checkpoint."""
    return {
        "ITERATOR": lambda name="ITERATOR": IteratorSaveable(
            iterator_resource, name, f"{name}_STATE"
        )
    }


@export("data.experimental.make_saveable_from_iterator")
def make_saveable_from_iterator(iterator: Any) -> IteratorSaveable:
    """What has a Saver save an iterator, in the collection SAVEABLE_OBJECTS or given to the Saver.

    The initializer begins at the beginning again also after restoring: run it before, or not at all.
    """
    return _of_resource(iterator._iterator_resource)


def _of_resource(resource: Any) -> IteratorSaveable:
    return IteratorSaveable(resource, resource.name, f"{resource.name}-state")


@export("data.experimental.CheckpointInputPipelineHook")
class CheckpointInputPipelineHook(tf.train.SessionRunHook):
    """Saves where all iterators of the graph are, beside the checkpoints of the model, and restores that.

    As long and as often as the estimator's configuration says for those of the model. The state is restored with the
    first step, when whatever initializes iterators has done so.
    """

    def __init__(self, estimator: Any):
        config = estimator._config
        prefix = "input"
        if config.num_worker_replicas > 1:  # each has its own
            prefix += f"_{config.task_type}_{config.task_id}"
        # TensorFlow's estimators look for a CheckpointSaverHook, to add one where there is none: this is not one.
        self._checkpoint_saver_hook = tf.train.CheckpointSaverHook(
            estimator.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            checkpoint_basename=f"{prefix}.ckpt",
        )
        self._latest_filename = f"checkpoint_{prefix}"
        self._first_run = True

    def begin(self) -> None:
        hook = self._checkpoint_saver_hook
        if hook._saver is None and hook._scaffold is None:
            hook._saver = _SaverOfIterators(
                [_of_resource(r) for r in tf.get_collection("iterators")], self._latest_filename
            )
        hook.begin()

    def before_run(self, run_context: Any) -> Any:
        if self._first_run:
            self._first_run = False
            self._restore_or_save(run_context.session)
        return self._checkpoint_saver_hook.before_run(run_context)

    def _restore_or_save(self, session: Any) -> None:
        hook = self._checkpoint_saver_hook
        step = session.run(hook._global_step_tensor)
        state = tf.train.get_checkpoint_state(hook._checkpoint_dir, self._latest_filename)
        hook._timer.update_last_triggered_step(step)  # so that it saves with that of the model
        if state is None or not state.model_checkpoint_path:
            hook._save(session, step)
            return
        # A process that is killed between the two saves leaves the model's checkpoint at another step than the last
        # of the input.
        wanted = f"{os.path.basename(hook._save_path)}-{step}"
        found = [p for p in state.all_model_checkpoint_paths if os.path.basename(p) == wanted]
        path = found[0] if found else state.model_checkpoint_path
        if not found:
            tf.logging.warning(
                "There is no saved input of step %d in %s: it goes on from %s.",
                *(step, hook._checkpoint_dir, os.path.basename(path)),
            )
        saver = hook._get_saver()
        saver.restore(session, path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._checkpoint_saver_hook.after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        self._checkpoint_saver_hook.end(session)


class _SaverOfIterators(tf.train.Saver):
    """A Saver whose list of checkpoints has a name of its own, so that it does not get into the way of the model's."""

    def __init__(self, var_list: Any, latest_filename: str):
        super().__init__(var_list)
        self._latest_filename = latest_filename

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        name = latest_filename or self._latest_filename
        return super().save(sess, save_path, global_step, name, *args, **kwargs)
