"""What goes with a graph from one side to the other: feeds, fetches and results, as JSON.

Arrays travel as bytes with a dtype and a shape, strings as lists, since the two sides' NumPy do not
read each other's pickles.
"""

import base64
import json

import numpy as np

TOLERANCE = {"float32": 2e-4, "float64": 1e-8, "complex64": 2e-4, "float16": 1e-2}


def encode(value):
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        texts = [v if isinstance(v, bytes) else v.encode() for v in array.ravel().tolist()]
        if array.dtype.kind == "S":  # fixed width would have lost the NULs at the end
            raise TypeError("bytes must come in an array of objects")
        data = [base64.b64encode(text).decode() for text in texts]
        return {"dtype": "string", "shape": array.shape, "data": data}
    name = array.dtype.name
    if name == "bfloat16":
        array = array.astype(np.float32)
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": array.shape, "data": data, "was": name}


def decode(entry):
    if entry is None:
        return None
    if entry["dtype"] == "string":
        array = np.empty(len(entry["data"]), object)
        array[:] = [base64.b64decode(text) for text in entry["data"]]
    else:
        array = np.frombuffer(base64.b64decode(entry["data"]), entry["dtype"])
    return array.reshape(entry["shape"])


def save(path, plan, results):
    runs = [
        {
            "feeds": {name: encode(_text(value)) for name, value in feeds.items()},
            "fetches": list(fetches),
            "results": [encode(_text(value)) for value in values],
        }
        for (feeds, fetches), values in zip(plan["runs"], results)
    ]
    content = {
        "init": None if plan.get("frozen") else plan.get("init"),
        "meta": plan.get("meta", False),
        "trainable": plan.get("trainable"),
        "runs": runs,
    }
    with open(path, "w") as file:
        json.dump(content, file)


def load(path):
    with open(path) as file:
        content = json.load(file)
    runs = [
        ({name: decode(value) for name, value in run["feeds"].items()}, run["fetches"])
        for run in content["runs"]
    ]
    expected = [[decode(value) for value in run["results"]] for run in content["runs"]]
    return dict(content, runs=runs), expected


def compare(plan, results, expected):
    for i, ((_, fetches), values, wanted) in enumerate(zip(plan["runs"], results, expected)):
        for name, value, want in zip(fetches, values, wanted):
            where = "run %d, %s" % (i, name)
            if want is None:
                assert value is None, where
                continue
            value = decode(encode(_text(value)))
            assert value.dtype == want.dtype, (where, value.dtype, want.dtype)
            assert value.shape == want.shape, (where, value.shape, want.shape)
            if want.dtype.kind in "fc":
                tolerance = TOLERANCE[want.dtype.name]
                np.testing.assert_allclose(value, want, tolerance, tolerance / 10, err_msg=where)
            else:
                np.testing.assert_array_equal(value, want, err_msg=where)


def _text(value):
    """A scalar string as an array of objects, since `np.asarray` gives it a fixed width."""
    if isinstance(value, (bytes, str)):
        array = np.empty((), object)
        array[()] = value
        return array
    return value
