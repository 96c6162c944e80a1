"""kvplan from Python: scenarios as dicts, results as pandas frames, errors as exceptions. Needs pandas and the program.

    report = run("chat.kvt", {"memory": {"pool_tokens": 40000}})    # or {"memory.pool_tokens": 40000}
    report["latency_s.ttft.p99"], report.requests, report.timeline
    compare("chat.kvt", {"memory.pool_tokens": [20000, 40000]}).figures
    sweep("chat.kvt", {"memory.pool_tokens": "20000..60000:1000"}, threads=2).figures
    evict("run.kva", {"name": "h2o", "hh": 16, "recent": 16}, prefill=32).retained

`scenario` is the path of a trace or scenario, a `Trace`, or a dict of scenario values, nested or by dotted paths; a
component is its text ("paged:block_tokens=16") or a dict with its `name`. `settings` are values that override it.
Paths in dicts are relative to the working directory. Errors of kvplan are ProgramErrors with file and field.
"""

import contextlib
import html
import json
import os
import pathlib
import tempfile

import pandas as pd

from .kvt import Trace
from .program import ProgramError, call
from .results import mass_frame, report_frame, retained_frame


class Report:
    """Result of one run. `json` is kvplan's report, `report["a.b.c"]` a value in it, `figures` a frame with one row,
    `requests` and `timeline` have a row per request and per bin (None if they were not asked for)."""

    def __init__(self, found, text, page, requests, timeline):
        self.json, self.text, self._page = found, text, page
        self.requests, self.timeline = requests, timeline

    def __getitem__(self, path):
        value = self.json
        for key in path.split("."):
            if not isinstance(value, dict) or key not in value:
                raise KeyError(path)
            value = value[key]
        return value

    @property
    def figures(self):
        return report_frame(self.json)

    @property
    def warnings(self):
        return self.json["warnings"]

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return _frame(self._page)


class Comparison:
    """Result of variants. `figures` has a row for each, `json` all that kvplan writes, `answer` its conclusion."""

    def __init__(self, found, text, page):
        self.json, self.text, self._page = found, text, page

    @property
    def figures(self):
        return report_frame(self.json)

    @property
    def answer(self):
        return self.json["answer"]

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return _frame(self._page)


class Sweep:
    """Result of a sweep. `figures` has a row per case: the varied values, and all figures of its report."""

    def __init__(self, figures, text, page):
        self.figures, self.text, self._page = figures, text, page

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return _frame(self._page)


class Eviction:
    """Result of a token policy on a recording. `retained` and `mass` are frames by layer, step and head."""

    def __init__(self, found, text):
        self.json, self.text = found, text

    @property
    def retained(self):
        return retained_frame(self.json)

    @property
    def mass(self):
        return mass_frame(self.json)

    @property
    def summary(self):
        """One row per layer: the figures of its summary."""
        parts = self.json.get("layers") or [self.json]
        return pd.DataFrame([{"layer": part["layer"], **part["summary"]} for part in parts])

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return f"<p><code>{html.escape(str(self.json['policy']))}</code></p>" + self.summary.to_html(index=False)


def run(scenario, settings=None, *, requests=True, timeline=True, timeline_bins=1000, threads=None, step_by_step=False,
        program=None):
    """Simulates a scenario and returns a Report."""
    with _inputs(scenario, settings) as (folder, arguments):
        out = {name: folder / name for name in ("report.json", "page.html")}
        arguments += ["--json", out["report.json"], "--html", out["page.html"], "--timeline-bins", timeline_bins]
        for wanted, name in ((requests, "requests"), (timeline, "timeline")):
            if wanted:
                out[name] = folder / f"{name}.csv"
                arguments += [f"--{name}", out[name]]
        arguments += [] if threads is None else ["--threads", threads]
        arguments += ["--step-by-step"] if step_by_step else []
        text, _ = _call(["run", *arguments], folder, program)
        frames = [report_frame(out[name]) if name in out else None for name in ("requests", "timeline")]
        return Report(_json(out["report.json"]), text, _text(out["page.html"]), *frames)


def compare(scenario, vary, settings=None, *, threads=1, program=None):
    """Simulates variants. `vary` maps paths to values (a list, or kvplan's text); all combinations are run."""
    with _inputs(scenario, settings) as (folder, arguments):
        out, page = folder / "compare.json", folder / "page.html"
        text, _ = _call(["compare", *arguments, *_vary(vary), "--threads", threads, "--json", out, "--html", page],
                        folder, program)
        return Comparison(_json(out), text, _text(page))


