"""Cluster resolvers: who is in the cluster, asked of whatever has started it."""

import json
import os
import types

import pytest

import weft as tf
from weft.distribute.cluster_resolver.slurm import expand_hostlist

resolvers = tf.distribute.cluster_resolver

CLUSTER = {"ps": ["p:1"], "worker": ["a:1", "b:2"]}


def _simple(cluster, **kwargs):
    return resolvers.SimpleClusterResolver(tf.train.ClusterSpec(cluster), **kwargs)


def test_simple():
    resolver = _simple(CLUSTER, master="m:9", rpc_layer="grpc", num_accelerators={"GPU": 2})
    assert resolver.cluster_spec().as_dict() == CLUSTER
    assert resolver.master() == "grpc://m:9"
    assert resolver.master("worker", 1) == "grpc://b:2"
    assert resolver.master("ps", 0, rpc_layer="x") == "x://p:1"
    assert resolver.num_accelerators() == {"GPU": 2} and resolver.environment == ""
    assert _simple(CLUSTER).num_accelerators() == {}
    with pytest.raises(TypeError, match="ClusterSpec, not dict"):
        resolvers.SimpleClusterResolver(CLUSTER)
    with pytest.raises(TypeError, match="abstract"):
        resolvers.ClusterResolver()


def test_union_joins_lists_and_refuses_what_two_have():
    one = _simple({"worker": ["a:1"], "ps": ["p:1"]}, task_type="worker", task_id=3, rpc_layer="q")
    two = _simple({"worker": ["b:1"]})
    union = resolvers.UnionResolver(one, two)
    assert union.cluster_spec().as_dict() == {"worker": ["a:1", "b:1"], "ps": ["p:1"]}
    assert (union.task_type, union.task_id, union.rpc_layer) == ("worker", 3, "q")
    assert resolvers.UnionResolver(one, task_id=0).task_id == 0
    numbered = _simple({"worker": {2: "c:1", 4: "d:1"}})
    union = resolvers.UnionResolver(one, numbered)
    assert union.cluster_spec().as_dict()["worker"] == {0: "a:1", 2: "c:1", 4: "d:1"}
    assert union.master("worker", 4, "grpc") == "grpc://d:1"
    with pytest.raises(KeyError, match=r"worker \[2\]"):
        resolvers.UnionResolver(numbered, _simple({"worker": {2: "e:1"}})).cluster_spec()
    with pytest.raises(ValueError, match="At least one"):
        resolvers.UnionResolver()
    with pytest.raises(ValueError, match="other"):
        resolvers.UnionResolver(one, other=1)
    with pytest.raises(TypeError, match="no ClusterResolver"):
        resolvers.UnionResolver(one, "two")


def test_tf_config(monkeypatch):
    config = {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}, "rpc_layer": "grpc"}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    resolver = resolvers.TFConfigClusterResolver()
    assert resolver.cluster_spec().as_dict() == CLUSTER
    assert (resolver.task_type, resolver.task_id) == ("worker", 1)
    assert resolver.master() == "grpc://b:2" and resolver.master("ps", 0) == "grpc://p:1"
    resolver.task_type, resolver.task_id = "ps", 0
    assert resolver.master() == "grpc://p:1"
    monkeypatch.setenv("TF_CONFIG", json.dumps(dict(config, session_master="grpc://else:1")))
    assert resolver.master() == "grpc://else:1"
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER}))
    with pytest.raises(RuntimeError, match="no task"):
        resolvers.TFConfigClusterResolver().master()
    monkeypatch.delenv("TF_CONFIG")
    resolver = resolvers.TFConfigClusterResolver()
    assert resolver.master() == "" and not resolver.cluster_spec()
    assert resolver.task_type is None and resolver.task_id is None


