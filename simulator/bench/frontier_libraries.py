# NumPy and PyTorch by the same names, for frontier_peer.py. Each has one thread; Torch.xp is None without PyTorch.
import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # read when numpy and torch are imported

import numpy as np

try:
    import torch
except ImportError:
    torch = None


class Numpy:
    name = f"numpy {np.__version__}"
    xp = np
    half, single, double = np.float16, np.float32, np.float64

    @staticmethod
    def tensor(numbers, kind):
        return numbers.astype(kind)

    @staticmethod
    def cast(numbers, kind):
        return numbers.astype(kind)

    @staticmethod
    def packed(numbers):
        return np.ascontiguousarray(numbers)

    @staticmethod
    def greatest(rows, count):
        """Of the last axis, the greatest first."""
        return np.sort(rows, axis=-1)[..., : -count - 1 : -1]

    @staticmethod
    def ascending(rows):
        """The places of the last axis by their numbers; of equals the older first."""
        return np.argsort(rows, axis=-1, kind="stable")

    @staticmethod
    def sorted(rows):
        return np.sort(rows, axis=-1)


class Torch:
    name = f"torch {torch.__version__}" if torch else "torch"
    xp = torch
    half, single, double = (torch.float16, torch.float32, torch.float64) if torch else (None, None, None)

    @staticmethod
    def tensor(numbers, kind):
        return torch.from_numpy(numbers).to(kind)

    @staticmethod
    def cast(numbers, kind):
        return numbers.to(kind)

    @staticmethod
    def packed(numbers):
        return numbers.contiguous()

    @staticmethod
    def greatest(rows, count):
        return torch.topk(rows, count, dim=-1).values

    @staticmethod
    def ascending(rows):
        return torch.argsort(rows, dim=-1, stable=True)

    @staticmethod
    def sorted(rows):
        return torch.sort(rows, dim=-1).values