def sweep(scenario, vary=None, settings=None, *, cases=None, random=None, seed=None, threads=1, out=None, resume=False,
          program=None):
    """Simulates many cases: all combinations of `vary`, a random sample of `random` of them, or the rows of `cases`, a
    frame with a column per path. `out` keeps the database; with `resume` an interrupted sweep continues."""
    with _inputs(scenario, settings) as (folder, arguments):
        database = folder / "sweep.db" if out is None else out
        arguments += _vary(vary or {})
        if cases is not None:
            cases.to_csv(folder / "cases.csv", index=False)
            arguments += ["--cases", folder / "cases.csv"]
        arguments += [] if random is None else ["--random", random]
        arguments += [] if seed is None else ["--seed", seed]
        arguments += ["--resume"] if resume else []
        text, _ = _call(["sweep", *arguments, "--threads", threads, "--out", database], folder, program)
        table, page = folder / "sweep.csv", folder / "page.html"
        _call(["report", database, "--csv", table, "--html", page], folder, program)
        return Sweep(report_frame(table), text, _text(page))


def evict(recording, policy, prefill, *, sequence=None, layer=None, all_layers=False, budget=None, program=None):
    """Replays a token policy on a recording: a .kva or JSON file, or a dict like that JSON. Returns an Eviction."""
    with _folder() as folder:
        if isinstance(recording, dict):
            (folder / "rows.json").write_text(json.dumps(recording), encoding="utf-8")
            recording = folder / "rows.json"
        out = folder / "evict.json"
        arguments = ["evict", os.fspath(recording), "--policy", value_text(policy), "--prefill", prefill, "--json", out]
        for name, value in (("sequence", sequence), ("layer", layer), ("budget", budget)):
            arguments += [] if value is None else [f"--{name}", value_text(value)]
        text, _ = _call([*arguments, *(["--all-layers"] if all_layers else [])], folder, program)
        return Eviction(_json(out), text)


def setting_texts(settings):
    """PATH=VALUE for each value of a dict, nested or by dotted paths. A value None is left out."""
    return [f"{path}={value_text(value)}" for path, value in _leaves("", settings or {})]


def value_text(value):
    """A value as text for --set; a component is {"name": ..., parameter: ...}."""
    if isinstance(value, dict):
        if "name" not in value:
            raise ValueError(f"expected the dict of a component to have a name, found {value!r}")
        parts = [f"{key}={_quoted(value_text(one))}" for key, one in value.items() if key != "name" and one is not None]
        return str(value["name"]) + (":" + ",".join(parts) if parts else "")
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(value_text(one) for one in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _quoted(text):
    if "," not in text:
        return text
    if '"' in text:
        raise ValueError(f"expected no quotes in a value with commas, found {text!r}")
    return f'"{text}"'


def _leaves(path, value):
    if isinstance(value, dict) and (path == "" or "name" not in value):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), inner)
    elif value is not None:
        yield path, value


def _vary(vary):
    out = []
    for path, values in _leaves("", vary):
        texts = [values] if isinstance(values, str) else [value_text(value) for value in values]
        if not isinstance(values, str) and any(";" in text for text in texts):
            raise ValueError(f"{path}: expected no ; in a value")
        out += ["--vary", f"{path}={';'.join(texts)}"]
    return out


@contextlib.contextmanager
def _folder():
    with tempfile.TemporaryDirectory(prefix="kvplan-") as folder:
        yield pathlib.Path(folder)


@contextlib.contextmanager
def _inputs(scenario, settings):
    """(a temporary folder for the call, the arguments that say what is simulated)."""
    with _folder() as folder:
        texts = setting_texts(settings)
        if isinstance(scenario, dict):
            source = folder / "scenario.json"
            source.write_text("{}", encoding="utf-8")
            texts = setting_texts(scenario) + texts
        elif isinstance(scenario, Trace):
            source = folder / "trace.kvt"
            scenario.write(source)
        else:
            source = scenario
        arguments = [os.fspath(source)]
        for text in texts:
            arguments += ["--set", text]
        yield folder, arguments


def _call(arguments, folder, program):
    """Like call(); an error in a file that was made for the call names no file, since the caller has none."""
    try:
        return call(arguments, program)
    except ProgramError as error:
        if error.file is not None and pathlib.Path(error.file).parent == folder:
            error.file = error.line = error.byte = None
        raise


def _json(path):
    return json.loads(_text(path))


def _text(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def _frame(page):
    """kvplan's HTML page inside a notebook, separate from the notebook's styles."""
    return (f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" '
            'style="width:100%;height:40em;border:1px solid #999"></iframe>')
