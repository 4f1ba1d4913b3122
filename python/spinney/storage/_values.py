"""Python values as JSON and arrays, so that files can hold them without pickle.

None, bools, ints, finite floats, strings and lists stand for themselves. Everything else is an
object with the key "type", which is one of a fixed set. Nothing that is read can name code.
"""

from __future__ import annotations

import datetime as dt
import importlib
import math
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ARRAY_KINDS = "biufcUSmM"
# Wider floats have another layout on every platform.
_MAX_FLOAT = {"f": 8, "c": 16}


class Encoder:
    """Turns values into JSON, and keeps the arrays that the JSON speaks of.

    Parameters
    ----------
    records : tuple of type
        Classes of named tuples that may occur.
    split_object : callable or None
        Returns the name and the parts of other objects that may occur, or None for any others.

    Attributes
    ----------
    arrays : list of ndarray
    has_objects : bool
        Whether one of these others did occur.
    """

    def __init__(
        self,
        records: tuple[Any, ...] = (),
        split_object: Callable[[Any], tuple[str, list[Any]] | None] | None = None,
    ) -> None:
        self._records = records
        self._split_object = split_object
        self.arrays: list[NDArray[Any]] = []
        self.has_objects = False

    def encode(self, value: Any, name: str) -> Any:
        """Return a value as JSON; `name` is what an error calls it.

        Raises
        ------
        TypeError
            If the value is of a type that files cannot hold, such as a function.
        """
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"type": "float", "value": repr(value)}
        if kind is list:
            return self._encode_items(value, name)
        if kind is tuple:
            return {"type": "tuple", "items": self._encode_items(value, name)}
        if kind is dict and all(type(key) is str for key in value):
            named = {key: self.encode(item, f"{name}[{key!r}]") for key, item in value.items()}
            return {"type": "names", "items": named}
        if kind is dict:
            keys = self._encode_items(list(value), f"a key of {name}")
            items = self._encode_items(list(value.values()), name)
            return {"type": "dict", "keys": keys, "items": items}
        if kind in self._records:
            fields = {
                field: self.encode(item, f"{name}.{field}")
                for field, item in value._asdict().items()
                # Earlier versions read what uses nothing new.
                if not (item is None and field in value._field_defaults)
            }
            return {"type": kind.__name__, **fields}
        if isinstance(value, np.ndarray) and kind in (np.ndarray, np.memmap):
            return self._encode_array(np.asarray(value), name)
        if isinstance(value, np.generic) and _is_plain(value.dtype):
            return {"type": "scalar", "array": self._encode_array(np.array(value), name)}
        if kind is np.random.RandomState:
            return {"type": "RandomState", "state": self.encode(value.get_state(legacy=True), name)}
        for type_name, (known, parts, _) in _list_simple_types().items():
            if kind is known:
                return {"type": type_name, "parts": self._encode_items(list(parts(value)), name)}
        found = None if self._split_object is None else self._split_object(value)
        if found is not None:
            self.has_objects = True
            return {"type": found[0], "parts": self._encode_items(found[1], name)}
        raise TypeError(
            f"{name} cannot be saved: files hold numbers, strings, arrays, dates, lists, "
            "tuples, sets and dicts of these, estimators of spinney, and None. Got "
            f"{value!r} of the type {kind.__qualname__} instead."
        )

    def _encode_items(self, items: Any, name: str) -> list[Any]:
        return [self.encode(item, name) for item in items]

    def _encode_array(self, array: NDArray[Any], name: str) -> dict[str, Any]:
        shape = list(array.shape)
        if array.dtype.kind == "O":
            items = self._encode_items(array.ravel().tolist(), name)
            return {"type": "objects", "shape": shape, "items": items}
        if not _is_plain(array.dtype):
            raise TypeError(
                f"{name} cannot be saved: files hold arrays of bools, integers, floats of up to 64 "
                f"bits, strings, dates and objects. Got the dtype {array.dtype} instead."
            )
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(shape)
        self.arrays.append(array)
        number = len(self.arrays) - 1
        return {"type": "array", "number": number, "dtype": array.dtype.str, "shape": shape}


