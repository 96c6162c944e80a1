"""Writes and reads recordings of attention (.kva version 1) with the standard library alone."""

from .model import FormatError, Model, Sequence
from .reader import Reader
from .writer import Writer

__all__ = ["FormatError", "Model", "Reader", "Sequence", "Writer"]
