"""Calls the program `kvplan`: finds it, runs it to its end, and turns its errors into exceptions with their place."""

import json
import os
import re
import shutil
import signal
import subprocess

# How long an interrupted kvplan may take to stop by itself.
_PATIENCE_S = 10


class ProgramError(Exception):
    """kvplan ended without a result. The text is one line; attributes have what is known of the error's place.

    problem    what was found and what was expected
    file, line, byte    where in a file of the caller (None if unknown)
    field      path of a scenario value, column or option
    exit_code  2: bad input, 3: interrupted; negative: the signal that killed it; None: it did not start
    command    the arguments of the call
    """

    def __init__(self, problem, *, file=None, line=None, byte=None, field=None, exit_code=None, command=()):
        super().__init__(problem)
        self.problem, self.file, self.line, self.byte, self.field = problem, file, line, byte, field
        self.exit_code, self.command = exit_code, list(command)

    def __str__(self):
        place = [] if self.file is None else [f"{self.file}:{self.line}" if self.line is not None else str(self.file)]
        place += [f"byte {self.byte}"] if self.byte is not None else []
        # kvplan's message about an unknown path contains the path.
        place += [self.field] if self.field is not None and self.field not in self.problem else []
        return ": ".join([*place, self.problem]).replace("\n", " ")


class ProgramNotFound(ProgramError):
    """kvplan was not found, or it does not start."""


class ProgramInterrupted(ProgramError):
    """Someone else stopped kvplan (SIGINT, SIGTERM). The caller's own Ctrl-C becomes a KeyboardInterrupt instead."""


class ProgramKilled(ProgramError):
    """A signal ended kvplan: it was killed for memory, or crashed."""


def find(program=None):
    """The path of kvplan: the argument, else the environment's KVPLAN, else the program in PATH."""
    for wanted, told in ((program, "program"), (os.environ.get("KVPLAN"), "KVPLAN"), ("kvplan", "PATH")):
        if wanted is None or os.fspath(wanted) == "":
            continue
        found = shutil.which(os.fspath(wanted))
        if found is None:
            raise ProgramNotFound(f"found no program {os.fspath(wanted)!r}; give program=, set KVPLAN or put kvplan "
                                  "into PATH", field=told)
        return found


def call(arguments, program=None):
    """Runs kvplan to its end: (standard output, warnings). If this process is interrupted, kvplan is first."""
    command = [find(program), *map(str, arguments)]
    environment = {**os.environ, "KVPLAN_ERRORS": "json"}
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment)
    except OSError as error:
        raise ProgramNotFound(f"{command[0]} does not start: {error.strerror}", command=command) from error
    try:
        out, err = process.communicate()
    except BaseException:
        _stop(process)
        raise
    lines = err.decode("utf-8", "replace").splitlines()
    if process.returncode != 0:
        raise _error(process.returncode, lines, command)
    mark = "kvplan: warning: "
    return out.decode("utf-8", "replace"), [line[len(mark):] for line in lines if line.startswith(mark)]


def _stop(process):
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _error(code, lines, command):
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return ProgramKilled(f"kvplan was ended by {name}", exit_code=code, command=command)
    said = _said(lines)
    problem = said.pop("error", None) or (lines[-1] if lines else f"kvplan ended with exit code {code}")
    known = {name: said.get(name) for name in ("file", "line", "byte", "field")}
    unknown = re.match(r'unknown scenario path "([^"]*)"', problem)
    if unknown:
        known["field"] = unknown.group(1)
    kind = ProgramInterrupted if code == 3 else ProgramError
    return kind(problem, exit_code=code, command=command, **known)


def _said(lines):
    """The last JSON line that reports an error; {} if there is none."""
    for line in reversed(lines):
        if line.startswith("{"):
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said.get("error"), str):
                return said
    return {}
