// Public command lines that start servers, each with the page that shows it.
#pragma once

#include <array>
#include <string_view>

namespace kvplan::launch::testing {

struct PublicCommand {
  std::string_view from;
  std::string_view text;
};

inline constexpr std::array<PublicCommand, 10> kVllm{
    {{"docs.vllm.ai, data parallel deployment",
      "vllm serve meta-llama/Llama-3.2-1B-Instruct --data-parallel-size 4 --tensor-parallel-size 2"},
     {"docs.vllm.ai, parallelism and scaling",
      "vllm serve gpt2 \\\n     --tensor-parallel-size 4 \\\n     --pipeline-parallel-size 2"},
     {"docs.vllm.ai, tool calling",
      "vllm serve meta-llama/Llama-3.1-8B-Instruct --enable-auto-tool-choice --tool-call-parser llama3_json "
      "--chat-template examples/tool_chat_template_llama3.1_json.jinja"},
     {"docs.vllm.ai, using Docker",
      "docker run --runtime nvidia --gpus all -v ~/.cache/huggingface:/root/.cache/huggingface "
      "--env \"HF_TOKEN=$HF_TOKEN\" -p 8000:8000 --ipc=host vllm/vllm-openai:latest --model Qwen/Qwen3-0.6B"},
     {"docs.vllm.ai, quickstart",
      "python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2.5-1.5B-Instruct"},
     {"docs.vllm.ai, reasoning outputs",
      "vllm serve deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B --reasoning-parser deepseek_r1"},
     {"docs.vllm.ai, speculative decoding",
      "vllm serve facebook/opt-6.7b --host 0.0.0.0 --port 8000 --seed 42 -tp 1 --gpu_memory_utilization 0.8 "
      "--speculative_config '{\"model\": \"facebook/opt-125m\", \"num_speculative_tokens\": 5}'"},
     {"a course on inference, section on vLLM",
      "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --max-model-len 32768 "
      "--enable-prefix-caching --kv-cache-dtype fp8"},
     {"a page on tuning for latency",
      "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-num-batched-tokens 2048 --max-num-seqs 256"},
     {"docs.vllm.ai, cli reference",
      "vllm serve meta-llama/Llama-3.2-1B-Instruct --headless --data-parallel-size 4 "
      "--data-parallel-size-local 2 "
      "--data-parallel-start-rank 2 --data-parallel-address 10.99.48.128 --data-parallel-rpc-port 13345"}}};

inline constexpr std::array<PublicCommand, 10> kSglang{
    {{"docs.sglang.io, server arguments",
      "python -m sglang.launch_server --model-path meta-llama/Meta-Llama-3-8B-Instruct --tp 2"},
     {"docs.sglang.io, server arguments",
      "python -m sglang.launch_server --model-path meta-llama/Meta-Llama-3-8B-Instruct --mem-fraction-static "
      "0.7"},
     {"docs.sglang.io, server arguments",
      "python -m sglang.launch_server --model-path meta-llama/Meta-Llama-3-8B-Instruct "
      "--chunked-prefill-size "
      "4096"},
     {"docs.sglang.io, server arguments",
      "python -m sglang.launch_server --model-path meta-llama/Meta-Llama-3-8B-Instruct --tp 4 "
      "--dist-init-addr "
      "sgl-dev-0:50000 --nnodes 2 --node-rank 0"},
     {"docs.sglang.io, quantization",
      "python3 -m sglang.launch_server --model-path meta-llama/Meta-Llama-3.1-8B-Instruct --quantization fp8 "
      "--port 30000 --host 0.0.0.0"},
     {"docs.sglang.io, Llama 4",
      "python3 -m sglang.launch_server --model-path meta-llama/Llama-4-Scout-17B-16E-Instruct --tp 8 "
      "--context-length 1000000"},
     {"docs.sglang.io, DeepSeek",
      "python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3 --tp 8 --trust-remote-code"},
     {"docs.sglang.io, reasoning parser",
      "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1-Distill-Qwen-7B --host 0.0.0.0 "
      "--reasoning-parser deepseek-r1 --log-level warning"},
     {"sglang serve, common launch options",
      "sglang serve \\\n  --model-path meta-llama/Llama-3.1-8B-Instruct \\\n  --host 0.0.0.0 \\\n  --port "
      "30000 "
      "\\\n  --tp-size 2 \\\n  --mem-fraction-static 0.8"},
     {"docs.sglang.io, quantized KV cache",
      "python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --kv-cache-dtype fp8_e4m3 "
      "--disable-radix-cache --page-size=16"}}};

}  // namespace kvplan::launch::testing
