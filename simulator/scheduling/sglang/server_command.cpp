// What the parser of `python -m sglang.launch_server` knows (sgl-project/sglang v0.5.5, the package of PyPI): read from
// the parser itself, ServerArgs.add_cli_args in python/sglang/srt/server_args.py.
#include <array>

#include "simulator/scheduling/sglang/parts.h"

namespace kvplan::scheduling::sglang {
namespace {

constexpr std::string_view kValues =
    "--model-path|--model --tokenizer-path --tokenizer-mode --tokenizer-worker-num --load-format "
    "--model-loader-extra-config --context-length --revision --model-impl --host --port --warmups "
    "--nccl-port --dtype --quantization --quantization-param-path --kv-cache-dtype --modelopt-quant "
    "--modelopt-checkpoint-restore-path --modelopt-checkpoint-save-path --modelopt-export-path "
    "--mem-fraction-static --max-running-requests --max-queued-requests --max-total-tokens "
    "--chunked-prefill-size --max-prefill-tokens --schedule-policy "
    "--priority-scheduling-preemption-threshold --schedule-conservativeness --page-size "
    "--swa-full-tokens-ratio --radix-eviction-policy --device --tensor-parallel-size|--tp-size "
    "--pipeline-parallel-size|--pp-size --pp-max-micro-batch-size --stream-interval --random-seed "
    "--constrained-json-whitespace-pattern --watchdog-timeout --dist-timeout --download-dir --base-gpu-id "
    "--gpu-id-step --log-level --log-level-http --log-requests-level --crash-dump-folder "
    "--tokenizer-metrics-custom-labels-header --gc-warning-threshold-secs --decode-log-interval "
    "--kv-events-config --otlp-traces-endpoint --api-key --served-model-name --weight-version "
    "--chat-template --completion-template --file-storage-path --reasoning-parser --tool-call-parser "
    "--tool-server --sampling-defaults --data-parallel-size|--dp-size --load-balance-method "
    "--load-watch-interval --dist-init-addr|--nccl-init-addr --nnodes --node-rank "
    "--json-model-override-args --preferred-sampling-params --max-lora-rank --max-loras-per-batch "
    "--max-loaded-loras --lora-eviction-policy --lora-backend --max-lora-chunk-size --attention-backend "
    "--prefill-attention-backend --decode-attention-backend --sampling-backend --grammar-backend "
    "--mm-attention-backend --nsa-prefill-backend --nsa-decode-backend --speculative-algorithm "
    "--speculative-draft-model-path|--speculative-draft-model --speculative-draft-model-revision "
    "--speculative-draft-load-format --speculative-num-steps --speculative-eagle-topk "
    "--speculative-num-draft-tokens --speculative-accept-threshold-single "
    "--speculative-accept-threshold-acc --speculative-token-map --speculative-attention-mode "
    "--speculative-moe-runner-backend --speculative-ngram-min-match-window-size "
    "--speculative-ngram-max-match-window-size --speculative-ngram-min-bfs-breadth "
    "--speculative-ngram-max-bfs-breadth --speculative-ngram-match-type --speculative-ngram-branch-length "
    "--speculative-ngram-capacity --expert-parallel-size|--ep-size|--ep --moe-a2a-backend "
    "--moe-runner-backend --flashinfer-mxfp4-moe-precision --deepep-mode --ep-num-redundant-experts "
    "--ep-dispatch-algorithm --init-expert-location --eplb-algorithm --eplb-rebalance-num-iterations "
    "--eplb-rebalance-layers-per-chunk --eplb-min-rebalancing-utilization-threshold "
    "--expert-distribution-recorder-mode --expert-distribution-recorder-buffer-size --deepep-config "
    "--moe-dense-tp-size --elastic-ep-backend --mooncake-ib-device --max-mamba-cache-size "
    "--mamba-ssm-dtype --mamba-full-memory-ratio --hicache-ratio --hicache-size --hicache-write-policy "
    "--hicache-io-backend --hicache-mem-layout --hicache-storage-backend "
    "--hicache-storage-prefetch-policy --hicache-storage-backend-extra-config --kt-amx-weight-path "
    "--kt-amx-method --kt-cpuinfer --kt-threadpool-count --kt-num-gpu-experts "
    "--kt-max-deferred-experts-per-token --ds-channel-config-path --ds-heavy-channel-num "
    "--ds-heavy-token-num --ds-heavy-channel-type --ds-sparse-decode-threshold --cpu-offload-gb "
    "--offload-group-size --offload-num-in-group --offload-prefetch-step --offload-mode "
    "--multi-item-scoring-delimiter --cuda-graph-max-bs --tbo-token-distribution-threshold "
    "--piecewise-cuda-graph-tokens --piecewise-cuda-graph-compiler --torch-compile-max-bs "
    "--piecewise-cuda-graph-max-tokens --torchao-config --triton-attention-num-kv-splits "
    "--triton-attention-split-tile-size --num-continuous-decode-steps --scheduler-recv-interval "
    "--rl-on-policy-target --dynamic-batch-tokenizer-batch-size --dynamic-batch-tokenizer-batch-timeout "
    "--debug-tensor-dump-output-folder --debug-tensor-dump-input-file --debug-tensor-dump-inject "
    "--disaggregation-mode --disaggregation-transfer-backend --disaggregation-bootstrap-port "
    "--disaggregation-decode-tp --disaggregation-decode-dp --disaggregation-prefill-pp "
    "--disaggregation-ib-device --num-reserved-decode-tokens --disaggregation-decode-polling-interval "
    "--remote-instance-weight-loader-seed-instance-ip "
    "--remote-instance-weight-loader-seed-instance-service-port "
    "--remote-instance-weight-loader-send-weights-group-ports --pdmux-config-path --sm-group-num --config "
    "--mm-max-concurrent-calls --mm-per-request-timeout --decrypted-config-file "
    "--decrypted-draft-config-file";

constexpr std::string_view kSwitches{};

constexpr std::string_view kOns =
    "--skip-tokenizer-init --trust-remote-code --is-embedding --enable-multimodal --grpc-mode "
    "--skip-server-warmup --checkpoint-engine-wait-weights-before-ready --enable-fp32-lm-head "
    "--quantize-and-serve --enable-priority-scheduling --abort-on-priority-when-disabled "
    "--schedule-low-priority-values-first --disable-hybrid-swa-memory --stream-output "
    "--constrained-json-disable-any-whitespace --sleep-on-idle --log-requests --show-time-cost "
    "--enable-metrics --enable-metrics-for-all-schedulers --collect-tokens-histogram "
    "--enable-request-time-stats-logging --enable-trace --enable-cache-report "
    "--prefill-round-robin-balance --enable-lora --enable-flashinfer-allreduce-fusion --enable-eplb "
    "--enable-expert-distribution-metrics --enable-hierarchical-cache --enable-lmcache "
    "--enable-double-sparsity --disable-radix-cache --disable-cuda-graph --disable-cuda-graph-padding "
    "--enable-profile-cuda-graph --enable-cudagraph-gc --enable-nccl-nvls --enable-symm-mem "
    "--disable-flashinfer-cutlass-moe-fp4-allgather --enable-tokenizer-batch-encode "
    "--disable-tokenizer-batch-decode --disable-outlines-disk-cache --disable-custom-all-reduce "
    "--enable-mscclpp --enable-torch-symm-mem --disable-overlap-schedule --enable-mixed-chunk "
    "--enable-dp-attention --enable-dp-lm-head --enable-two-batch-overlap --enable-single-batch-overlap "
    "--enable-torch-compile --enable-piecewise-cuda-graph --enable-nan-detection --enable-p2p-check "
    "--triton-attention-reduce-in-fp32 --delete-ckpt-after-loading --enable-memory-saver "
    "--enable-weights-cpu-backup --allow-auto-truncate --enable-custom-logit-processor "
    "--flashinfer-mla-disable-ragged --disable-shared-experts-fusion --disable-chunked-prefix-cache "
    "--disable-fast-image-processor --keep-mm-feature-on-device --enable-return-hidden-states "
    "--enable-deterministic-inference --enable-dynamic-batch-tokenizer "
    "--disaggregation-decode-enable-offload-kvcache --weight-loader-disable-mmap --enable-pdmux";

constexpr std::string_view kMaybes = "--hybrid-kvcache-ratio";

constexpr std::string_view kLists =
    "--tokenizer-metrics-allowed-custom-labels --bucket-time-to-first-token --bucket-inter-token-latency "
    "--bucket-e2e-request-latency --prompt-tokens-buckets --generation-tokens-buckets "
    "--lora-target-modules --lora-paths --cuda-graph-bs --numa-node --debug-tensor-dump-layers "
    "--custom-weight-loader";
constexpr std::string_view kAffects =
    "--dtype --cpu-offload-gb --speculative-algorithm --speculative-draft-model-path "
    "--speculative-num-steps --speculative-eagle-topk --speculative-num-draft-tokens --enable-lora "
    "--lora-paths --max-loras-per-batch --enable-dp-attention --enable-mixed-chunk "
    "--enable-hierarchical-cache --hicache-ratio --hicache-size --enable-lmcache --disaggregation-mode "
    "--ep-size --moe-a2a-backend --enable-two-batch-overlap --disable-overlap-schedule "
    "--attention-backend --enable-torch-compile --cuda-graph-max-bs --cuda-graph-bs "
    "--swa-full-tokens-ratio --disable-hybrid-swa-memory --enable-priority-scheduling --nnodes "
    "--json-model-override-args --enable-double-sparsity --enable-eplb --max-queued-requests";

constexpr std::array kVariables{
    ServerVariable{.name = "SGLANG_PP_LAYER_PARTITION", .path = "deployment.pp_layers"},
    ServerVariable{.name = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN",
                   .path = "engine.allow_longer_context_len",
                   .sets = "true"},
    ServerVariable{
        .name = "SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS", .path = "engine.decay_steps", .fallback = "600"},
    ServerVariable{
        .name = "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION", .path = "engine.clip_tokens", .fallback = "4096"},
    ServerVariable{
        .name = "SGLANG_RETRACT_DECODE_STEPS", .path = "engine.retract_decode_steps", .fallback = "20"},
};

bool is_large(std::string_view /*device*/, std::int64_t /*bytes*/) {
  return false;  // its defaults follow from more than the device
}

}  // namespace

extern const ServerCommand kServerCommand;
const ServerCommand kServerCommand{
    .engine = "sglang",
    .product = "SGLang",
    .version = "0.5.5",
    .program = "python -m sglang.launch_server",
    .programs = "python -m sglang.launch_server|python3 -m sglang.launch_server|sglang serve",
    .image = "lmsysorg/sglang:v0.5.5",
    .image_command = "python3 -m sglang.launch_server",
    .model_flag = "--model-path",
    .balancer = "",
    .allocator = "paged",
    .window_allocator = "paged",
    .port = 30000,
    .log_words = "max_total_num_tokens=N",
    .values = kValues,
    .switches = kSwitches,
    .ons = kOns,
    .maybes = kMaybes,
    .lists = kLists,
    .affects = kAffects,
    .flags = server_flags,
    .variables = kVariables,
    .overrides = "--json-model-override-args",
    .any_length = "engine.allow_longer_context_len",
    .is_large = is_large};

}  // namespace kvplan::scheduling::sglang
