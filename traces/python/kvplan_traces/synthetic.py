"""Made-up attention that looks like a language model's: for examples and tests; it is evidence of nothing.

The logit of token i for the query t falls with the distance. It is higher for the first tokens (sinks) and for a few
tokens that every head of a layer reads for a while (heavy hitters), and has some noise. One seed determines
everything.
"""

import math

from .kva_format import AttentionHeader, AttentionModel, AttentionSequence
from .kva_writer import AttentionWriter

_MASK = (1 << 64) - 1


class _Random:
    """SplitMix64 (Steele, Lea, Flood 2014)."""

    def __init__(self, seed):
        self._state = seed & _MASK

    def unit(self):
        """A number in [0, 1)."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        x = self._state
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((x ^ (x >> 31)) >> 11) / float(1 << 53)


def rows(tokens, heavy, random):
    """Dense rows of one head. `heavy`: tokens that are read from far away, as {token: weight}."""
    out = []
    reach = 2.0 + 30.0 * random.unit()
    for t in range(tokens):
        logits = []
        for i in range(t + 1):
            logit = -math.log1p((t - i) / reach) * 2.0 + 1.5 * (random.unit() - 0.5)
            if i < 4:
                logit += 3.0 - 0.5 * i
            logits.append(logit + heavy.get(i, 0.0))
        most = max(logits)
        weights = [math.exp(x - most) for x in logits]
        total = math.fsum(weights)
        out.append([w / total for w in weights])
    return out


def write(path, tokens=128, layers=2, query_heads=4, kv_heads=2, seed=1):
    random = _Random(seed)
    model = AttentionModel(name="synthetic", layers=layers, query_heads=query_heads, kv_heads=kv_heads, key_size=64,
                           value_size=64, cache_element_bytes=2)
    header = AttentionHeader(model, [AttentionSequence("synthetic", tokens=tokens)], form="rows", element="f16",
                             source="made up, of no model: traces/python/kvplan_traces/synthetic.py",
                             recorded_by=f"kvplan_traces synth, seed {seed}")
    with AttentionWriter(path, header) as out:
        for layer in range(layers):
            heavy = {i: 1.0 + 2.5 * random.unit() for i in range(tokens) if random.unit() < 0.06}
            for head in range(query_heads):
                out.rows(0, layer, head, rows(tokens, heavy, random))
