"""Pools derived a second time: from the data files of models and devices, tensor by tensor, and compared with
`kvplan pool`. Written from simulator/docs/equations.md; no packages."""
import json
import math
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = {p.stem: json.loads(p.read_text()) for p in (ROOT / "simulator/model/data").glob("*.json")}
MODELS = {name: {**c, **c.get("text_config", {})} for name, c in MODELS.items()}
# Layers that differ, and towers for images, have their own arithmetic in tests/unit/model.
DIFFER = ("vision_config", "index_head_dim", "compress_ratios", "hybrid_override_pattern", "hybrid_layer_pattern",
          "full_attention_interval", "attention_chunk_size", "sparse_attention_config", "share_expert_dim",
          "global_head_dim")
MODELS = {name: c for name, c in MODELS.items() if not any(key in c for key in DIFFER)}
DEVICES = {p.stem: json.loads(p.read_text()) for p in (ROOT / "simulator/model/devices").glob("*.json")}
MIB = 1 << 20
FORMAT_BYTES = {None: (2, 0), "bf16": (2, 0), "fp8": (1, 0), "int4": (0.5, 4 / 32), "fp4": (0.5, 1 / 16)}


def share(amount, ranks):
    return -(-amount // ranks)


def stages_of(layers, stages):
    counts = [layers // stages] * stages
    for i in range(layers % stages):
        counts[-2 - i] += 1
    return counts


def matrices(config):
    return 2 if config["model_type"] == "opt" else 3


def experts_of(c):
    """Their number, and the width of one: Mixtral and gpt-oss have no width for dense layers."""
    count = c.get("n_routed_experts") or c.get("num_experts") or c.get("num_local_experts") or 0
    return count, c.get("moe_intermediate_size", c.get("intermediate_size", 0) if count else 0)


def tensors_of_layer(c, index, tp):
    """(rows, columns) of each weight of a layer, on one rank."""
    hidden, heads = c["hidden_size"], share(c["num_attention_heads"], tp)
    yield (1, hidden)
    yield (1, hidden)
    if "kv_lora_rank" in c:
        rope, plain, value, latent = c["qk_rope_head_dim"], c["qk_nope_head_dim"], c["v_head_dim"], c["kv_lora_rank"]
        if c.get("q_lora_rank"):
            yield (hidden, c["q_lora_rank"])
            yield (c["q_lora_rank"], heads * (rope + plain))
        else:
            yield (hidden, heads * (rope + plain))
        yield (hidden, latent + rope)
        yield (latent, heads * (plain + value))
        yield (heads * value, hidden)
    else:
        size = c.get("head_dim") or hidden // c["num_attention_heads"]
        stored = max(1, (c.get("num_key_value_heads") or c["num_attention_heads"]) // tp)
        yield (hidden, heads * size)
        yield (hidden, stored * size)
        yield (hidden, stored * size)
        yield (heads * size, hidden)
    experts, width = experts_of(c)
    if experts and index >= c.get("first_k_dense_replace", 0):
        yield (hidden, experts)
        for _ in range(experts * matrices(c)):
            yield (hidden, share(width, tp))
        shared = c.get("n_shared_experts", 0) * width
        for _ in range(matrices(c)):
            yield (hidden, share(shared, tp))
    else:
        for _ in range(matrices(c)):
            yield (hidden, share(c.get("intermediate_size") or c["ffn_dim"], tp))


def weights(c, first, layers, tp):
    total = sum(r * k for i in range(first, first + layers) for r, k in tensors_of_layer(c, i, tp))
    embedding = share(c["vocab_size"], tp) * c["hidden_size"]
    tied = c.get("tie_word_embeddings", c["model_type"].startswith("gemma"))
    begins, ends = first == 0, first + layers == c["num_hidden_layers"]
    if ends:
        total += embedding + c["hidden_size"]
    if begins and not (ends and tied):
        total += embedding
    return total


def tables(c, layers, tp):
    """Elements: rotary positions, and the up-projection of latent attention once more."""
    positions = 0 if c["model_type"] == "opt" else c.get("max_position_embeddings", 0)
    if "kv_lora_rank" in c:
        heads = share(c["num_attention_heads"], tp)
        copies = layers * c["kv_lora_rank"] * heads * (c["qk_nope_head_dim"] + c["v_head_dim"])
        return copies + positions * c["qk_rope_head_dim"]
    scaling = c.get("rope_scaling") or {}
    factor = scaling.get("factor", 1) if scaling.get("rope_type") == "linear" else 1
    size = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    return positions * size * (factor + (1 if c["model_type"].startswith("gemma3") else 0))


def token_bytes_of_layer(c, tp, fmt):
    per_element, scale = FORMAT_BYTES[fmt]
    if "kv_lora_rank" in c:
        vectors = [c["kv_lora_rank"] + c["qk_rope_head_dim"]]
    else:
        size = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
        vectors = [size, size] * max(1, (c.get("num_key_value_heads") or c["num_attention_heads"]) // tp)
    group = {"int4": 32, "fp4": 16}.get(fmt, 1)
    return math.ceil(sum(vectors) * per_element) + sum(math.ceil(v / group) * round(scale * group) for v in vectors)


def activations(c, tp, tokens, requests, last):
    dense = c.get("intermediate_size") or c.get("ffn_dim", 0)
    expert = experts_of(c)[1]
    width = max(dense, (c.get("num_experts_per_tok", 0) + c.get("n_shared_experts", 0)) * expert)
    sampling = 40 * requests * c["vocab_size"] if last else 0
    return max(2 * tokens * (4 * c["hidden_size"] + 3 * share(width, tp)), sampling)


def whole(amount):
    return math.floor(amount + 0.5)


def vllm_activations(c, case, last):
    """simulator/docs/pools.md, version 0.19.0; elements of two bytes."""
    tp, tokens, hidden = case["tp"], float(case["tokens"]), c["hidden_size"]
    count, expert = experts_of(c)
    vectors = tokens * hidden * 2
    sampling = 14.9 * (case["seqs"] * c["vocab_size"]) + vectors if last else 0
    width = c.get("n_shared_experts", 0) * expert
    if not count or c.get("first_k_dense_replace", 0):
        width = max(width, c.get("intermediate_size") or c["ffn_dim"])
    layer = 3 * width / tp * tokens * 2 + 4.25 * vectors
    between = 2 * vectors if case["pp"] > 1 else 0
    buffers = 0
    if count and case["bits"] >= 8:
        buffers = c["num_experts_per_tok"] * (max(2 * (expert / tp), hidden) + expert / tp) * tokens * 2
    return whole(max(sampling, layer) + between + buffers)


def vllm_non_torch(case, figures):
    if case["tp"] > 1:
        linked = figures.get("device_link", {"value": 0})["value"] > 0
        gib = 0.54 if not linked else 2.07 if case["tp"] == 2 else 2.13
    else:
        gib = 0.07 if case["pp"] > 1 else 0.25
    return whole(gib * (1 << 30))


def derive(case):
    c = MODELS[case["model"]]
    figures = DEVICES[case["device"]]["figures"]
    device = figures["usable_bytes"]["value"]
    rule, fraction = case["rule"]
    context, workspace = 512 * MIB, 128 * MIB
    best, first = None, 0
    for layers in stages_of(c["num_hidden_layers"], case["pp"]):
        loaded = share(weights(c, first, layers, case["tp"]) * case["bits"] + 16 * tables(c, layers, case["tp"]), 8)
        last = first + layers == c["num_hidden_layers"]
        act = activations(c, case["tp"], case["tokens"], case["seqs"], last)
        token = layers * token_bytes_of_layer(c, case["tp"], case["format"])
        if rule == "vllm-v1":
            pool = math.ceil(device * fraction) - loaded
            pool -= vllm_activations(c, case, last) + vllm_non_torch(case, figures)
        elif rule == "sglang":
            pool = math.floor((device - context - loaded) - (device - context) * (1 - fraction))
        else:
            free = device - context - loaded - act - workspace
            pool = math.floor(free * fraction) if free > 0 else free
        if best is None or pool * best[1] < best[0] * token:
            best = (pool, token)
        first += layers
    return best


def main():
    kvplan = sys.argv[1]
    draw = random.Random(20)
    fits = refused = 0
    for _ in range(int(sys.argv[2])):
        case = {
            "model": draw.choice(sorted(MODELS)), "device": draw.choice(sorted(DEVICES)),
            "tp": draw.choice([1, 1, 2, 4, 8, 16]), "pp": draw.choice([1, 1, 2, 3]),
            "format": draw.choice(sorted(FORMAT_BYTES, key=str)), "bits": draw.choice([16, 16, 8, 4]),
            "rule": draw.choice([("vllm-v1", 0.9), ("vllm-v1", 0.95), ("sglang", 0.843), ("trt-llm", 0.9)]),
            "tokens": draw.choice([2048, 8192]), "seqs": draw.choice([64, 256]), "block": draw.choice([1, 16, 64]),
        }
        config = MODELS[case["model"]]
        heads, kv = config["num_attention_heads"], config.get("num_key_value_heads") or config["num_attention_heads"]
        if heads % case["tp"] or (kv % case["tp"] and case["tp"] % kv):
            continue  # engines refuse ranks that do not share the heads evenly
        key = {"vllm-v1": "memory_utilization", "sglang": "mem_fraction_static", "trt-llm": "free_gpu_memory_fraction"}
        rule, fraction = case["rule"]
        command = [kvplan, "pool", "--model", case["model"], "--device", case["device"], "--tp", str(case["tp"]),
                   "--pp", str(case["pp"]), "--block-tokens", str(case["block"]), "--json", "-",
                   "--set", f"deployment.pool_rule={rule}:{key[rule]}={fraction}",
                   "--set", f"deployment.weight_bits={case['bits']}",
                   "--set", f"engine=vllm-v1:token_budget={case['tokens']},max_seqs={case['seqs']}"]
        if case["format"]:
            command += ["--format", case["format"]]
        pool, token = derive(case)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if pool < token:
            if done.returncode != 2 or "expected room for KV cache" not in done.stderr:
                sys.exit(f"expected a refusal: {case}: {done.stderr}")
            refused += 1
            continue
        if done.returncode != 0:
            sys.exit(f"{case}: {done.stderr}")
        found = json.loads(done.stdout)
        wanted = {"pool_bytes": pool, "token_bytes": token, "blocks": pool // (token * case["block"])}
        for name, value in wanted.items():
            if found[name] != value:
                sys.exit(f"{case}: {name} is {found[name]}, expected {value}")
        fits += 1
    print(f"{fits} pools are equal, {refused} do not fit in both")
    if fits == 0 or refused == 0:
        sys.exit("expected some of each")


if __name__ == "__main__":
    main()
