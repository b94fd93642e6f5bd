"""Items of records that are `tf.train.Example`s: tensors, boxes, images."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.slim.data.data_decoder import DataDecoder
from weft.framework import sparse_tensor


def _dense(x: Any, default_value: Any = 0) -> Any:
    if isinstance(x, sparse_tensor.SparseTensor):
        return tf.sparse_tensor_to_dense(x, default_value)
    return x


class ItemHandler(abc.ABC):
    """Makes an item of the features of some keys."""

    def __init__(self, keys: Any):
        self._keys = list(keys) if isinstance(keys, (tuple, list)) else [keys]

    @property
    def keys(self) -> list[str]:
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The item, of features by key."""


class ItemHandlerCallback(ItemHandler):
    """An item that a function makes."""

    def __init__(self, keys: Any, func: Callable):
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes [number, 4], of the features of their four sides."""

    def __init__(self, keys: Any = None, prefix: str = ""):
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([prefix + key for key in keys])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        sides = [keys_to_tensors[key] for key in self._keys]
        flat = [s.values if isinstance(s, sparse_tensor.SparseTensor) else s for s in sides]
        return tf.transpose(tf.concat([tf.expand_dims(s, 0) for s in flat], 0))


class Tensor(ItemHandler):
    """A feature, in a shape that is given or in other features."""

    def __init__(
        self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0
    ):
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        if shape_keys and not isinstance(shape_keys, list):
            shape_keys = [shape_keys]
        self._tensor_key, self._shape_keys = tensor_key, shape_keys
        self._shape, self._default_value = shape, default_value
        super().__init__([tensor_key, *(shape_keys or ())])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            sizes = [_dense(keys_to_tensors[key]) for key in self._shape_keys]
            shape = tf.reshape(tf.stack(sizes), [-1])
        if isinstance(tensor, sparse_tensor.SparseTensor):
            if shape is not None:
                tensor = tf.sparse_reshape(tensor, shape)
            return _dense(tensor, self._default_value)
        return tensor if shape is None else tf.reshape(tensor, shape)


class LookupTensor(Tensor):
    """A feature, looked up in a table."""

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: Any = None,
        shape: Any = None,
        default_value: Any = "",
    ):
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of one handler, or that of another where the first is empty."""

    def __init__(self, handler: Any, backup: Any):
        for given, kind in ((handler, "Primary"), (backup, "Backup")):
            if not isinstance(given, ItemHandler):
                raise ValueError(f"{kind} handler is of type {type(given)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__(handler.keys + backup.keys)

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        return tf.cond(
            tf.equal(tf.reduce_prod(tf.shape(item)), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


class SparseTensor(ItemHandler):
    """A SparseTensor, of features with indices and values."""

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ):
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default_value = densify, default_value
        keys = [self._indices_key, self._values_key]
        super().__init__(keys + ([shape_key] if shape_key else []))

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        indices = keys_to_tensors[self._indices_key]
        shape = self._shape or indices.dense_shape
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        columns = tf.reshape(tf.cast(indices.values, tf.int64), [-1, 1])
        where = tf.concat([indices.indices[:, :-1], columns], 1)
        tensor = sparse_tensor.SparseTensor(where, keys_to_tensors[self._values_key].values, shape)
        return _dense(tensor, self._default_value) if self._densify else tensor


class Image(ItemHandler):
    """An image of a feature with its bytes, whose format another feature tells."""

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = tf.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ):
        self._image_key = image_key or "image/encoded"
        self._format_key = format_key or "image/format"
        super().__init__([self._image_key, self._format_key])
        self._shape, self._channels, self._dtype = shape, channels, dtype
        self._repeated, self._dct_method = repeated, dct_method

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        data, kind = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return tf.map_fn(lambda x: self._decode(x, kind), data, dtype=self._dtype)
        return self._decode(data, kind)

    def _decode(self, data: Any, kind: Any) -> Any:
        def any_format() -> Any:
            return tf.cast(tf.image.decode_image(data, channels=self._channels), self._dtype)

        def jpeg() -> Any:
            image = tf.image.decode_jpeg(data, channels=self._channels, dct_method=self._dct_method)
            return tf.cast(image, self._dtype)

        image = tf.cond(
            tf.logical_or(tf.equal(kind, "raw"), tf.equal(kind, "RAW")),
            lambda: tf.decode_raw(data, out_type=self._dtype),
            lambda: tf.cond(tf.image.is_jpeg(data), jpeg, any_format, name="cond_jpeg"),
        )
        if self._shape is not None:
            image = tf.reshape(image, self._shape)
        else:
            image.set_shape([None, None, self._channels])
        return image


class TFExampleDecoder(DataDecoder):
    """Parses an Example, and makes items of its features."""

    def __init__(self, keys_to_features: dict[str, Any], items_to_handlers: dict[str, Any]):
        self._keys_to_features, self._items_to_handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Any = None) -> list[Any]:
        example = tf.parse_single_example(serialized_example, self._keys_to_features)
        for key, feature in sorted(self._keys_to_features.items()):
            if isinstance(feature, tf.FixedLenFeature):
                example[key] = tf.reshape(example[key], feature.shape)
        outputs = []
        for item in items or self._items_to_handlers:
            handler = self._items_to_handlers[item]
            outputs.append(handler.tensors_to_item({key: example[key] for key in handler.keys}))
        return outputs
