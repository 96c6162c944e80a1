// Start-up logs of real servers, whole, cut off and altered, compared with the values that their authors read.
#include "simulator/startup/startup_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/unit/traces/support.h"

namespace kvplan::startup {
namespace {

using traces::testing::read_file;
using traces::testing::shared_traces;

constexpr const char* kGolden = KVPLAN_SOURCE_DIR "/tests/golden/startup/";

StartupLog read(const std::string& text, std::size_t piece = SIZE_MAX) {
  StartupReader reader;
  std::string_view rest = text;
  while (!rest.empty()) {
    reader.feed(rest.substr(0, piece));
    rest.remove_prefix(std::min(piece, rest.size()));
  }
  auto log = std::move(reader).finish("test.log");
  if (!log.ok()) return {.engine = "none"};
  return std::move(log).value();
}

/// Every value of a log as text, by name.
std::map<std::string, std::string> values_of(const StartupLog& log) {
  std::map<std::string, std::string> out;
  const auto add = [&](const std::string& name, const auto& value) {
    if (!value) return;
    std::ostringstream text;
    text << value->value;
    out[name] = text.str();
  };
  add("version", log.version), add("model", log.model), add("dtype", log.dtype);
  add("kv_cache_dtype", log.kv_cache_dtype), add("quantization", log.quantization);
  add("tp", log.tensor_ranks), add("pp", log.stages), add("dp", log.data_ranks);
  add("max_model_len", log.max_model_len), add("max_seqs", log.max_seqs);
  add("token_budget", log.token_budget), add("chunk", log.prefill_chunk);
  add("prefill_tokens", log.prefill_tokens), add("block_tokens", log.block_tokens);
  add("share", log.memory_share), add("prefix_cache", log.prefix_cache);
  add("tokens", log.pool_tokens), add("blocks", log.pool_blocks), add("concurrency", log.concurrency);
  for (const WorkerMemory& worker : log.workers) {
    const std::string name = worker.name + "/";
    add(name + "total", worker.total_gib), add(name + "free", worker.free_before_gib);
    add(name + "requested", worker.requested_gib), add(name + "weights", worker.weights_gib);
    add(name + "activations", worker.activations_gib), add(name + "non_torch", worker.non_torch_gib);
    add(name + "graphs", worker.graphs_gib), add(name + "estimated", worker.graphs_estimated_gib);
    add(name + "available", worker.available_gib), add(name + "after", worker.free_after_gib);
  }
  return out;
}

TEST(StartupLogs, OneOfTwoRanks) {
  const StartupLog log = read(read_file(std::string(kGolden) + "llama-3.1-8b-tp2.log"));
  EXPECT_EQ(log.engine, "vllm-v1");
  EXPECT_EQ(log.version->value, "0.19.0");
  EXPECT_EQ(log.model->value, "meta-llama/Llama-3.1-8B-Instruct");
  EXPECT_EQ(log.dtype->value, "torch.bfloat16");
  EXPECT_EQ(log.tensor_ranks->value, 2);
  EXPECT_EQ(log.stages->value, 1);
  EXPECT_EQ(log.max_model_len->value, 8192);
  EXPECT_EQ(log.max_seqs->value, 1024);
  EXPECT_EQ(log.token_budget->value, 8192);
  EXPECT_EQ(log.prefix_cache->value, false);
  EXPECT_EQ(log.memory_share->value, 0.95);
  EXPECT_EQ(log.pool_tokens->value, 1'044'688);
  EXPECT_EQ(log.pool_blocks->value, 65'293);
  EXPECT_EQ(log.concurrency->value, 127.53);
  EXPECT_FALSE(log.failure);
  EXPECT_TRUE(log.missing().empty());
  EXPECT_TRUE(log.conflicts.empty());
  ASSERT_NE(log.deciding(), nullptr);
  const WorkerMemory& worker = *log.deciding();
  EXPECT_EQ(worker.name, "Worker_TP0");
  EXPECT_EQ(worker.total_gib->value, 79.19);
  EXPECT_EQ(worker.free_before_gib->value, 77.66);
  EXPECT_EQ(worker.requested_gib->value, 75.23);
  EXPECT_EQ(worker.weights_gib->value, 7.51);
  EXPECT_EQ(worker.activations_gib->value, 1.89);
  EXPECT_EQ(worker.non_torch_gib->value, 2.07);
  EXPECT_EQ(worker.available_gib->value, 63.76);
  EXPECT_EQ(worker.graphs_gib->value, 0.76);
  EXPECT_EQ(worker.graphs_estimated_gib->value, 1.69);
}

TEST(StartupLogs, BlocksOfGroupsOfLayers) {
  const StartupLog log = read(read_file(std::string(kGolden) + "gemma-3-12b.log"));
  // 48,867 blocks in six groups of layers: 8,144 of each, with 16 tokens.
  EXPECT_EQ(log.pool_blocks->value, 48'867);
  EXPECT_EQ(log.pool_tokens->value, 130'304);
  EXPECT_TRUE(log.conflicts.empty());
}

TEST(StartupLogs, AStartThatFailed) {
  const StartupLog log = read(read_file(std::string(kGolden) + "gpt-oss-20b-failed.log"));
  ASSERT_TRUE(log.failure);
  EXPECT_NE(log.failure->value.find("OutOfMemoryError"), std::string::npos);
  EXPECT_EQ(log.quantization->value, "mxfp4");
  EXPECT_EQ(log.pool_tokens->value, 1'277'184);
  EXPECT_FALSE(log.pool_blocks);
}

TEST(StartupLogs, ColoursPrefixesAndPieces) {
  const std::string plain = read_file(std::string(kGolden) + "gpt-oss-20b-tp2.log");
  const auto expected = values_of(read(plain));
  std::istringstream lines(plain);
  std::string disguised;
  for (std::string line; std::getline(lines, line);)
    disguised += "node-3 | \x1b[32m" + line.substr(0, 9) + "\x1b[0;1m" + line.substr(9) + "\x1b[0m\r\n";
  EXPECT_EQ(values_of(read(disguised)), expected);
  for (const std::size_t piece : {1U, 7U, 100U}) EXPECT_EQ(values_of(read(plain, piece)), expected) << piece;
}

TEST(StartupLogs, BlocksThatWereCut) {
  const StartupLog log =
      read("GPU KV cache size: 476,016 tokens\ncache_config_info num_gpu_blocks is: 297\n");
  EXPECT_FALSE(log.pool_blocks);
  EXPECT_EQ(log.pool_tokens->value, 476'016);
  ASSERT_EQ(log.conflicts.size(), 1U);
}

TEST(StartupLogs, Sglang) {
  // Texts as SGLang v0.5.5 formats them.
  const StartupLog log = read(
      "[2025-11-08 09:00:00] server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B-Instruct', "
      "context_length=None, tp_size=2, pp_size=1, dp_size=1, page_size=1, mem_fraction_static=0.843, "
      "max_running_requests=None, chunked_prefill_size=8192, max_prefill_tokens=16384, "
      "disable_radix_cache=False, kv_cache_dtype='auto', quantization=None)\n"
      "[2025-11-08 09:00:10 TP0] Load weight begin. avail mem=77.66 GB\n"
      "[2025-11-08 09:00:20 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail "
      "mem=70.10 GB, "
      "mem usage=7.56 GB.\n"
      "[2025-11-08 09:00:21 TP0] KV Cache is allocated. #tokens: 949,272, K size: 28.97 GB, V size: 28.97 "
      "GB\n"
      "[2025-11-08 09:00:22 TP0] Memory pool end. avail mem=11.90 GB\n"
      "[2025-11-08 09:00:40 TP0] Capture cuda graph end. Time elapsed: 9.41 s. mem usage=0.60 GB. avail "
      "mem=11.28 GB.\n"
      "[2025-11-08 09:00:41 TP0] max_total_num_tokens=949272, chunked_prefill_size=8192, "
      "max_prefill_tokens=16384, "
      "max_running_requests=4096, context_len=131072, available_gpu_mem=11.28 GB\n");
  EXPECT_EQ(log.engine, "sglang");
  EXPECT_EQ(log.model->value, "meta-llama/Llama-3.1-8B-Instruct");
  EXPECT_EQ(log.dtype->value, "torch.bfloat16");
  EXPECT_FALSE(log.quantization);
  EXPECT_EQ(log.tensor_ranks->value, 2);
  EXPECT_EQ(log.memory_share->value, 0.843);
  EXPECT_EQ(log.prefix_cache->value, true);
  EXPECT_EQ(log.max_seqs->value, 4096);
  EXPECT_EQ(log.prefill_chunk->value, 8192);
  EXPECT_EQ(log.max_model_len->value, 131'072);
  EXPECT_EQ(log.pool_tokens->value, 949'272);
  ASSERT_NE(log.deciding(), nullptr);
  EXPECT_EQ(log.deciding()->name, "TP0");
  EXPECT_EQ(log.deciding()->weights_gib->value, 7.56);
  EXPECT_DOUBLE_EQ(log.deciding()->available_gib->value, 57.94);
  EXPECT_EQ(log.deciding()->graphs_gib->value, 0.60);
  EXPECT_EQ(log.deciding()->free_after_gib->value, 11.28);
}

TEST(StartupLogs, NotALog) {
  StartupReader reader;
  reader.feed("request,arrival\n0,1\n");
  const auto log = std::move(reader).finish("trace.csv");
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().to_string().find("trace.csv: expected the start-up log"), std::string::npos);
}

/// A log that is cut off anywhere gives the values of the whole log up to that line, and never another value.
void cut_and_compare(const std::string& text, const std::string& name, int cuts) {
  for (int i = 0; i < cuts; ++i) {
    const std::size_t end = text.size() * static_cast<std::size_t>(i) / static_cast<std::size_t>(cuts);
    const std::size_t line_begin = end == 0 ? 0 : text.rfind('\n', end - 1) + 1;
    const std::size_t line_end = std::min(text.find('\n', end), text.size() - 1) + 1;
    const auto before = values_of(read(text.substr(0, line_begin)));
    const auto after = values_of(read(text.substr(0, line_end)));
    for (const auto& [key, value] : values_of(read(text.substr(0, end)))) {
      const bool known = (before.contains(key) && before.at(key) == value) ||
                         (after.contains(key) && after.at(key) == value);
      EXPECT_TRUE(known) << name << " cut at " << end << ": " << key << " = " << value;
    }
  }
}

TEST(StartupLogs, CutAnywhereNothingIsInvented) {
  for (const auto& file : std::filesystem::directory_iterator(kGolden))
    cut_and_compare(read_file(file.path()), file.path().filename(), 997);
}

TEST(StartupLogs, EveryRecordedStart) {
  if (shared_traces().empty()) GTEST_SKIP() << "needs the recorded start-ups beside the source tree";
  const std::filesystem::path folder = std::filesystem::path(shared_traces()).parent_path() / "golden/pool";
  std::istringstream rows(read_file(folder / "start_ups.csv"));
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::string line;
  std::getline(rows, line);
  const std::vector<std::string> names = cells_of(line);
  int starts = 0;
  while (std::getline(rows, line)) {
    std::map<std::string, std::string> row;
    const auto cells = cells_of(line);
    for (std::size_t i = 0; i < cells.size(); ++i) row[names[i]] = cells[i];
    const std::string text = read_file(folder / "logs" / row["log_file"]);
    const StartupLog log = read(text);
    cut_and_compare(text, row["log_file"], 50);
    ++starts;
    SCOPED_TRACE(row["log_file"]);
    EXPECT_EQ(log.version->value, "0.19.0");
    EXPECT_EQ(log.model->value, row["model"]);
    EXPECT_EQ(log.tensor_ranks->value, std::stoll(row["tp"]));
    EXPECT_EQ(log.stages->value, std::stoll(row["pp"]));
    EXPECT_EQ(log.memory_share->value, std::stod(row["gpu_memory_utilization"]));
    EXPECT_EQ(log.failure.has_value() || !log.pool_tokens, row["status"] != "ok");
    const auto same = [&](const char* key, const auto& value) {
      if (row[key].empty()) return;
      ASSERT_TRUE(value) << key;
      EXPECT_DOUBLE_EQ(static_cast<double>(value->value), std::stod(row[key])) << key;
    };
    same("kv_cache_tokens", log.pool_tokens);
    same("kv_cache_blocks", log.pool_blocks);
    same("max_concurrency", log.concurrency);
    // Stages differ, and the table has values of another stage than the one that decides the pool.
    if (const WorkerMemory* const worker = log.deciding(); worker != nullptr && row["pp"] == "1") {
      same("init_free_memory_gib", worker->free_before_gib);
      same("requested_memory_gib", worker->requested_gib);
      same("activation_memory_gib", worker->activations_gib);
      same("non_torch_forward_gib", worker->non_torch_gib);
      same("cuda_graph_actual_gib", worker->graphs_gib);
    }
  }
  EXPECT_EQ(starts, 41);
}

}  // namespace
}  // namespace kvplan::startup