class Decoder:
    """Turns JSON back into values; everything in it may be forged.

    Parameters
    ----------
    arrays : list of ndarray of uint8
        The bytes of the arrays.
    records : tuple of type
        Classes of named tuples that may occur.
    mapped : tuple of type
        Those of them and of the objects whose arrays are the bytes of the file, and not copies of
        them: they are large, and nobody writes to them.
    find_maker : callable or None
        Returns the function that makes other objects with a name of their parts.
    """

    def __init__(
        self,
        arrays: list[NDArray[np.uint8]],
        records: tuple[Any, ...] = (),
        mapped: tuple[Any, ...] = (),
        find_maker: Callable[[str], Callable[..., Any]] | None = None,
    ) -> None:
        self._arrays = arrays
        self._records = {record.__name__: record for record in records}
        self._mapped = {kind.__name__ for kind in mapped}
        self._find_maker = find_maker
        self._is_mapped = False

    def decode(self, coded: Any) -> Any:
        """Return the value of some JSON.

        Raises
        ------
        ValueError, TypeError, KeyError
            If nothing can be encoded like this.
        """
        if isinstance(coded, list):
            return [self.decode(item) for item in coded]
        if not isinstance(coded, dict):
            return coded
        kind = coded["type"]
        if kind == "float":
            if coded["value"] not in ("nan", "inf", "-inf"):
                raise ValueError(f"the float {coded['value']!r}")
            return float(coded["value"])
        if kind == "tuple":
            return tuple(self._decode_list(coded["items"]))
        if kind == "dict":
            keys, items = self._decode_list(coded["keys"]), self._decode_list(coded["items"])
            return dict(zip(keys, items, strict=True))
        if kind == "names":
            return {key: self.decode(item) for key, item in coded["items"].items()}
        if kind in self._records:
            self._is_mapped = kind in self._mapped
            fields = {field: self.decode(item) for field, item in coded.items() if field != "type"}
            self._is_mapped = False
            return self._records[kind](**fields)
        if kind == "array":
            return self._decode_array(coded)
        if kind == "objects":
            items = self._decode_list(coded["items"])
            array = np.empty(len(items), dtype=object)
            for place, item in enumerate(items):
                array[place] = item
            return array.reshape(_read_shape(coded["shape"], len(items)))
        if kind == "scalar":
            return self.decode(coded["array"])[()]
        if kind == "RandomState":
            random_state = np.random.RandomState(0)
            random_state.set_state(self.decode(coded["state"]))
            return random_state
        types = _list_simple_types()
        if kind not in types and kind in _PANDAS_TYPES:
            # Categories that `pandas.cut` makes, say, are values of its types.
            importlib.import_module("pandas")
            types = _list_simple_types()
        if kind in types or self._find_maker is None:
            make = types[kind][2]
        else:
            make = self._find_maker(kind)
        self._is_mapped = kind in self._mapped
        parts = self._decode_list(coded["parts"])
        self._is_mapped = False
        return make(*parts)

    def _decode_list(self, items: Any) -> list[Any]:
        if not isinstance(items, list):
            raise TypeError(f"{type(items).__name__} in the place of a list")
        return [self.decode(item) for item in items]

    def _decode_array(self, coded: dict[str, Any]) -> NDArray[Any]:
        dtype = np.dtype(str(coded["dtype"]))
        if not _is_plain(dtype) or dtype.itemsize == 0:
            raise ValueError(f"the dtype {dtype}")
        number = coded["number"]
        if type(number) is not int or not 0 <= number < len(self._arrays):
            raise ValueError(f"the array {number}")
        data = self._arrays[number]
        if data.shape[0] % dtype.itemsize:
            raise ValueError(f"{data.shape[0]} bytes of items of {dtype.itemsize}")
        values = np.frombuffer(data, dtype=dtype)
        if not (self._is_mapped and values.flags.aligned and dtype.isnative):
            # A copy: the bytes of the file are not kept.
            values = np.frombuffer(data.tobytes(), dtype=dtype).astype(dtype.newbyteorder("="))
        if dtype.kind == "b" and np.any(data > 1):
            raise ValueError("bools that are neither 0 nor 1")
        if dtype.kind == "U":
            _check_text(data.view("<u4"))
        return values.reshape(_read_shape(coded["shape"], values.shape[0]))


