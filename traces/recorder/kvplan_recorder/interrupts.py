"""Delays Ctrl-C, and other requests to end the process, to a safe moment."""

import signal
import threading
from contextlib import contextmanager

_STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held_back():
    """Signals wait for the end of the block, since no reader accepts a half-written chunk or anything after it."""
    before = {one: signal.getsignal(one) for one in _STOPS} if _in_main_thread() else {}
    before = {one: handler for one, handler in before.items() if callable(handler)}  # other handlers raise nothing
    came = []
    for one in before:
        signal.signal(one, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        for one in came[:1]:
            signal.raise_signal(one)


@contextmanager
def sigterm_as_ctrl_c():
    """Inside the block, SIGTERM (of `kill`, `timeout`, a batch system) raises KeyboardInterrupt, too."""
    before = signal.getsignal(signal.SIGTERM)
    usual = before == signal.SIG_DFL and _in_main_thread()
    if usual:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        if usual:
            signal.signal(signal.SIGTERM, before)


def _in_main_thread():
    """True in the thread in which handlers run and raise; no other thread may set them."""
    return threading.current_thread() is threading.main_thread()
