"""A small model in version 2 of .kva, for tests."""

from kvplan_traces import AttentionLayer, AttentionModel, AttentionRotary, RecordingHeader

MODEL = AttentionModel("tiny", layers=3, query_heads=4, kv_heads=2, key_size=8, value_size=6, cache_element_bytes=2,
                       hidden_size=10)
ALL = {"queries": "f32", "keys": "f32", "values": "f16", "value_norms": "f32", "layer_inputs": "bf16",
       "output_weights": "f32", "token_classes": "u8", "positions": "u32"}
# A plain layer, a window with a soft cap, and biases with sinks of which one KV head is recorded.
LAYERS = [AttentionLayer(0, rotary=AttentionRotary("halves", 8, base=1e4)),
          AttentionLayer(1, window=7, soft_cap=1.5, logit_scale=0.7),
          AttentionLayer(2, sink_logits=(0.5, -1.0, 2.0, 0.0), bias_slopes=(0.5, 0.25, 0.125, 0.0625),
                         recorded_kv_heads=(1,))]


def header(parts=None, layers=None, **more):
    more = {"logit_scale": 0.4, "token_classes": ("text", "needle"), "source": "a test", "recorder": "tests/python",
            **more}
    return RecordingHeader(more.pop("model", MODEL), parts or dict(ALL), list(layers or LAYERS), **more)