def test_devices_are_counted_at_a_server(monkeypatch):
    server = tf.train.Server.create_local_server()
    address = server.target[len("grpc://") :]
    config = {"cluster": {"local": [address], "ps": ["p:1"]}, "task": {"type": "local", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(dict(config, session_master=server.target)))
    resolver = resolvers.TFConfigClusterResolver()
    assert resolver.num_accelerators() == {"CPU": 1}
    assert resolver.num_accelerators("local", 1) == {}


@pytest.fixture
def slurm(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("SLURM_", "OMPI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", "")  # no scontrol
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "none")

    def start(rank, tasks, **others):
        monkeypatch.setenv("SLURM_PROCID", str(rank))
        monkeypatch.setenv("SLURM_NTASKS", str(tasks))
        for name, value in others.items():
            monkeypatch.setenv(name, str(value))

    return start


def test_slurm(slurm):
    slurm(3, 5, SLURM_NTASKS_PER_NODE=2, SLURM_JOB_NODELIST="t[08-09],u1")
    resolver = resolvers.SlurmClusterResolver(
        {"worker": 4, "ps": 1}, port_base=7000, gpus_per_node=4, gpus_per_task=2
    )
    assert resolver.get_task_info() == (None, None) and resolver.master("ps", 0) == (
        "grpc://t08:7000"
    )
    assert resolver.cluster_spec().as_dict() == {
        "ps": ["t08:7000"],
        "worker": ["t08:7001", "t09:7000", "t09:7001", "u1:7000"],
    }
    assert resolver.get_task_info() == ("worker", 2) and resolver.master() == "grpc://t09:7001"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert resolver.num_accelerators() == {"GPU": 4}


def test_slurm_asks_scontrol(slurm, tmp_path, monkeypatch):
    program = tmp_path / "scontrol"
    program.write_text('#!/bin/sh\n[ "$*" = "show hostname" ] && printf "x\\ny\\n"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    slurm(0, 2)
    resolver = resolvers.SlurmClusterResolver(
        {"w": 2}, tasks_per_node=1, gpus_per_node=0, gpus_per_task=0, auto_set_gpu=False
    )
    assert resolver.cluster_spec().as_dict() == {"w": ["x:8888", "y:8888"]}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "none"


def test_slurm_refuses_what_it_has_not_started(slurm):
    slurm(0, 3, SLURM_JOB_NODELIST="a")
    with pytest.raises(RuntimeError, match="SLURM_NTASKS_PER_NODE"):
        resolvers.SlurmClusterResolver({"w": 3})
    with pytest.raises(RuntimeError, match="more GPUs"):
        resolvers.SlurmClusterResolver({"w": 3}, tasks_per_node=2)
    with pytest.raises(RuntimeError, match="jobs have 4"):
        resolvers.SlurmClusterResolver({"w": 4}, tasks_per_node=1)
    with pytest.raises(RuntimeError, match="room for 1"):
        resolvers.SlurmClusterResolver({"w": 3}, tasks_per_node=1).cluster_spec()


def test_hostlists():
    assert expand_hostlist("a,b") == ["a", "b"]
    assert expand_hostlist("n[1-3,07,10],m") == ["n1", "n2", "n3", "n07", "n10", "m"]
    assert expand_hostlist("r[1-2]c[08-09]x") == ["r1c08x", "r1c09x", "r2c08x", "r2c09x"]


def _pods(*pods):
    return types.SimpleNamespace(
        items=[
            types.SimpleNamespace(
                metadata=types.SimpleNamespace(name=name),
                status=types.SimpleNamespace(phase=phase, host_ip=ip),
            )
            for name, phase, ip in pods
        ]
    )


def test_kubernetes():
    found = {
        "job-name=one": _pods(("z", "Running", "10.0.0.2"), ("y", "Running", "10.0.0.1")),
        "job-name=two": _pods(("x", "Running", "10.0.0.3")),
        "job-name=ps": _pods(("p", "Pending", "10.0.0.4")),
    }
    client = types.SimpleNamespace(
        list_pod_for_all_namespaces=lambda label_selector: found[label_selector]
    )
    resolver = resolvers.KubernetesClusterResolver(
        {"worker": ["job-name=one", "job-name=two"]}, 99, override_client=client
    )
    wanted = ["10.0.0.1:99", "10.0.0.2:99", "10.0.0.3:99"]
    assert resolver.cluster_spec().as_dict() == {"worker": wanted}
    assert resolver.master() == "" and resolver.master("worker", 2) == "grpc://10.0.0.3:99"
    resolver = resolvers.KubernetesClusterResolver({"ps": ["job-name=ps"]}, override_client=client)
    with pytest.raises(RuntimeError, match='"p" is not running; phase: "Pending"'):
        resolver.cluster_spec()


class _Service:
    """An instance group of two pages."""

    pages = [["g/b", "g/a"], ["g/c"]]

    def instanceGroups(self):
        return self

    instances = instanceGroups

    def listInstances(self, project, zone, instanceGroups, body, orderBy):
        assert (project, zone, instanceGroups) == ("p", "z", "g") and orderBy == "name"
        assert body == {"instanceState": "RUNNING"}
        return self._request(0)

    def listInstances_next(self, previous_request, previous_response):
        page = previous_request.page + 1
        return self._request(page) if page < len(self.pages) else None

    def _request(self, page):
        items = [{"instance": name} for name in self.pages[page]]
        return types.SimpleNamespace(page=page, execute=lambda: {"items": items})

    def get(self, project, zone, instance):
        reply = {"networkInterfaces": [{"networkIP": f"10.0.0.{ord(instance)}"}]}
        return types.SimpleNamespace(execute=lambda: reply)


def test_gce():
    resolver = resolvers.GCEClusterResolver("p", "z", "g", 80, service=_Service())
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["10.0.0.97:80", "10.0.0.98:80", "10.0.0.99:80"]
    }
    assert resolver.master() == "grpc://10.0.0.97:80"
    resolver.task_id = 2
    assert resolver.master(rpc_layer="x") == "x://10.0.0.99:80"
    with pytest.raises(RuntimeError, match="cannot reset the task_type"):
        resolver.task_type = "ps"


def test_what_is_missing_is_said():
    with pytest.raises(ImportError, match="pip install kubernetes"):
        resolvers.KubernetesClusterResolver()
    with pytest.raises(ImportError, match="googleapiclient"):
        resolvers.GCEClusterResolver("p", "z", "g", 80)
    with pytest.raises(tf.errors.UnimplementedError, match="Cloud TPU"):
        resolvers.TPUClusterResolver("mine")


def test_the_older_names():
    older = tf.contrib.cluster_resolver
    assert older.UnionClusterResolver is resolvers.UnionResolver
    assert older.SlurmClusterResolver is resolvers.SlurmClusterResolver