def _is_plain(dtype: np.dtype[Any]) -> bool:
    is_short = dtype.itemsize <= _MAX_FLOAT.get(dtype.kind, dtype.itemsize)
    return dtype.kind in _ARRAY_KINDS and dtype.fields is None and is_short


def _read_shape(shape: Any, size: int) -> tuple[int, ...]:
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"the shape {shape!r}")
    if math.prod(shape) != size or len(shape) > 32:
        raise ValueError(f"the shape {shape!r} of {size} items")
    return tuple(shape)


def _check_text(points: NDArray[np.uint32]) -> None:
    if np.any(points > sys.maxunicode):
        raise ValueError("characters that do not exist")


_SimpleType = tuple[Any, Callable[[Any], tuple[Any, ...]], Callable[..., Any]]
"""A type, the parts of a value of it, and how a value is made of them."""


def _read_datetime(text: str, offset: float | None) -> dt.datetime:
    time = dt.datetime.fromisoformat(text)
    if offset is None:
        return time
    return time.replace(tzinfo=dt.timezone(dt.timedelta(seconds=offset)))


def _check_zone(time: dt.datetime | dt.time) -> None:
    if time.tzinfo is not None and type(time.tzinfo) is not dt.timezone:
        raise TypeError(
            f"{time!r} cannot be saved: its time zone is none of a fixed offset from UTC."
        )


def _split_datetime(time: dt.datetime) -> tuple[str, float | None]:
    _check_zone(time)
    offset = time.utcoffset()
    seconds = None if offset is None else offset.total_seconds()
    return time.replace(tzinfo=None).isoformat(), seconds


def _split_time(time: dt.time) -> tuple[str]:
    _check_zone(time)
    return (time.isoformat(),)


_STANDARD_TYPES: dict[str, _SimpleType] = {
    "bytes": (bytes, lambda value: (value.hex(),), bytes.fromhex),
    "complex": (complex, lambda value: (value.real, value.imag), complex),
    "Decimal": (Decimal, lambda value: (str(value),), Decimal),
    "Fraction": (Fraction, lambda value: (value.numerator, value.denominator), Fraction),
    "set": (set, lambda value: tuple(sorted(value, key=repr)), lambda *items: set(items)),
    "frozenset": (
        frozenset,
        lambda value: tuple(sorted(value, key=repr)),
        lambda *items: frozenset(items),
    ),
    "date": (
        dt.date,
        lambda value: (value.isoformat(),),
        dt.date.fromisoformat,
    ),
    "datetime": (dt.datetime, _split_datetime, _read_datetime),
    "time": (dt.time, _split_time, dt.time.fromisoformat),
    "timedelta": (
        dt.timedelta,
        lambda value: (value.days, value.seconds, value.microseconds),
        dt.timedelta,
    ),
}
_PANDAS_TYPES = ("Interval", "Period", "Timedelta", "Timestamp")


def _list_simple_types() -> dict[str, _SimpleType]:
    """Return the types whose values are made of a few parts, with pandas' if it is imported."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return _STANDARD_TYPES
    return _STANDARD_TYPES | {
        # Categories that `pandas.cut` makes.
        "Interval": (
            pandas.Interval,
            lambda value: (value.left, value.right, value.closed),
            pandas.Interval,
        ),
        "Period": (
            pandas.Period,
            lambda value: (value.ordinal, value.freqstr),
            lambda ordinal, frequency: pandas.Period(ordinal=ordinal, freq=frequency),
        ),
        "Timedelta": (
            pandas.Timedelta,
            lambda value: (value.to_timedelta64(),),
            pandas.Timedelta,
        ),
        "Timestamp": (
            pandas.Timestamp,
            # The time is in UTC if there is a zone.
            lambda value: (value.to_datetime64(), None if value.tz is None else str(value.tz)),
            _make_timestamp,
        ),
    }


def _make_timestamp(time: np.datetime64, zone: str | None) -> Any:
    pandas = sys.modules["pandas"]
    timestamp = pandas.Timestamp(time)
    return timestamp if zone is None else timestamp.tz_localize("UTC").tz_convert(zone)
