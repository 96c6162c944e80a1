"""Reads and writes kvplan's traces (.kvt) and recordings of attention (.kva). Needs numpy and, for .kvt, zstandard."""

from .columns import Columns
from .errors import FormatError
from .kva import AttentionReader
from .kva_format import AttentionHeader, AttentionModel, AttentionSequence
from .kva2_format import AttentionLayer, AttentionRotary, RecordingHeader
from .kva2_writer import RecordingWriter
from .kva_writer import AttentionWriter
from .kvt import Header, Trace, TraceReader, TraceWriter

__all__ = ["AttentionHeader", "AttentionLayer", "AttentionModel", "AttentionReader", "AttentionRotary",
           "AttentionSequence", "AttentionWriter", "Columns", "FormatError", "Header", "RecordingHeader",
           "RecordingWriter", "Trace", "TraceReader", "TraceWriter"]
