"""Facts about a model's attention that are found by running the model: two short forward passes with the listener,
the second with all positions increased by SHIFT.

Scale, window, soft cap and sinks are arguments of the attention function; a linear bias is read from its mask. The
rotation of keys is measured: shifted positions must turn every key as the model's tables of frequencies say.
"""

import numpy as np
import torch
from kvplan_traces import AttentionRotary

from .errors import RecorderError
from .hook import first_line, listening

TOKENS, SHIFT = 6, 5
_BASES = ("rope_theta", "rotary_emb_base", "rope_local_base_freq")


class Layer:
    """One layer as its attention function was called: the module, shapes and facts; `rotary` is set by `ask`."""

    def __init__(self, module, query, key, value, mask, kwargs, bias):
        self.module, self.number = module, module.layer_idx
        self.query_heads, self.kv_heads = query.shape[1], key.shape[1]
        self.key_size, self.value_size = key.shape[-1], value.shape[-1]
        self.logit_scale = float(kwargs.get("scaling") or query.shape[-1] ** -0.5)
        self.window = int(kwargs.get("sliding_window") or 0)
        self.soft_cap = float(kwargs.get("softcap") or 0)
        sinks = kwargs.get("s_aux")
        self.sink_logits = () if sinks is None else tuple(sinks.detach().float().reshape(-1).tolist())
        self.bias_slopes = _slopes(mask, query.shape[1], self.number) if bias else ()
        self.rotary = None


def ask(model, rotary=True, bias=True):
    """A `Layer` for every attention layer, ascending; skips facts that are not asked for. Raises RecorderError if the
    model cannot be recorded."""
    layers, keys, broken = {}, [], {}

    def hear(module, query, key, value, mask, weights, kwargs):
        if not hasattr(module, "layer_idx"):
            raise RecorderError(f"{type(module).__name__} does not say which layer it is")
        if module.layer_idx in keys[-1]:
            raise RecorderError(f"layer {module.layer_idx} computes attention more than once for a token: no format "
                                "for it")
        if module.layer_idx not in layers:
            layers[module.layer_idx] = Layer(module, query, key, value, mask, kwargs, bias)
        keys[-1][module.layer_idx] = key[0].detach().double().cpu(), value[0].detach().double().cpu()
        bad = [name for name, one in (("queries", query), ("keys", key), ("values", value))
               if not torch.isfinite(one).all()]
        if bad:
            broken.setdefault(module.layer_idx, bad)

    device = model.get_input_embeddings().weight.device
    ids = torch.arange(1, TOKENS + 1, device=device)[None] % model.get_input_embeddings().num_embeddings
    with torch.no_grad(), listening(model, hear):
        for shift in (0, SHIFT) if rotary else (0,):
            keys.append({})
            places = torch.arange(shift, shift + TOKENS, device=device)[None]
            try:
                model(input_ids=ids, position_ids=places, use_cache=False)
            except TypeError as error:
                raise RecorderError(f"{type(model).__name__} is no decoder: {first_line(error)}") from None
    if not layers:
        raise RecorderError(f"{type(model).__name__} computes attention without asking Transformers' registry")
    found = [layers[number] for number in sorted(layers)]
    if broken:  # report the first such layer: later layers take its output as input
        first = min(broken)
        raise RecorderError(f"layer {first} computes {' and '.join(broken[first])} that are no finite numbers")
    if rotary:
        changing = {"dynamic", "longrope"} & set(_settings(model.config.to_dict(), ("rope_type",)))
        if changing:
            raise RecorderError(f"frequencies of {changing.pop()} rotation change with the length of a text; "
                                "--rotary unstated records keys all the same")
        tables = _tables(model)
        for layer in found:
            layer.rotary = _rotation(layer, tables, keys[0][layer.number], keys[1][layer.number])
    return found


