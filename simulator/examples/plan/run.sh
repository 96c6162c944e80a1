#!/bin/sh
# Makes the two worked plans, and writes what they print to expected/: run.sh TRACES [KVPLAN], from the root of the tree.
# TRACES is a folder with azure_llm_2023_conv.csv and claude_code_sessions_small.jsonl.gz.
set -e
traces=$1
kvplan=${2:-build/bin/kvplan}
folder=simulator/examples/plan
devices='h100-sxm;h200-sxm;a100-sxm-80;l40s'
mkdir -p "$folder/expected"
sessions=$(mktemp --suffix=.kvt)
trap 'rm -f "$sessions"' EXIT

"$kvplan" plan "$traces/azure_llm_2023_conv.csv" --model llama-3.1-70b --set deployment.weight_bits=8 \
  --devices "$devices" --prices simulator/examples/prices.json --target 'ttft.p99<=2s' --target 'tpot.p95<=60ms' \
  --rate '1;3' --export vllm --threads 2 > "$folder/expected/azure.txt"

"$kvplan" trace start "$traces/claude_code_sessions_small.jsonl.gz" --rate 1/10 -o "$sessions" 2> /dev/null
for cache in true false; do
  "$kvplan" plan "$sessions" --model gpt-oss-120b --set engine.prefix_cache=$cache \
    --set engine.allow_long_max_model_len=true --devices "$devices" \
    --prices simulator/examples/prices.json --target 'ttft.p95<=3s' --target 'tpot.p95<=30ms' \
    --may 'router=round-robin;session-affine' --resamples 20 --threads 2 \
    > "$folder/expected/claude_code_cache_$cache.txt" 2>&1 || [ $? = 2 ]  # 2: nothing meets the targets
done
