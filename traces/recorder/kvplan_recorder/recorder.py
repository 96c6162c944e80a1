"""One recording: finds facts of the model, begins the file, runs sequences and writes their tokens as they come.

Results of steps are kept until `flush_tokens` tokens of a layer have come, then written (sequence.py). A layer of a
longer prompt is written as soon as it is computed. So memory is bounded by that many tokens, or by one layer of a
prompt (of a part of it, with `prefill_tokens`). If recording ends early, what was kept is written too.
"""

import hashlib
import inspect
import os
import pathlib
import platform

import numpy as np
import torch
import transformers
from kvplan_traces import AttentionLayer, AttentionModel, RecordingHeader, RecordingWriter
from kvplan_traces.kva import enumerate_rows

from .errors import RecorderError
from .facts import ask
from .hook import cache_of, first_line, listening
from .limits import (MOST_TOKENS, OF_ROWS, PARTS, check_choice, check_number, check_parts, check_prompt,
                     check_row_range, context_of)
from .prompts import check_temperature
from .sequence import SequenceOut

_TOP = 16
_ROTARY = ("measured", "unstated")
_ELEMENTS = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
# Limits for the difference of the model's rows and rows computed from the recording: half of the summed difference.
_FAR = {torch.float32: 1e-3, torch.float16: 0.05, torch.bfloat16: 0.1}


