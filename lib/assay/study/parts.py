"""Which items a policy is tuned on and which ones certify it.

Items are put in the order of a hash of the seed and the id, label by label, and cut. The split depends on nothing else:
neither on the order of the rows, nor on the answers, nor on what is selected from the study later.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

TUNING = "tuning"
CERTIFICATION = "certification"
PARTS = (TUNING, CERTIFICATION)


@dataclass(frozen=True)
class Split:
    """How the items of a whole study are split, whatever is selected from it later.

    Parameters
    ----------
    item_ids, labels : Series of str
    seed : int
    certification_share : float in (0, 1)
    """

    item_ids: pd.Series
    labels: pd.Series
    seed: int
    certification_share: float

    @cached_property
    def parts(self) -> pd.Series:
        """The part of every item, indexed by item id."""
        return split_items(self.item_ids, self.labels, seed=self.seed, certification_share=self.certification_share)


def split_items(item_ids: pd.Series, labels: pd.Series, *, seed: int, certification_share: float = 0.5) -> pd.Series:
    """Assign each item to a part.

    Parameters
    ----------
    item_ids, labels : Series of str, shape (n_items,)
        Ids are distinct.
    seed : int
    certification_share : float in (0, 1)
        The share of each label's items that certifies.

    Returns
    -------
    Series of str, shape (n_items,)
        ``tuning`` or ``certification``, indexed by item id in the order given.

    Notes
    -----
    Of n items of a label, the ``floor(n * share + u)`` that come first certify, where u in [0, 1) is a hash of the seed
    and the label. So a whole number of items is met exactly, and the odd items of many small labels do not all fall
    on one side. A larger share only ever moves items from tuning to certification.
    """
    label_codes, distinct = pd.factorize(labels)
    words = _hash_words(item_ids.to_numpy(dtype=object), seed)
    order = np.lexsort((*words.T[::-1], label_codes))
    sizes = np.bincount(label_codes)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    lots = _hash_words(np.asarray(distinct, dtype=object), seed)[:, 0] / 2.0**64
    certifying = np.floor(sizes * certification_share + lots)
    return pd.Series(
        np.where(place < certifying[label_codes], CERTIFICATION, TUNING),
        index=pd.Index(item_ids, name="item_id"),
        name="part",
        dtype="str",
    )


def _hash_words(names: np.ndarray, seed: int) -> np.ndarray:
    """Return the sha256 of ``seed:name`` as four 64-bit words, the most significant first; shape (n, 4)."""
    digests = b"".join(hashlib.sha256(f"{seed}:{name}".encode()).digest() for name in names)
    return np.frombuffer(digests, dtype=">u8").reshape(-1, 4).astype(np.uint64)
