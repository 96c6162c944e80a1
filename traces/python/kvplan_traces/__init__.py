"""Reads and writes kvplan's traces (.kvt) and recordings of attention (.kva). Needs numpy and, for .kvt, zstandard."""

from .columns import Columns
from .errors import FormatError
from .kva import AttentionReader
from .kva_format import AttentionHeader, AttentionModel, AttentionSequence
from .kva_writer import AttentionWriter
from .kvt import Header, Trace, TraceReader, TraceWriter

__all__ = ["AttentionHeader", "AttentionModel", "AttentionReader", "AttentionSequence", "AttentionWriter", "Columns",
           "FormatError", "Header", "Trace", "TraceReader", "TraceWriter"]
