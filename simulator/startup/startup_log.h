// Contents of a server's start-up log: the model, its parallelism and limits, every memory term, and the KV pool.
//
// The log of a real server is the best evidence of a pool: `kvplan scenario from-log` makes a scenario from it, with
// the reported pool, and shows kvplan's prediction for comparison.
//
// It reads logs of vLLM's V1 engine from 0.11 on (texts of vllm/v1/worker/gpu_worker.py, gpu_model_runner.py,
// vllm/v1/core/kv_cache_utils.py and vllm/engine/arg_utils.py of v0.19.0, and of public logs of 0.11 to 0.21) and of
// SGLang 0.5 (srt/model_executor/model_runner.py and srt/managers/scheduler.py of v0.5.5). A value counts only if its
// line is complete: a truncated number has no unit after it, and is left out. Lines may be coloured, and prefixed with
// the names of processes, dates and levels, or with anything else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::startup {

/// A value and the line that states it, counted from 1. If several lines state it, the last one counts.
template <class T>
struct Logged {
  T value{};
  std::int64_t line{0};
};
template <class T>
using Maybe = std::optional<Logged<T>>;

/// Memory of one worker process, as it reported it. GiB with two decimals, as logs have them: exact within 0.005 GiB.
struct WorkerMemory {
  std::string name;                 ///< "Worker_TP0", "EngineCore", "TP1"; empty where lines have no prefix
  Maybe<double> total_gib{};        ///< memory of the device, as a program sees it
  Maybe<double> free_before_gib{};  ///< before weights are loaded
  Maybe<double> requested_gib{};    ///< utilisation x total (vLLM)
  Maybe<double> weights_gib{};      ///< memory that loading took
  Maybe<double> activations_gib{};  ///< peak of the profiling pass (vLLM)
  Maybe<double> non_torch_gib{};    ///< increase outside PyTorch's allocator while profiling (vLLM)
  Maybe<double> graphs_gib{};       ///< captured CUDA graphs
  Maybe<double> graphs_estimated_gib{};  ///< the profiler's estimate of the CUDA graphs (vLLM from 0.18 on)
  Maybe<double> available_gib{};         ///< memory left for the KV cache
  Maybe<double> free_after_gib{};        ///< after everything is allocated (SGLang)
};

struct StartupLog {
  std::string engine;  ///< "vllm-v1" or "sglang", a member of the family "engine"
  Maybe<std::string> version{}, model{}, dtype{}, kv_cache_dtype{}, quantization{};
  Maybe<std::int64_t> tensor_ranks{}, stages{}, data_ranks{};
  Maybe<std::int64_t> max_model_len{};
  Maybe<std::int64_t> max_seqs{};        ///< vLLM max_num_seqs, SGLang max_running_requests
  Maybe<std::int64_t> token_budget{};    ///< vLLM max_num_batched_tokens
  Maybe<std::int64_t> prefill_chunk{};   ///< SGLang chunked_prefill_size
  Maybe<std::int64_t> prefill_tokens{};  ///< SGLang max_prefill_tokens
  Maybe<std::int64_t> block_tokens{};    ///< vLLM block_size, SGLang page_size
  Maybe<double> memory_share{};          ///< vLLM gpu_memory_utilization, SGLang mem_fraction_static
  Maybe<bool> prefix_cache{};
  Maybe<std::int64_t> pool_tokens{};     ///< "GPU KV cache size", "#tokens"
  Maybe<std::int64_t> pool_blocks{};     ///< vLLM, the null block included
  Maybe<double> concurrency{};           ///< requests of max_model_len that fit (vLLM)
  Maybe<std::string> failure{};          ///< the first line of an error that ended the start
  std::vector<WorkerMemory> workers{};   ///< in the order in which they appear
  std::vector<std::string> conflicts{};  ///< values that contradict each other; a sentence each

  /// The worker that decides the pool: the one with the least memory left; null if none reported any.
  [[nodiscard]] const WorkerMemory* deciding() const;
  /// Names of values that a scenario needs and the log does not state: "model", "pool", ...
  [[nodiscard]] std::vector<std::string> missing() const;
};

/// Reads a log piece by piece, in bounded memory: a server's log may contain days of requests after its start.
class StartupReader {
 public:
  /// The next bytes, cut anywhere.
  void feed(std::string_view bytes);
  /// Errors (file): no line of a start-up of either engine. Truncated, missing or unknown lines are not
  /// errors.
  Result<StartupLog> finish(const std::string& file) &&;

 private:
  void take_line(bool whole);

  std::string line_;
  std::int64_t number_{0};
  StartupLog vllm_{.engine = "vllm-v1"}, sglang_{.engine = "sglang"};
  std::int64_t vllm_lines_{0}, sglang_lines_{0};
};

}  // namespace kvplan::startup
