"""The common part of the readers of .kvt and .kva: a file that stays open while its reader is used. It begins with a
magic and ends with a trailer that says where the index is. A compressed file is unpacked first."""

import os

from . import storage
from .errors import expect, located


class FramedFile:
    """Opens `path` and calls `_open`, which reads both ends; closes the file if that raises. To be used with `with`."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._file = open(path, "rb")
        try:
            with located(self.path):
                self._file = storage.unpacked(self._file)
                self._open()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def _ends(self, kind, magic, frame_bytes, trailer_bytes):
        """(the trailer's bytes, where it begins). Checks that the file has room for a header and an index before it."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        expect(self._file.read(len(magic)) == magic, f"expected the first bytes of a {kind}")
        expect(size >= len(magic) + 2 * frame_bytes + trailer_bytes,
               f"expected a whole {kind}, found {size} bytes: truncated")
        self._file.seek(size - trailer_bytes)
        return self._file.read(trailer_bytes), size - trailer_bytes