class Recorder:
    """Use as a context manager. PATH is complete when the block ends; until then there is PATH.part (RecordingWriter).

        with Recorder(model, "run.kva", parts=("queries", "keys", "values")) as recorder:
            new = recorder.record(ids, name="first", max_new_tokens=64)

    `layers` and `kv_heads` select (None: all; a KV head comes with all query heads that read it), `elements` is
    {part: element}, `row_tokens` is (first, last) of the recorded rows, `top` the number of weights in a top row (16),
    `token_classes` the names of classes, `prefill_tokens` the length of the parts of a prompt (0: whole). `verify`
    compares some rows of each layer with rows computed from the tensors, and stops if they differ.
    `rotary="unstated"` records no facts on the rotation of keys. Sequences longer than the model's context are refused
    unless `beyond_context`; a recording of only rows that has none at its end is refused then. The model is in
    evaluation mode during a recording, then in its former mode. Raises RecorderError, FormatError, OSError.
    """

    def __init__(self, model, path, *, parts=("queries", "keys", "values"), layers=None, kv_heads=None, elements=None,
                 row_tokens=None, top=None, token_classes=(), prefill_tokens=0, flush_tokens=256, verify=True,
                 rotary="measured", name="", source="", recorded_by="", digest=True, codec="planes-zlib",
                 overwrite=False, beyond_context=False):
        check_parts(parts)
        check_row_range("row_tokens", row_tokens)
        check_choice("row_tokens", row_tokens, parts, OF_ROWS)
        check_choice("top", top, parts, ("top_rows",))
        for what, value in (("top", _TOP if top is None else top), ("prefill_tokens", prefill_tokens),
                            ("flush_tokens", flush_tokens)):
            check_number(what, value)
        strange = [part for part in elements or () if part not in parts]
        if strange:
            raise RecorderError(f"elements: expected those of {', '.join(parts)}, found {', '.join(map(str, strange))}")
        if rotary not in _ROTARY:
            raise RecorderError(f"rotary: expected {' or '.join(_ROTARY)}, found {rotary!r}")
        self.model, self.parts = model, tuple(sorted(set(parts), key=PARTS.index))
        self.top, self.row_tokens = _TOP if top is None else top, row_tokens or (0, MOST_TOKENS)
        self._prefill, self._flush, self._verify = prefill_tokens, flush_tokens, verify
        self._classes = tuple(token_classes)
        self._context = 0 if beyond_context else context_of(model.config)
        # The slopes serve to compute rows from queries, so recordings without queries need none.
        known = ask(model, rotary=rotary == "measured", bias="queries" in self.parts)
        chosen = range(1 << 20) if layers is None else layers
        self.layers = [layer for layer in known if layer.number in chosen]
        missing = [] if layers is None else sorted(set(layers) - {layer.number for layer in known})
        if missing or not self.layers:
            raise RecorderError(f"layers: expected some of 0 to {known[-1].number}, found {missing or 'none'}")
        missing = sorted(set(kv_heads or ()) - {head for layer in self.layers for head in range(layer.kv_heads)})
        if missing:
            most = max(layer.kv_heads for layer in self.layers)
            raise RecorderError(f"kv_heads: expected some of 0 to {most - 1}, found {missing}")
        header = self._header(known, kv_heads, dict(elements or {}))
        header.positions = "rotation not stated" if rotary != "measured" else ""
        header.recorder, header.machine = "kvplan-record", machine_of(model)
        header.recorder_version = f"0.1.0, torch {torch.__version__}, transformers {transformers.__version__}"
        header.source, header.recorded_by = source, recorded_by
        header.model.name = name or name_of(model)
        if digest:
            header.model_digest = digest_of(model)
        self.header = header
        self._facts = {layer.number: header.layer(layer.number) for layer in self.layers}
        # Layers that read the keys of other layers compute no more tokens than logits are asked for.
        shared = getattr(model.config.get_text_config(), "num_kv_shared_layers", 0)
        takes = inspect.signature(model.forward).parameters
        self._limited = not shared and "logits_to_keep" in takes
        self._cache_name = "cache" if "cache" in takes else "past_key_values"  # the latter before Transformers 5.24
        self.writer = RecordingWriter(path, header, codec, overwrite)
        self._out, self._before, self._checked, self._has_rows = None, 0, set(), False

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        empty = self.writer.sequences and not self._has_rows and set(self.parts) <= set(OF_ROWS)
        (self.writer.close if kind is None and not empty else self.writer.abandon)()
        if kind is None and empty:
            os.unlink(self.writer.part_path)
            raise RecorderError(f"row_tokens: no sequence came to row {self.row_tokens[0]}: nothing was recorded")

    def record(self, ids, name="", prompt_tokens=None, max_new_tokens=0, classes=None, new_class=0, stop=(),
               temperature=0.0, top_k=0, seed=0, progress=None):
        """Runs a sequence and returns the new token ids. `ids`: a prompt, or a text that begins with `prompt_tokens` of
        prompt. New tokens are the most likely ones, or drawn with a `temperature`. The last new token is not fed to the
        model again, so it is not in the file. `progress(tokens, all)` is called after each step."""
        for what, value in (("max_new_tokens", max_new_tokens), ("top_k", top_k), ("seed", seed)):
            check_number(what, value)
        check_temperature("temperature", temperature)
        ids = _token_ids(ids)
        embeddings = self.model.get_input_embeddings()
        check_prompt(name or "prompt", ids.tolist(), prompt_tokens, max_new_tokens, embeddings.num_embeddings,
                     self._context)
        ids = ids.to(embeddings.weight.device)
        self._check_classes(len(ids), classes, new_class)
        self._out = SequenceOut(self.writer, name, len(ids) if prompt_tokens is None else prompt_tokens, self._flush)
        self._checked = set()
        if self._out.number == 0:
            self._write_output_weights()
        draw = torch.Generator().manual_seed(seed)
        given = {self._cache_name: cache_of(self.model), "use_cache": True}
        given.update({"logits_to_keep": 1} if self._limited else {})
        hooks = [layer.module.register_forward_pre_hook(self._inputs, with_kwargs=True) for layer in self.layers
                 if "layer_inputs" in self.parts]
        new, done, total = [], 0, len(ids) + max(max_new_tokens - 1, 0)
        try:
            with torch.no_grad(), listening(self.model, self._hear):
                steps = list(ids.split(self._prefill or len(ids)))
                while steps:
                    step, self._before = steps.pop(0), done
                    if self._classes:
                        self._out.add_classes(int(classes[t]) if t < len(classes) else new_class
                                              for t in range(done, done + len(step)))
                    try:
                        logits = self.model(input_ids=step[None], **given).logits
                    except (IndexError, RuntimeError) as error:  # learned positions end somewhere
                        if isinstance(error, RuntimeError) and "device-side assert" not in str(error):
                            raise  # a device-side assert is an index beyond a table, on a GPU
                        self._out.salvage(error)
                        raise RecorderError(f"{name or 'prompt'}: the model cannot take tokens {done} to "
                                            f"{done + len(step) - 1}: {first_line(error)}") from None
                    done += len(step)
                    if not steps and len(new) < max_new_tokens:
                        new.append(_choose(logits[0, -1], temperature, top_k, draw))
                        if new[-1] not in stop and len(new) < max_new_tokens:
                            steps.append(torch.tensor([new[-1]], device=ids.device))
                    if progress:
                        progress(done, total)
        except RecorderError:
            raise  # an assumption about the model is wrong, so its last results may be wrong as well
        except BaseException as error:  # also Ctrl-C
            self._out.salvage(error)
            raise
        finally:
            for hook in hooks:
                hook.remove()
        self._out.end(done)
        return new

    def _check_classes(self, count, classes, new_class):
        if not self._classes:
            if classes is not None:
                raise RecorderError("classes: expected none: the recording has no token_classes")
            return
        if classes is None or len(classes) != count:
            raise RecorderError(f"classes: expected a class for each of the {count} tokens of the prompt")
        for name, numbers in (("classes", classes), ("new_class", [new_class])):
            wrong = [one for one in numbers if one not in range(len(self._classes))]
            if wrong:
                raise RecorderError(f"{name}: expected 0 to {len(self._classes) - 1}, found {wrong[0]}")

    def _header(self, known, kv_heads, elements):
        first = known[0]
        shape = ("query_heads", "kv_heads", "key_size", "value_size")
        kind = next(self.model.parameters()).dtype
        hidden = getattr(self.model.config.get_text_config(), "hidden_size", 0)
        model = AttentionModel(layers=known[-1].number + 1, cache_element_bytes=torch.finfo(kind).bits // 8,
                               hidden_size=hidden, **{name: getattr(first, name) for name in shape})
        stored = {part: elements.get(part) or ("f32" if part in OF_ROWS else _ELEMENTS.get(kind, "f32"))
                  for part in self.parts}
        if self._classes:
            stored["token_classes"] = "u8"
        entries = []
        for layer in self.layers:
            heads = [head for head in kv_heads or () if head < layer.kv_heads]
            if kv_heads is not None and not heads:
                raise RecorderError(f"kv_heads: layer {layer.number} has 0 to {layer.kv_heads - 1}")
            own = {name: getattr(layer, name) for name in shape if getattr(layer, name) != getattr(first, name)}
            entries.append(AttentionLayer(
                layer.number, logit_scale=layer.logit_scale, window=layer.window, soft_cap=layer.soft_cap,
                sink_logits=layer.sink_logits, bias_slopes=layer.bias_slopes, rotary=layer.rotary,
                recorded_kv_heads=tuple(heads), **own))
        return RecordingHeader(model, stored, entries, token_classes=self._classes)

    def _hear(self, module, query, key, value, mask, weights, kwargs):
        """Takes one layer's part of a step. Within a sequence, calls come in the order of tokens."""
        number, count = module.layer_idx, query.shape[2]
        facts = self._facts.get(number)
        if facts is None:
            return
        if key.shape[2] != self._before + count:
            raise RecorderError(f"layer {number} attends to {key.shape[2]} keys, expected those of all "
                                f"{self._before + count} tokens")
        first, heads = self._before, list(facts.recorded_kv_heads)
        if self._verify and weights is not None and (number, count > 1) not in self._checked:
            self._checked.add((number, count > 1))
            self._compare(facts, number, query, key, weights)
        add = lambda part, tensor: self._out.add(number, part, first, _numbers(tensor))  # noqa: E731
        if "queries" in facts.parts:
            add("queries", query[0, list(facts.heads("queries"))])
        for part, of in (("keys", key), ("values", value)):
            if part in facts.parts:
                add(part, of[0, heads, -count:])
        if "value_norms" in facts.parts:
            add("value_norms", value[0, heads, -count:].float().norm(dim=-1, keepdim=True))
        for part in OF_ROWS:
            if part in facts.parts:
                self._add_rows(part, facts, number, first, weights)
        self._out.end_step(number, count)

    def _inputs(self, module, args, kwargs):
        states = kwargs.get("hidden_states", args[0] if args else None)
        if states is not None:
            self._out.add(module.layer_idx, "layer_inputs", self._before, _numbers(states))

    def _compare(self, facts, number, query, key, weights):
        """Compares the model's own rows with the rows that a reader will compute."""
        total, count = key.shape[2], query.shape[2]
        queries = np.zeros((total, query.shape[-1]))
        worst = 0.0
        for head in range(query.shape[1]):
            queries[total - count :] = _numbers(query[0, head]).astype(np.float64)
            keys = _numbers(key[0, head // facts.group]).astype(np.float64)
            for t in sorted({total - count, total - count // 2 - 1, total - 1}):
                ((_, row),) = enumerate_rows(facts, head, queries, keys, np.arange(total, dtype=np.float64), t, t + 1)
                own = _numbers(weights[0, head, t - total]).astype(np.float64)
                worst = max(worst, 0.5 * np.abs(own[: t + 1] - row).sum() + own[t + 1 :].sum())
        if worst > _FAR.get(query.dtype, 0.1):  # a NaN is left to the writer: its error says where it is
            raise RecorderError(f"layer {number} attends otherwise than by scale, window, soft cap, bias and sinks: "
                                f"rows differ by {worst:.2g} of their mass; record its rows, with --no-verify")

    def _add_rows(self, part, facts, number, first, weights):
        low, high = self.row_tokens
        begin, end = max(low, first), min(high, first + weights.shape[2])
        if begin >= end:
            return
        for head in facts.heads(part):
            rows = (row[: t + 1].astype(np.float64)
                    for t, row in enumerate(_numbers(weights[0, head, begin - first : end - first]), begin))
            if part == "top_rows":
                rows = (_largest(row, self.top, facts.window) for row in rows)
            self._out.add_rows(number, part, head, begin, rows)
            self._has_rows = True

    def _write_output_weights(self):
        for layer in self.layers if "output_weights" in self.parts else ():
            facts = self._facts[layer.number]
            weight = _output_weight(layer, facts)
            for head in facts.heads("output_weights"):
                rows = weight[:, head * facts.value_size : (head + 1) * facts.value_size].T
                self.writer.append(0, layer.number, "output_weights", head, rows)


def _token_ids(ids):
    """A tensor from a list of token ids."""
    try:
        out = torch.as_tensor(ids)
    except (TypeError, ValueError, RuntimeError) as error:
        raise RecorderError(f"ids: expected a list of token ids: {first_line(error)}") from None
    whole = not (out.is_floating_point() or out.is_complex() or out.dtype == torch.bool)
    if out.ndim != 1 or not whole and len(out):
        raise RecorderError("ids: expected a list of token ids")
    return out.long()


def _numbers(tensor):
    return tensor.detach().to("cpu", torch.float32 if tensor.dtype == torch.bfloat16 else None).numpy()


def _largest(row, count, window):
    """(positions, weights, rest) of the `count` largest weights of a row."""
    seen = max(0, len(row) - window) if window else 0
    if len(row) - seen <= count:
        places = np.arange(seen, len(row))
    else:
        places = np.sort(np.argpartition(-row, count)[:count])
    rest = float(np.delete(row, places).sum()) if len(row) - seen > count else 0.0
    return places, row[places], rest


def _output_weight(layer, facts):
    """Weight [hidden, query heads * value_size] of the layer's output projection."""
    for name in ("o_proj", "dense", "out_proj", "c_proj", "wo"):
        found = getattr(layer.module, name, None)
        if found is not None and getattr(found, "weight", None) is not None:
            weight = _numbers(found.weight)
            weight = weight.T if isinstance(found, transformers.pytorch_utils.Conv1D) else weight
            if weight.shape == (facts.hidden_size, facts.query_heads * facts.value_size):
                return weight
    raise RecorderError(f"layer {layer.number} has no output projection that is known; leave output_weights out")


def _choose(logits, temperature, top_k, draw):
    logits = logits.float().cpu()
    if not temperature:
        return int(logits.argmax())
    if top_k:
        logits[logits < logits.topk(min(top_k, len(logits))).values[-1]] = -torch.inf
    return int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=draw))


def digest_of(model):
    """SHA-256 over names, types, shapes and bytes of all parameters, in the order of their names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.named_parameters()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return f"sha256:{digest.hexdigest()}"


def name_of(model):
    """The name by which the model was loaded; for a folder only its last part, and if there is no name the class."""
    given = getattr(model.config, "_name_or_path", "")
    if given and pathlib.Path(given).exists():
        given = pathlib.Path(given).resolve().name
    return given or type(model).__name__


def machine_of(model):
    device = next(model.parameters()).device
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
