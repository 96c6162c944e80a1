"""The only error class of this package."""

from contextlib import contextmanager


class FormatError(ValueError):
    """A file, or data to be written, does not fit the format.

    Its text is one line: file, byte, field and what was expected, as far as they are known. `byte` counts from the
    start of the file; for an error inside a frame it is where the frame begins.
    """

    def __init__(self, problem, *, field=None, byte=None, path=None):
        super().__init__(problem)
        self.problem, self.field, self.byte, self.path = problem, field, byte, path

    def __str__(self):
        place = [str(self.path)] if self.path is not None else []
        place += [f"byte {self.byte}"] if self.byte is not None else []
        place += [self.field] if self.field is not None else []
        return ": ".join([*place, self.problem]).replace("\n", " ")


@contextmanager
def located(path, byte=None, field=None):
    """Adds the place to errors raised inside, unless they have a place already."""
    try:
        yield
    except FormatError as error:
        error.path = path if error.path is None else error.path
        error.byte = byte if error.byte is None else error.byte
        error.field = field if error.field is None else error.field
        raise


def expect(condition, problem, field=None):
    if not condition:
        raise FormatError(problem, field=field)
