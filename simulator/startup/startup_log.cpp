#include "simulator/startup/startup_log.h"

#include <algorithm>

#include "simulator/startup/log_line.h"

namespace kvplan::startup {
namespace {

constexpr std::int64_t kVllmBlockTokens = 16;  // vLLM's default, which no line states
constexpr std::size_t kMostOfLine = std::size_t{1}
                                    << 20;  // the rest of a longer line says nothing about the start

/// vLLM reports tokens as blocks of one group of layers: (blocks / groups) x block_tokens.
bool one_pool(std::int64_t tokens, std::int64_t blocks, std::int64_t block_tokens) {
  for (std::int64_t groups = 1; groups <= blocks; ++groups) {
    const std::int64_t of_one = blocks / groups * block_tokens;
    if (of_one == tokens) return true;
    if (of_one < tokens) return false;
  }
  return false;
}

/// Drops a block count if no number of layer groups makes it fit the tokens: its line was truncated.
void check_pool(StartupLog& log) {
  if (!log.pool_tokens || !log.pool_blocks || log.engine != "vllm-v1") return;
  const std::int64_t block = log.block_tokens ? log.block_tokens->value : kVllmBlockTokens;
  if (block > 0 && one_pool(log.pool_tokens->value, log.pool_blocks->value, block)) return;
  log.conflicts.push_back("Line " + std::to_string(log.pool_blocks->line) + " says " +
                          std::to_string(log.pool_blocks->value) + " blocks and line " +
                          std::to_string(log.pool_tokens->line) + " " +
                          std::to_string(log.pool_tokens->value) +
                          " tokens. These two numbers do not fit together for any number of layer groups, so "
                          "the number of blocks is ignored.");
  log.pool_blocks.reset();
}

}  // namespace

const WorkerMemory* StartupLog::deciding() const {
  const WorkerMemory* least = nullptr;
  for (const WorkerMemory& worker : workers) {
    if (!worker.available_gib) continue;
    if (least == nullptr || worker.available_gib->value < least->available_gib->value) least = &worker;
  }
  return least;
}

std::vector<std::string> StartupLog::missing() const {
  std::vector<std::string> out;
  if (!model) out.emplace_back("the model");
  if (!pool_tokens && !pool_blocks) out.emplace_back("the size of the KV pool");
  if (!max_model_len) out.emplace_back("the longest request (max_model_len)");
  if (!max_seqs) out.emplace_back("the most running requests (max_num_seqs)");
  if (engine == "vllm-v1" && !token_budget) out.emplace_back("the token budget (max_num_batched_tokens)");
  if (!memory_share) out.emplace_back("the share of memory");
  if (!version && engine == "vllm-v1") out.emplace_back("the engine's version");
  return out;
}

void StartupReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    line_.append(piece.substr(0, std::min(piece.size(), kMostOfLine - std::min(line_.size(), kMostOfLine))));
    if (end == std::string_view::npos) return;
    take_line(true);
    bytes.remove_prefix(end + 1);
  }
}

void StartupReader::take_line(bool whole) {
  const LogLine line = log_line(line_, ++number_, whole && line_.size() < kMostOfLine);
  vllm_lines_ += take_vllm_line(line, vllm_) ? 1 : 0;
  sglang_lines_ += take_sglang_line(line, sglang_) ? 1 : 0;
  line_.clear();
}

Result<StartupLog> StartupReader::finish(const std::string& file) && {
  if (!line_.empty()) take_line(false);
  if (vllm_lines_ == 0 && sglang_lines_ == 0)
    return bad_input(
               "expected the start-up log of vLLM (0.11 or later) or SGLang (0.5), found no line of either; "
               "lines such as \"GPU KV cache size: 476,016 tokens\" or \"max_total_num_tokens=436128,\" give "
               "the pool")
        .at_file(file);
  StartupLog& log = vllm_lines_ >= sglang_lines_ ? vllm_ : sglang_;
  check_pool(log);
  return std::move(log);
}

}  // namespace kvplan::startup
