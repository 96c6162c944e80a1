// Runs on several ranks that share tables of blocks but keep different tokens: a block is held as long as any rank
// needs it. All ranks together equal the whole model on one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "simulator/io/head_scores.h"
#include "tests/coupling/settled.h"
#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

/// S is replaced by a number for each head of each layer.
constexpr const char* kByHead = "headkv:capacity=24,window=4,beta=1.1,scores=S";
constexpr const char* kByLayer = "pyramidkv-paper:total=100,beta=4";

struct Case {
  const char* policy;
  const char* budget;
  bool recorded;
  /// True if heads, and layers, depend on nothing but their own data. Then any rank can be made the first one.
  bool heads_alike, layers_alike;
};

constexpr Case kCases[]{
    {"h2o:hh=10,recent=6,placement=holes", "none", true, true, true},
    {"h2o:hh=10,recent=6,placement=reuse", "none", true, true, true},
    {"h2o:hh=10,recent=6,placement=holes", kByHead, true, true, true},
    {"tova:budget=16,placement=holes", "none", true, true, true},
    {"tova:budget=16,placement=reuse", "none", true, true, true},
    {"snapkv:window=4,capacity=24,placement=holes", "none", true, true, true},
    {"pyramidkv:window=4,capacity=24,beta=2,placement=holes", "none", true, true, false},
    {"pyramidinfer:ratio=0.5,placement=holes", "none", true, true, false},
    {"ada-kv:window=4,capacity=24,placement=holes", "none", true, true, true},
    {"ada-kv:window=4,capacity=24,placement=reuse", "none", true, true, true},
    {"ada-kv:window=4,capacity=24,placement=compact", "none", true, true, true},
    {"seed-threshold:placement=compact", "none", true, true, true},
    {"random:budget=20,recent=2,placement=holes", "none", false, false, false},
    {"random:budget=20,recent=2,placement=reuse", "none", false, false, false},
    {"random:budget=20,recent=2,placement=holes", kByHead, false, false, false},
    {"expr:score=\"head==1?position:age+layer\",budget=20,placement=holes", "none", false, false, false},
    {"expr:score=position,budget=20,scope=layer,placement=reuse", kByLayer, false, true, false},
    {"seed-ring:window=25,chunk=8,placement=holes", kByHead, false, true, true},
    {"window:window=25,placement=holes", kByHead, false, true, true},
    {"window:window=25,placement=reuse", kByHead, false, true, true},
    {"streaming-llm:sink=4,recent=9,placement=reuse", kByLayer, false, true, false},
    {"streaming-llm:sink=4,recent=9,placement=holes", kByLayer, false, true, false},
    {"duo-attention:gates=S,recent=9,sink=2,placement=holes", "none", false, true, true},
    // Counted.
    {"h2o:hh=10,recent=6,placement=compact", kByHead, false, true, true},
    {"window:window=25,placement=compact", kByHead, false, true, true},
    {"snapkv:window=4,capacity=30,placement=compact", kByHead, false, true, true},
    {"duo-attention:gates=S,recent=9,sink=2,placement=compact", "none", false, true, true},
    {"scissorhands:budget=20,drop=3,recent=9,placement=compact", kByHead, false, true, true},
    {"seed-ring:window=25,chunk=8,placement=compact", kByLayer, false, true, false},
    {"pyramidinfer:ratio=0.5,placement=compact", "none", false, true, false},
};

/// What becomes the first rank: the layers begin with this layer, and each layer with this head.
struct First {
  int layer{0}, head{0};
};

/// `text` with the numbers of heads in place of S.
std::string told(std::string text, First first) {
  const std::array<std::array<const char*, kHeads>, kLayers> scores{
      {{"4", "1", "1"}, {"1", "2", "0"}, {"3", "1", "1"}, {"2", "2", "6"}}};
  const auto at = text.find("=S");
  if (at == std::string::npos) return text;
  std::string table;
  for (int l = 0; l < kLayers; ++l) {
    table += l == 0 ? "[[" : "],[";
    for (int h = 0; h < kHeads; ++h) {
      const auto layer = static_cast<std::size_t>((l + first.layer) % kLayers);
      table += (h == 0 ? "" : ",") +
               std::string(scores[layer][static_cast<std::size_t>((h + first.head) % kHeads)]);
    }
  }
  return text.replace(at + 1, 1, table + "]]");
}

