"""Floats of 16 and 32 bits as the decimals they stand for.

A file or a frame that holds 0.9 in 32 bits holds 0.899999976 to a reader of doubles, which is below a threshold of 0.9.
People and models write decimals, so a narrow float is read as the shortest decimal that is its own, as it prints.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from assay.rules.decimals import as_double


def doubles(values: pd.Series | npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return numbers of any type as doubles of their own, narrow floats by their shortest decimal.

    Parameters
    ----------
    values : Series or array-like of numbers, any shape
        Missing values become NaN.
    """
    if isinstance(values, pd.Series):
        if values.dtype == object:
            return np.array([np.nan if pd.isna(one) else as_double(one) for one in values], dtype=np.float64)
        kind = _narrow(values.dtype)
        if kind is None:
            return values.to_numpy(dtype=float, na_value=np.nan, copy=True)
        return _spelled(values.to_numpy(dtype=kind, na_value=np.nan))
    array = np.asarray(values)
    return np.asarray(array, dtype=np.float64) if _narrow(array.dtype) is None else _spelled(array)


def widened(values: pd.Series) -> pd.Series:
    """Return a column of narrow floats as one of doubles, its missing values kept; any other column as it is."""
    if _narrow(values.dtype) is None:
        return values
    numbers = pd.Series(doubles(values), index=values.index)
    return numbers.astype("Float64").mask(values.isna()) if values.isna().any() else numbers


def widened_lists(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of lists, maps or structs with its floats of 32 bits as doubles; any other column as it is."""
    text, wide = (_with_floats(column.type, leaf) for leaf in (pa.string(), pa.float64()))
    return column if text == column.type else column.cast(text).cast(wide)


def _narrow(dtype: Any) -> Any:
    """Return the numpy type of a narrow float, whichever library's type it is; None of anything else."""
    if getattr(dtype, "kind", "") != "f":
        return None
    return {2: np.float16, 4: np.float32}.get(getattr(dtype, "itemsize", 8))


def _spelled(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    flat = values.ravel()
    if flat.dtype == np.float16:
        distinct, place = np.unique(flat, return_inverse=True)
        wide = np.array([float(str(one)) for one in distinct])[place]
    else:
        # Arrow writes the shortest decimal, ten million of them in a second.
        wide = pa.array(flat).cast(pa.string()).cast(pa.float64()).to_numpy(zero_copy_only=False).copy()
    return np.asarray(wide, dtype=np.float64).reshape(values.shape)


def _with_floats(kind: pa.DataType, leaf: pa.DataType) -> pa.DataType:
    """Return a nested type with `leaf` in place of its floats of 32 bits."""
    if pa.types.is_float32(kind):
        return leaf
    if pa.types.is_large_list(kind):
        return pa.large_list(_with_floats(kind.value_type, leaf))
    if pa.types.is_list(kind):
        return pa.list_(_with_floats(kind.value_type, leaf))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _with_floats(kind.item_type, leaf))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _with_floats(field.type, leaf)) for field in kind])
    return kind
