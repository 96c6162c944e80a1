// What the parser of `vllm serve` knows (vllm-project/vllm v0.15.1, the package of PyPI): read from the parser itself,
// vllm.engine.arg_utils.AsyncEngineArgs.add_cli_args, and from the fields of FrontendArgs in
// vllm/entrypoints/openai/cli_args.py.
#include <array>

#include "simulator/scheduling/vllm/parts.h"

namespace kvplan::scheduling::vllm {
namespace {

constexpr std::string_view kValues =
    "--model --runner --convert --tokenizer --tokenizer-mode --dtype --seed --hf-config-path "
    "--allowed-local-media-path --revision --code-revision --tokenizer-revision --max-model-len "
    "--quantization|-q --max-logprobs --logprobs-mode --config-format --hf-overrides --pooler-config "
    "--logits-processor-pattern --generation-config --override-generation-config --model-impl "
    "--override-attention-dtype --io-processor-plugin --load-format --download-dir "
    "--safetensors-load-strategy --model-loader-extra-config --pt-load-map-location --attention-backend "
    "--reasoning-parser --reasoning-parser-plugin --distributed-executor-backend "
    "--pipeline-parallel-size|-pp --master-addr --master-port --nnodes|-n --node-rank|-r "
    "--tensor-parallel-size|-tp --decode-context-parallel-size|-dcp --dcp-kv-cache-interleave-size "
    "--cp-kv-cache-interleave-size --prefill-context-parallel-size|-pcp --data-parallel-size|-dp "
    "--data-parallel-rank|-dpn --data-parallel-start-rank|-dpr --data-parallel-size-local|-dpl "
    "--data-parallel-address|-dpa --data-parallel-rpc-port|-dpp --data-parallel-backend|-dpb "
    "--all2all-backend --ubatch-size --dbo-decode-token-threshold --dbo-prefill-token-threshold "
    "--eplb-config --expert-placement-strategy --max-parallel-loading-workers --worker-cls "
    "--worker-extension-cls --block-size --gpu-memory-utilization --kv-cache-memory-bytes --swap-space "
    "--kv-cache-dtype --num-gpu-blocks-override --prefix-caching-hash-algo --cpu-offload-gb "
    "--mamba-cache-dtype --mamba-ssm-cache-dtype --mamba-block-size --mamba-cache-mode "
    "--kv-offloading-size --kv-offloading-backend --limit-mm-per-prompt --media-io-kwargs "
    "--mm-processor-kwargs --mm-processor-cache-gb --mm-processor-cache-type "
    "--mm-shm-cache-max-object-size-mb --mm-encoder-tp-mode --mm-encoder-attn-backend "
    "--video-pruning-rate --max-loras --max-lora-rank --lora-dtype --max-cpu-loras --default-mm-loras "
    "--show-hidden-metrics-for-version --otlp-traces-endpoint --kv-cache-metrics-sample "
    "--max-num-batched-tokens --max-num-seqs --max-num-partial-prefills --max-long-partial-prefills "
    "--long-prefill-token-threshold --scheduling-policy --scheduler-cls --stream-interval "
    "--max-cudagraph-capture-size --speculative-config --kv-transfer-config --kv-events-config "
    "--ec-transfer-config --compilation-config|-cc --attention-config|-ac --additional-config "
    "--structured-outputs-config --profiler-config --optimization-level --host --port --uds "
    "--uvicorn-log-level --chat-template --chat-template-content-format --default-chat-template-kwargs "
    "--response-role --ssl-keyfile --ssl-certfile --ssl-ca-certs --ssl-cert-reqs --ssl-ciphers "
    "--root-path --tool-call-parser --tool-parser-plugin --tool-server --log-config-file --max-log-len "
    "--h11-max-incomplete-event-size --h11-max-header-count --api-server-count|-asc --config";

constexpr std::string_view kSwitches =
    "--trust-remote-code --allow-deprecated-quantization --enforce-eager --enable-return-routed-experts "
    "--disable-sliding-window --disable-cascade-attn --skip-tokenizer-init --enable-prompt-embeds "
    "--enable-sleep-mode --use-tqdm-on-load --data-parallel-hybrid-lb|-dph "
    "--data-parallel-external-lb|-dpe --enable-expert-parallel|-ep --enable-dbo "
    "--disable-nccl-for-dp-synchronization --enable-eplb --ray-workers-use-nsight "
    "--disable-custom-all-reduce --enable-prefix-caching --calculate-kv-scales --kv-sharing-fast-prefill "
    "--enable-mm-embeds --mm-encoder-only --interleave-mm-strings --skip-mm-profiling --enable-lora "
    "--enable-tower-connector-lora --fully-sharded-loras --kv-cache-metrics --cudagraph-metrics "
    "--enable-layerwise-nvtx-tracing --enable-mfu-metrics --enable-logging-iteration-details "
    "--enable-chunked-prefill --disable-chunked-mm-input --disable-hybrid-kv-cache-manager "
    "--async-scheduling --enable-log-requests --disable-log-requests --disable-uvicorn-access-log "
    "--allow-credentials --trust-request-chat-template --enable-ssl-refresh --return-tokens-as-token-ids "
    "--disable-frontend-multiprocessing --enable-request-id-headers --enable-auto-tool-choice "
    "--exclude-tools-when-tool-choice-none --disable-fastapi-docs --enable-prompt-tokens-details "
    "--enable-server-load-tracking --enable-force-include-usage --enable-tokenizer-info-endpoint "
    "--enable-log-outputs --enable-log-deltas --log-error-stack --tokens-only --enable-offline-docs";

constexpr std::string_view kOns = "--disable-log-stats --aggregate-engine-logging --headless";

constexpr std::string_view kMaybes = "--hf-token";

constexpr std::string_view kLists =
    "--allowed-media-domains --served-model-name --logits-processors --ignore-patterns "
    "--collect-detailed-traces --cudagraph-capture-sizes --allowed-origins --allowed-methods "
    "--allowed-headers --api-key --lora-modules --middleware";
constexpr std::string_view kAffects =
    "--dtype --cpu-offload-gb --swap-space --speculative-config --enable-lora --max-loras --max-lora-rank "
    "--kv-transfer-config --ec-transfer-config --kv-offloading-size --kv-offloading-backend "
    "--enable-expert-parallel --decode-context-parallel-size --prefill-context-parallel-size --enable-dbo "
    "--no-enable-chunked-prefill --max-num-partial-prefills --max-long-partial-prefills "
    "--disable-hybrid-kv-cache-manager --async-scheduling --attention-backend --compilation-config "
    "--optimization-level --disable-sliding-window --disable-cascade-attn --disable-custom-all-reduce "
    "--nnodes --data-parallel-rank --data-parallel-size-local --limit-mm-per-prompt --hf-overrides "
    "--kv-sharing-fast-prefill --cudagraph-capture-sizes --max-cudagraph-capture-size --scheduler-cls "
    "--enable-eplb --mamba-cache-dtype --additional-config";

constexpr std::array kVariables{
    ServerVariable{.name = "VLLM_PP_LAYER_PARTITION", .path = "deployment.pp_layers"},
    ServerVariable{
        .name = "VLLM_ALLOW_LONG_MAX_MODEL_LEN", .path = "engine.allow_long_max_model_len", .sets = "true"},
};

}  // namespace

bool is_large(std::string_view device, std::int64_t bytes) {
  constexpr std::int64_t kLeastBytes = std::int64_t{70} << 30;
  return bytes >= kLeastBytes && !device.starts_with("a100");
}

extern const ServerCommand kServerCommand;
const ServerCommand kServerCommand{.engine = "vllm-v1",
                                   .product = "vLLM",
                                   .version = "0.15.1",
                                   .program = "vllm serve",
                                   .programs =
                                       "vllm serve|python -m vllm.entrypoints.openai.api_server|python3 -m "
                                       "vllm.entrypoints.openai.api_server",
                                   .image = "vllm/vllm-openai:v0.15.1",
                                   .image_command = "",
                                   .model_flag = "",
                                   .balancer = "vllm-dp",
                                   .allocator = "paged",
                                   .window_allocator = "grouped",
                                   .port = 8000,
                                   .log_words = "GPU KV cache size: N tokens",
                                   .values = kValues,
                                   .switches = kSwitches,
                                   .ons = kOns,
                                   .maybes = kMaybes,
                                   .lists = kLists,
                                   .affects = kAffects,
                                   .flags = server_flags,
                                   .variables = kVariables,
                                   .overrides = "--hf-overrides",
                                   .any_length = "engine.allow_long_max_model_len",
                                   .is_large = is_large};

}  // namespace kvplan::scheduling::vllm
