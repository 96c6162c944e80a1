// Lines of SGLang 0.5: srt/entrypoints/engine.py (server_args), srt/model_executor/model_runner.py (memory) and
// srt/managers/scheduler.py (the limits of the scheduler) of v0.5.5. What SGLang calls GB is 2^30 bytes.
#include "simulator/startup/log_line.h"

namespace kvplan::startup {
namespace {

bool take_arguments(const LogLine& line, StartupLog& log) {
  const std::size_t at = line.text.find("ServerArgs(");
  if (at == std::string::npos) return false;
  const std::string_view text = std::string_view(line.text).substr(at);
  const auto value = [&](std::string_view key) { return python_value(text, key); };
  keep_text(log.model, value("model_path"), line);
  keep_text(log.quantization, value("quantization"), line);
  keep_text(log.kv_cache_dtype, value("kv_cache_dtype"), line);
  keep_whole(log.tensor_ranks, value("tp_size"), line);
  keep_whole(log.stages, value("pp_size"), line);
  keep_whole(log.data_ranks, value("dp_size"), line);
  keep_whole(log.max_model_len, value("context_length"), line);
  keep_whole(log.max_seqs, value("max_running_requests"), line);
  keep_whole(log.prefill_chunk, value("chunked_prefill_size"), line);
  keep_whole(log.prefill_tokens, value("max_prefill_tokens"), line);
  keep_whole(log.block_tokens, value("page_size"), line);
  keep_decimal(log.memory_share, value("mem_fraction_static"), line);
  Maybe<bool> off;
  keep_flag(off, value("disable_radix_cache"), line);
  if (off) log.prefix_cache = Logged<bool>{!off->value, line.number};
  return true;
}

bool take_memory(const LogLine& line, StartupLog& log) {
  bool taken = false;
  const auto term = [&](Maybe<double> WorkerMemory::*into, std::string_view sentence,
                        std::string_view before) {
    if (line.text.find(sentence) == std::string::npos) return;
    const auto value = decimal_between(line, before, " GB");
    if (!value) return;
    keep(worker_of(log, line).*into, value, line);
    taken = true;
  };
  term(&WorkerMemory::free_before_gib, "Load weight begin.", "avail mem=");
  term(&WorkerMemory::weights_gib, "Load weight end.", "mem usage=");
  term(&WorkerMemory::graphs_gib, "apture cuda graph end.", "mem usage=");
  term(&WorkerMemory::free_after_gib, "apture cuda graph end.", "avail mem=");
  if (line.text.find("Load weight end.") != std::string::npos) {
    keep_text(log.dtype, python_value(line.text, "dtype"), line);
    taken = true;
  }
  return taken;
}

bool take_pool(const LogLine& line, StartupLog& log) {
  bool taken = false;
  const auto keys = whole_between(line, "#tokens: ", ",");
  if (line.text.find("KV Cache is allocated.") != std::string::npos && keys) {
    keep(log.pool_tokens, keys, line);
    const auto k = decimal_between(line, "K size: ", " GB");
    const auto v = decimal_between(line, "V size: ", " GB");
    const auto both = decimal_between(line, "KV size: ", " GB");
    if (k && v) keep(worker_of(log, line).available_gib, std::optional(*k + *v), line);
    if (both) keep(worker_of(log, line).available_gib, both, line);
    taken = true;
  }
  if (const auto tokens = whole_between(line, "max_total_num_tokens=", ",")) {
    keep(log.pool_tokens, tokens, line);
    keep_whole(log.prefill_chunk, python_value(line.text, "chunked_prefill_size"), line);
    keep_whole(log.prefill_tokens, python_value(line.text, "max_prefill_tokens"), line);
    keep_whole(log.max_seqs, python_value(line.text, "max_running_requests"), line);
    keep_whole(log.max_model_len, python_value(line.text, "context_len"), line);
    taken = true;
  }
  return taken;
}

bool take_failure(const LogLine& line, StartupLog& log) {
  if (line.text.find("Not enough memory. Please try") == std::string::npos) return false;
  if (!log.failure)
    log.failure = Logged<std::string>{line.text.substr(line.text.find("Not enough memory")), line.number};
  return true;
}

}  // namespace

bool take_sglang_line(const LogLine& line, StartupLog& log) {
  if (take_arguments(line, log)) return true;
  bool taken = take_memory(line, log);
  taken = take_pool(line, log) || taken;
  return take_failure(line, log) || taken;
}

}  // namespace kvplan::startup
