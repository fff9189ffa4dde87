"""Arithmetic that every embedder shares."""

import numpy as np
import numpy.typing as npt

#: Rows of float32, shape ``(texts, dimensions)``.
FloatMatrix = npt.NDArray[np.float32]


def unit_rows(matrix: FloatMatrix) -> FloatMatrix:
    """Scales every row to length 1.

    A row without direction (all zero: a text the model has no token for) becomes the first axis, so
    that every text has a unit vector and the same one each time.
    """
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    without_direction = lengths[:, 0] == 0
    rows = matrix / np.where(lengths == 0, 1, lengths)
    rows[without_direction, 0] = 1
    return np.ascontiguousarray(rows, dtype=np.float32)
