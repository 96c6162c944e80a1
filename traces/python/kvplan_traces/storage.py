"""Decompression in limited memory, and files that are whole or absent."""

import gzip
import json
import os
import tempfile
import zlib

from .errors import FormatError, expect, located

# The largest window that a zstd frame may need; a frame that states its content's size needs no more than that.
_LARGEST_WINDOW = 1 << 27
# So many bytes of zstd data decompress to at most some megabytes.
_LITTLE = 256
# For a packed file: the bytes that stay in memory, and the most bytes that are unpacked.
_IN_MEMORY = 1 << 26
_MOST_UNPACKED = 1 << 36


def _zstandard():
    try:
        import zstandard
    except ImportError:
        raise ImportError("reading or writing zstd needs the module zstandard (Debian: python3-zstandard)") from None
    return zstandard


def zstd_bytes(data):
    return _zstandard().ZstdCompressor(level=3).compress(data)


def from_zstd(data, raw_bytes):
    """The `raw_bytes` bytes that one zstd frame stands for."""
    zstandard = _zstandard()
    try:
        size = zstandard.get_frame_parameters(data).content_size
        unknown = size in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR)
        expect(unknown or size == raw_bytes, f"expected {raw_bytes} bytes in the zstd frame, found {size}")
        stream = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).decompressobj()
        # A frame that states its size gives no more; any other frame is decompressed a little at a time.
        step = _LITTLE if unknown else max(len(data), 1)
        raw = bytearray()
        for at in range(0, len(data), step):
            expect(not stream.eof, "expected nothing behind the zstd frame")
            raw += stream.decompress(data[at : at + step])
            expect(len(raw) <= raw_bytes, f"expected {raw_bytes} bytes in the zstd frame, found more")
    except zstandard.ZstdError as error:
        raise FormatError(f"expected a zstd frame: {error}") from None
    expect(stream.eof and not stream.unused_data, "expected one whole zstd frame")
    expect(len(raw) == raw_bytes, f"expected {raw_bytes} bytes in the zstd frame, found {len(raw)}")
    return bytes(raw)


def from_zlib(data, raw_bytes):
    """The `raw_bytes` bytes that one zlib stream stands for."""
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(data, raw_bytes + 1)
    except zlib.error as error:
        raise FormatError(f"expected a zlib stream: {error}") from None
    expect(len(raw) == raw_bytes and stream.eof and not stream.unused_data,
           f"expected one zlib stream of {raw_bytes} bytes")
    return raw


def unpacked(file):
    """The file itself; if it is packed by gzip or zstd, a temporary file with its content, on disk if it is large."""
    begin = file.read(4)
    file.seek(0)
    if begin[:2] == b"\x1f\x8b":
        source = gzip.GzipFile(fileobj=file)
    elif begin == b"\x28\xb5\x2f\xfd":
        source = _zstandard().ZstdDecompressor(max_window_size=_LARGEST_WINDOW).stream_reader(
            file, read_across_frames=True)
    else:
        return file
    out = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)
    try:
        while data := source.read(1 << 20):
            out.write(data)
            expect(out.tell() <= _MOST_UNPACKED, f"expected a file of at most {_MOST_UNPACKED} bytes when unpacked")
    except (OSError, EOFError, zlib.error) as error:
        out.close()
        raise FormatError(f"expected a whole gzip file: {error}") from None
    except FormatError:
        out.close()
        raise
    except Exception as error:
        out.close()
        # zstandard is imported only when needed, so its error class is compared by name.
        if type(error).__name__ != "ZstdError":
            raise
        raise FormatError(f"expected a whole zstd file: {error}") from None
    file.close()
    out.seek(0)
    return out


def read_json(path):
    """The object in a JSON file."""
    with open(path, "rb") as file, located(os.fspath(path)):
        try:
            found = json.loads(file.read().decode())
        except UnicodeDecodeError as error:
            raise FormatError("expected JSON in UTF-8", byte=error.start) from None
        except RecursionError:
            raise FormatError("expected JSON with less deep lists") from None
        except ValueError as error:
            raise FormatError(f"expected JSON: {error}") from None
        expect(isinstance(found, dict), "expected a JSON object")
        return found


def check_replaceable(path):
    """Raises OSError unless a file of this name can be written: a regular file is there, or nothing."""
    folder, name = os.path.split(os.fspath(path))
    if not name:
        raise FileNotFoundError(f"{os.fspath(path)!r}: expected the name of a file")
    if not os.path.isdir(folder or "."):
        raise FileNotFoundError(f"{os.fspath(path)}: expected a folder {folder}, there is none")
    if os.path.lexists(path) and not os.path.isfile(path):
        raise FileExistsError(f"{os.fspath(path)}: expected a regular file, or none")


class OutputFile:
    """A file that appears under its name when `commit` is called, and never half-written."""

    def __init__(self, path):
        self.path = os.fspath(path)
        check_replaceable(self.path)
        folder = os.path.dirname(os.path.abspath(self.path))
        self._file = tempfile.NamedTemporaryFile(dir=folder, prefix=".kvplan-", delete=False)

    def write(self, data):
        self._file.write(data)

    def tell(self):
        return self._file.tell()

    def commit(self):
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(self._file.name, 0o666 & ~mask)
            os.replace(self._file.name, self.path)
        except BaseException:
            self.discard()
            raise

    def discard(self):
        """Removes the unfinished file; does nothing after `commit`."""
        self._file.close()
        if os.path.exists(self._file.name):
            os.unlink(self._file.name)