def _slopes(mask, heads, number):
    """For a mask that adds m * (i - t) to the logit of token i for the query t: m of each head; () for a plain mask."""
    if mask is None or mask.dtype == torch.bool:
        return ()
    last = mask[0, :, -1].detach().double().cpu().numpy()
    seen = last > torch.finfo(mask.dtype).min / 2
    if not np.any(last[seen]):
        return ()
    distance = np.arange(last.shape[1]) - (last.shape[1] - 1)
    slopes = last[:, -2] / distance[-2]
    if not np.allclose(np.where(seen, last, 0), np.where(seen, slopes[:, None] * distance, 0), rtol=1e-2, atol=1e-4):
        raise RecorderError(f"layer {number} adds a bias that is not linear in the distance: no format for it, "
                            "--parts rows --no-verify records its rows")
    return tuple(np.broadcast_to(slopes, heads).tolist())


def _tables(model):
    """(inverse frequencies, amplitude, base or 0) of every table that the model holds."""
    bases = sorted(set(map(float, _settings(model.config.to_dict(), _BASES))))
    out = []
    for module in model.modules():
        for name, table in module.named_buffers(recurse=False):
            if name.endswith("inv_freq") and "original" not in name:
                kind = name[: -len("inv_freq")]
                amplitude = float(getattr(module, f"{kind}attention_scaling", 1.0) or 1.0)
                table = table.detach().double().cpu().numpy()
                plain = [base for base in bases if np.allclose(
                    table, base ** (-2 * np.arange(len(table)) / (2 * len(table))), rtol=1e-6, atol=0)]
                out.append((table, amplitude, plain[0] if plain else 0.0))
    return out


def _settings(config, names):
    """All values that a configuration has under these names, at any depth."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _settings(value, names)
        elif key in names and value:
            yield value


def _rotation(layer, tables, before, moved):
    """The AttentionRotary that turns the keys `before` into the keys `moved`; both arguments are (keys, values).

    Positions do not turn values, so the difference of the values shows how far rounding moved the two passes apart. In
    bfloat16 it grows with depth (above 3 % at layer 14 of seven billion random weights). Keys may differ by half
    as much again."""
    apart = ((before[1] - moved[1]).norm() / (moved[1].norm() + 1e-12)).item()
    limit = min(max(3e-2, 1.5 * apart), 0.3)
    before, moved = before[0], moved[0]
    near = lambda a, b: (a - b).norm() <= limit * b.norm() + 1e-12  # noqa: E731
    best = []
    for table, amplitude, base in tables:
        dims = 2 * len(table)
        # The rotated part is the first of a key (NeoX, GLM), or the last (DeepSeek).
        for first in sorted({0, layer.key_size - dims}) if dims <= layer.key_size else ():
            for layout in ("halves", "interleaved"):
                turned = _turn(before, torch.from_numpy(table) * SHIFT, layout, first)
                best.append(((turned - moved).norm().item(), len(best), layout, first, table, amplitude, base))
    if best:
        distance, _, layout, first, table, amplitude, base = min(best)
        if near(moved, before) and (before - moved).norm().item() <= distance:
            return AttentionRotary()
        if distance <= limit * moved.norm():
            given = () if base else tuple(table.tolist())
            return AttentionRotary(layout, 2 * len(table), base, 0.0, given, 0.0 if amplitude == 1 else amplitude,
                                   first)
    elif not any("rotary" in type(module).__name__.lower() for module in layer.module.modules()):
        return AttentionRotary()
    raise RecorderError(f"layer {layer.number} rotates keys in a way that none of the model's tables explains; "
                        "--rotary unstated records it all the same")


def _turn(keys, angles, layout, first):
    end = first + 2 * len(angles)
    half = first + len(angles)
    cos, sin = angles.cos(), angles.sin()
    out = keys.clone()
    a, b = ((slice(first, half), slice(half, end)) if layout == "halves" else
            (slice(first, end, 2), slice(first + 1, end, 2)))
    out[..., a] = keys[..., a] * cos - keys[..., b] * sin
    out[..., b] = keys[..., b] * cos + keys[..., a] * sin
    return out
