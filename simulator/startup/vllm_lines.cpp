// Lines of vLLM's V1 engine: vllm/v1/worker/gpu_worker.py, gpu_model_runner.py, vllm/v1/core/kv_cache_utils.py,
// vllm/v1/engine/core.py, vllm/engine/arg_utils.py and vllm/entrypoints/utils.py of v0.19.0; older and newer ones
// differ in paths and in lines that they leave out.
#include "simulator/startup/log_line.h"

namespace kvplan::startup {
namespace {

bool has(const LogLine& line, std::string_view text) {
  return line.text.find(text) != std::string::npos;
}

/// Arguments that differ from defaults. The engine's own line comes later and states the resulting values.
bool take_arguments(const LogLine& line, StartupLog& log) {
  if (!has(line, "non-default args: ")) return false;
  const auto value = [&](std::string_view key) { return python_value(line.text, key); };
  keep_text(log.model, value("model"), line);
  keep_text(log.quantization, value("quantization"), line);
  keep_text(log.kv_cache_dtype, value("kv_cache_dtype"), line);
  keep_whole(log.max_model_len, value("max_model_len"), line);
  keep_whole(log.max_seqs, value("max_num_seqs"), line);
  keep_whole(log.token_budget, value("max_num_batched_tokens"), line);
  keep_whole(log.tensor_ranks, value("tensor_parallel_size"), line);
  keep_whole(log.stages, value("pipeline_parallel_size"), line);
  keep_whole(log.data_ranks, value("data_parallel_size"), line);
  keep_whole(log.block_tokens, value("block_size"), line);
  keep_decimal(log.memory_share, value("gpu_memory_utilization"), line);
  keep_flag(log.prefix_cache, value("enable_prefix_caching"), line);
  return true;
}

bool take_config(const LogLine& line, StartupLog& log) {
  if (!has(line, "Initializing a V1 LLM engine (v")) return false;
  const std::size_t from = line.text.find("engine (v") + 9;
  const std::size_t to = line.text.find(')', from);
  if (to != std::string::npos)
    log.version = Logged<std::string>{line.text.substr(from, to - from), line.number};
  const auto value = [&](std::string_view key) { return python_value(line.text, key); };
  keep_text(log.model, value("model"), line);
  keep_text(log.dtype, value("dtype"), line);
  keep_text(log.quantization, value("quantization"), line);
  keep_text(log.kv_cache_dtype, value("kv_cache_dtype"), line);
  keep_whole(log.max_model_len, value("max_seq_len"), line);
  keep_whole(log.tensor_ranks, value("tensor_parallel_size"), line);
  keep_whole(log.stages, value("pipeline_parallel_size"), line);
  keep_whole(log.data_ranks, value("data_parallel_size"), line);
  keep_flag(log.prefix_cache, value("enable_prefix_caching"), line);
  return true;
}

bool take_limits(const LogLine& line, StartupLog& log) {
  bool taken = false;
  const auto limit = [&](Maybe<std::int64_t>& into, std::string_view before, std::string_view after) {
    const auto value = whole_between(line, before, after);
    keep(into, value, line);
    taken = taken || value;
  };
  limit(log.token_budget, "Defaulting max_num_batched_tokens to ", " for");
  limit(log.max_seqs, "Defaulting max_num_seqs to ", " for");
  if (!line.text.ends_with('.')) limit(log.token_budget, "enabled with max_num_batched_tokens=", "");
  limit(log.token_budget, "enabled with max_num_batched_tokens=", ".");
  return taken;
}

bool take_memory(const LogLine& line, StartupLog& log) {
  bool taken = false;
  const auto term = [&](Maybe<double> WorkerMemory::*into, std::string_view before, std::string_view after) {
    const auto value = decimal_between(line, before, after);
    if (!value) return;
    keep(worker_of(log, line).*into, value, line);
    taken = true;
  };
  term(&WorkerMemory::weights_gib, "Model loading took ", " GiB");
  term(&WorkerMemory::free_before_gib, "Initial free memory: ", " GiB");
  term(&WorkerMemory::requested_gib, "(util), ", " GiB");
  term(&WorkerMemory::activations_gib, "torch peak memory increase: ", "GiB");
  term(&WorkerMemory::non_torch_gib, "non-torch forward increase memory: ", "GiB");
  term(&WorkerMemory::weights_gib, "weights memory: ", "GiB");
  term(&WorkerMemory::available_gib, "Available KV cache memory: ", " GiB");
  term(&WorkerMemory::graphs_gib, "CUDA graph pool memory: ", " GiB (actual)");
  term(&WorkerMemory::graphs_gib, "secs, took ", " GiB");
  term(&WorkerMemory::graphs_estimated_gib, "GiB (actual), ", " GiB (estimated)");
  term(&WorkerMemory::graphs_estimated_gib, "Estimated CUDA graph memory: ", " GiB");
  if (const std::size_t at = line.text.find("Free memory on device ("); at != std::string::npos) {
    LogLine rest = line;
    rest.text = line.text.substr(at);
    const std::size_t slash = rest.text.find('/');
    if (slash != std::string::npos) {
      rest.text = rest.text.substr(slash);
      keep(worker_of(log, line).total_gib, decimal_between(rest, "/", " GiB)"), line);
      taken = true;
    }
  }
  keep(log.memory_share, decimal_between(line, "Desired GPU memory utilization is (", ", "), line);
  return taken;
}

bool take_pool(const LogLine& line, StartupLog& log) {
  bool taken = false;
  const auto take = [&](auto& into, const auto& value) {
    keep(into, value, line);
    taken = taken || value;
  };
  take(log.pool_tokens, whole_between(line, "GPU KV cache size: ", " tokens"));
  take(log.pool_blocks, whole_between(line, "num_gpu_blocks is: ", ""));
  const auto length = whole_between(line, "Maximum concurrency for ", " tokens per request: ");
  if (length) {
    take(log.max_model_len, length);
    take(log.concurrency, decimal_between(line, " tokens per request: ", "x"));
  }
  return taken;
}

bool take_failure(const LogLine& line, StartupLog& log) {
  const bool ended = has(line, "OutOfMemoryError: ") ||
                     has(line, "No available memory for the cache blocks") ||
                     has(line, "larger than the maximum number of tokens that can be stored in KV cache") ||
                     has(line, "is larger than the available KV cache memory") ||
                     has(line, "out of memory occurred when warming up sampler");
  if (!ended) return false;
  if (!log.failure) {
    const std::size_t from = line.text.find("Error: ");
    log.failure = Logged<std::string>{
        from == std::string::npos ? line.text : line.text.substr(line.text.rfind(' ', from) + 1),
        line.number};
  }
  return true;
}

}  // namespace

bool take_vllm_line(const LogLine& line, StartupLog& log) {
  if (take_arguments(line, log) || take_config(line, log)) return true;
  bool taken = take_limits(line, log);
  taken = take_memory(line, log) || taken;
  taken = take_pool(line, log) || taken;
  return take_failure(line, log) || taken;
}

}  // namespace kvplan::startup
