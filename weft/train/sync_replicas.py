"""SyncReplicasOptimizer: several workers take each step together, gradients averaged on the parameter servers."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.tensor import Tensor
from weft.train.optimizer import Optimizer
from weft.train.queue_runner import QueueRunner
from weft.train.session_manager import not_ready
from weft.train.session_run_hook import SessionRunHook


@export("train.SyncReplicasOptimizer")
class SyncReplicasOptimizer(Optimizer):
    """Wraps an optimizer: gradients of `replicas_to_aggregate` workers make one update.

    Each gradient goes to an accumulator beside its variable, which drops those that were computed from older
    values. When enough have come the chief's queue runner applies their mean and hands out tokens, one for each
    worker, that carry the new global step; a worker goes on when it has taken one. Where there are more workers
    than are waited for, the slowest of a step are left behind.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ):
        super().__init__(use_locking, name)
        if total_num_replicas is None:
            total_num_replicas = replicas_to_aggregate
        tf.logging.info(
            "SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s",
            replicas_to_aggregate,
            total_num_replicas,
        )
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total_num_replicas
        self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._gradients_applied = False
        self._global_step: Any = None
        self._sync_token_queue: Any = None
        self._chief_queue_runner: QueueRunner | None = None
        self._accumulator_list: list[tuple[Any, str]] = []

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """As the wrapped optimizer's."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The operation of one worker's step: it gives its gradients and waits until the update was made."""
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        self._local_step = tf.Variable(
            initial_value=0,
            trainable=False,
            collections=[tf.GraphKeys.LOCAL_VARIABLES],
            dtype=global_step.dtype.base_dtype,
            name="sync_rep_local_step",
        )
        self.local_step_init_op = tf.assign(self._local_step, global_step)
        self.ready_for_local_init_op = tf.report_uninitialized_variables(tf.global_variables())
        with tf.name_scope(None, self._name):
            given, averaged = [], []
            for grad, var in grads_and_vars:
                with tf.device(var.device):
                    mean = None
                    if grad is not None:
                        apply, mean = self._accumulated(grad, var)
                        given.append(apply)
                averaged.append((mean, var))
            with tf.device(global_step.device), tf.name_scope(""):
                update = self._opt.apply_gradients(averaged, global_step)
                self._sync_token_queue = tf.FIFOQueue(
                    -1,
                    global_step.dtype.base_dtype,
                    shapes=(),
                    name="sync_token_q",
                    shared_name="sync_token_q",
                )
                # The chief's runner needs a queue to be called by; nothing is ever in it.
                dummy = tf.FIFOQueue(
                    1, tf.int32, shapes=(), name="dummy_queue", shared_name="dummy_queue"
                )
                with tf.control_dependencies(given):
                    token = self._sync_token_queue.dequeue()
                train_op = tf.assign(self._local_step, token)
                with tf.control_dependencies([update]):
                    step = global_step.read_value()  # read here: the update has counted
                    tokens = tf.fill([self._tokens_per_step], step)
                    sync = self._sync_token_queue.enqueue_many((tokens,))
                if self._variable_averages is not None:
                    with tf.control_dependencies([sync]), tf.name_scope(""):
                        sync = self._variable_averages.apply(self._variables_to_average)
            self._chief_queue_runner = QueueRunner(dummy, [sync])
            set_steps = []
            for accumulator, device in self._accumulator_list:
                with tf.device(device):
                    set_steps.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
        self.chief_init_op = tf.group(self.local_step_init_op, *set_steps)
        self._gradients_applied = True
        return train_op

    def _accumulated(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """The operation that gives a gradient to its accumulator, and the mean of those of a step."""
        shared_name = var.name + "/grad_accum"
        accumulator: Any
        if isinstance(grad, Tensor):
            accumulator = tf.ConditionalAccumulator(
                grad.dtype, shape=var.get_shape(), shared_name=shared_name
            )
            apply = accumulator.apply_grad(grad, local_step=self._local_step)
            mean = accumulator.take_grad(self._replicas_to_aggregate)
        elif isinstance(grad, IndexedSlices):
            accumulator = tf.SparseConditionalAccumulator(
                grad.dtype, shape=(), shared_name=shared_name
            )
            apply = accumulator.apply_indexed_slices_grad(grad, local_step=self._local_step)
            mean = accumulator.take_indexed_slices_grad(self._replicas_to_aggregate)
        else:
            raise ValueError(f"Unknown grad type: {grad} of {var.name}")
        self._accumulator_list.append((accumulator, var.device))
        return apply, mean

    def _check_applied(self, what: str) -> None:
        if not self._gradients_applied:
            raise ValueError(f"{what} should be called after apply_gradients().")

    def get_chief_queue_runner(self) -> QueueRunner:
        """What the chief runs beside its own steps: it makes the updates and hands out tokens."""
        self._check_applied("get_chief_queue_runner()")
        assert self._chief_queue_runner is not None
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """The operation that hands out the tokens of the first step."""
        self._check_applied("get_init_tokens_op()")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)"
            )
        if num_tokens <= 0:
            return tf.no_op(name="no_init_tokens")
        with tf.device(self._global_step.device), tf.name_scope(""):
            tokens = tf.fill([num_tokens], self._global_step)
            return self._sync_token_queue.enqueue_many((tokens,))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """The hook that initialises what the workers share and starts the chief's runner."""
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """As the wrapped optimizer's."""
        return self._opt.get_slot(*args, **kwargs)

    def variables(self) -> Any:
        """As the wrapped optimizer's."""
        return self._opt.variables()

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """As the wrapped optimizer's."""
        return self._opt.get_slot_names(*args, **kwargs)


class _SyncReplicasOptimizerHook(SessionRunHook):
    def __init__(self, sync_optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int):
        self._sync_optimizer = sync_optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        optimizer = self._sync_optimizer
        if not optimizer._gradients_applied:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._ready_for_local_init_op = optimizer.ready_for_local_init_op
        self._local_init_op = optimizer.local_step_init_op
        self._q_runner: QueueRunner | None = None
        self._init_tokens_op: Any = None
        if self._is_chief:
            self._local_init_op = optimizer.chief_init_op
            self._q_runner = optimizer.get_chief_queue_runner()
            self._init_tokens_op = optimizer.get_init_tokens_op(self._num_tokens)

    def after_create_session(self, session: Any, coord: Any) -> None:
        why = not_ready(
            self._ready_for_local_init_op,
            session,
            "Model is not ready for SyncReplicasOptimizer local init.",
        )
        if why is not None:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: "
                f"{self._local_init_op.name}, error: {why}"
            )
        session.run(self._local_init_op)
        if self._init_tokens_op is not None:
            session.run(self._init_tokens_op)
        if self._q_runner is not None:
            self._q_runner.create_threads(session, coord=coord, daemon=True, start=True)