/// The same number of blocks for every deployment, and times that follow from tokens alone.
Values deployed(const Case& c, const std::string& table, const std::string& path, int ranks, First first) {
  Values values{{"model", "small/config.json"},
                {"eviction", told(c.policy, first)},
                {"memory.pool_tokens", "400"},
                {"memory.allocator", "paged:block_tokens=8,table=" + table},
                {"engine", "vllm-v1:token_budget=64,max_seqs=12,max_model_len=300"},
                {"latency", "affine:base_ns=100000,token_ns=10,context_ns=0"}};
  if (c.budget != std::string("none")) values.emplace_back("budget", told(c.budget, first));
  if (ranks > 1) values.emplace_back(path, std::to_string(ranks));
  return values;
}

runs::RunOptions seen_from(First first) {
  Random random(5, "tables");
  std::vector<attention::Rows> rows;
  for (int i = 0; i < kLayers; ++i)
    rows.push_back(attention::random_rows(random, kHeads, 150, attention::RowKind::kSmooth));
  std::rotate(rows.begin(), rows.begin() + first.layer, rows.end());
  for (attention::Rows& heads : rows) std::rotate(heads.begin(), heads.begin() + first.head, heads.end());
  runs::RunOptions how = options(std::vector<std::int64_t>(kLayers, 0), attention::recording_of(rows));
  how.open_scores = io::read_head_scores;
  how.request_memory = false;  // in bytes of a rank
  return how;
}

bool says_ranks_differ(const runs::RunResult& result) {
  return std::any_of(result.assumptions.begin(), result.assumptions.end(),
                     [](const std::string& s) { return s.rfind("Ranks keep different", 0) == 0; });
}

/// True if every rank has its own copy of metadata that one rank stores once: table entries, or the map of a layer.
bool repeats_metadata(const Case& c, const std::string& table) {
  const std::string policy = c.policy;
  const bool of_layers = policy.starts_with("tova") || policy.find("scope=layer") != std::string::npos;
  return table == "layer" || (of_layers && policy.ends_with("reuse"));
}

/// Blocks are allocated and requests served as on one rank; the cells of each state are divided among the ranks.
TEST(RankRuns, TogetherAreTheWholeModel) {
  const auto trace = trace_of(40, 150);
  std::int64_t returned = 0;
  std::int64_t preemptions = 0;
  int different = 0;
  for (const Case& c : kCases)
    for (const auto& [path, ranks, table] :
         {std::tuple{"deployment.tp", kHeads, "all"}, std::tuple{"deployment.tp", kHeads, "layer"},
          std::tuple{"deployment.pp", 2, "all"}}) {
      SCOPED_TRACE(std::string(c.policy) + " " + c.budget + " " + path + " " + table);
      const auto run_on = [&, path = path, table = table](int on, bool step_by_step, First first) {
        return run(deployed(c, table, path, on, first), c.recorded, step_by_step, trace, seen_from(first));
      };
      const auto whole = run_on(1, false, {});
      const auto first = run_on(ranks, false, {});
      expect_twins(first, run_on(ranks, true, {}), 40);
      EXPECT_FALSE(says_ranks_differ(whole));
      different += says_ranks_differ(first) ? 1 : 0;
      returned += first.evicted_blocks;
      preemptions += first.preemptions;
      observe::StateCounts peak{};
      std::array<double, observe::kStates> mean{};
      const bool by_heads = path == std::string("deployment.tp");
      const bool sees_all = by_heads ? c.heads_alike : c.layers_alike;
      for (int rank = 0; rank < (sees_all ? ranks : 1); ++rank) {
        const First chosen = by_heads ? First{0, rank} : First{rank * kLayers / ranks, 0};
        const auto other = rank == 0 ? first : run_on(ranks, false, chosen);
        EXPECT_EQ(runs::requests_csv(whole), runs::requests_csv(other));
        EXPECT_EQ(whole.evicted_blocks, other.evicted_blocks);
        EXPECT_EQ(whole.compactions, other.compactions);
        for (std::size_t s = 0; s < peak.size(); ++s) {
          peak[s] += other.memory->peak_bytes[s];
          mean[s] += other.memory->mean_fraction[s] / ranks;
        }
      }
      if (!sees_all) continue;
      using observe::State;
      if (repeats_metadata(c, table)) {
        EXPECT_EQ(at(peak, State::kLive), at(whole.memory->peak_bytes, State::kLive));
        continue;
      }
      for (std::size_t s = 0; s < peak.size(); ++s) {
        EXPECT_EQ(peak[s], whole.memory->peak_bytes[s]) << s;
        EXPECT_NEAR(mean[s], whole.memory->mean_fraction[s], 1e-12) << s;
      }
    }
  EXPECT_GT(returned, 3000);
  EXPECT_GT(preemptions, 200);
  EXPECT_GT(different, 50);
}

}  // namespace
}  // namespace kvplan::small_model
