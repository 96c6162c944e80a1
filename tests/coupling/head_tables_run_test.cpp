// Runs of policies that keep everything in some heads, and first and newest tokens in the others, by tables of heads
// (duo-attention, razor-attention): no recording is needed, and a recording changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "simulator/io/head_scores.h"
#include "simulator/retention/run_courses.h"
#include "simulator/retention/run_tokens.h"
#include "simulator/workload/workload_builder.h"
#include "tests/coupling/settled.h"
#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

const std::string kGates = "[[0.9,0.1,0.4],[0.2,0.8,0.7],[0.1,0.3,0.2],[0.6,0.5,0.05]]";
const std::string kDuo = "duo-attention:sink=4,recent=9,gates=" + kGates;
const std::string kRazor =
    "razor-attention:sink=3,recent=12,induction_share=0.3,echo_share=0.1,induction=" + kGates +
    ",echo=[[0,0,1],[0,0,0],[2,0,0],[0,0,0]]";

runs::RunOptions with_tables(runs::RunOptions how = options()) {
  how.open_scores = io::read_head_scores;
  return how;
}

Values with_policy(const std::string& eviction, const std::string& table, const std::string& pool) {
  Values values = scenario_with(eviction, table, pool);
  values.emplace_back("engine", "vllm-v1:token_budget=64,max_seqs=12,max_model_len=300,prefix_cache=false");
  return values;
}

TEST(HeadTableRuns, FastEqualsNaive) {
  const auto trace = trace_of(40, 150);
  std::int64_t preemptions = 0;
  std::int64_t returned = 0;
  const auto compare = [&](const Values& values) {
    const auto fast = run(values, false, false, trace, with_tables());
    const auto naive = run(values, false, true, trace, with_tables());
    expect_twins(fast, naive, 40);
    preemptions += fast.preemptions;
    returned += fast.evicted_blocks;
  };
  for (const std::string& policy : {kDuo, kRazor})
    for (const std::string placement : {"holes", "reuse", "compact"}) {
      const std::string placed = policy + ",placement=" + placement;
      for (const char* table : {"all", "layer", "head"}) {
        SCOPED_TRACE(placed + " " + table);
        compare(with_policy(placed, table, "400"));
      }
      if (placement == "compact") continue;
      Values contiguous = with_policy(placed, "all", "700");
      contiguous.emplace_back("memory.allocator", "contiguous");
      SCOPED_TRACE(placed + " contiguous");
      compare(contiguous);
    }
  EXPECT_GT(preemptions, 100);
  EXPECT_GT(returned, 1000);
}

/// If all heads behave alike, the run equals that of the policy without tables.
TEST(HeadTableRuns, HeadsThatAreAlike) {
  const auto trace = trace_of(40, 150);
  const auto of = [&](const std::string& policy, const char* table, const std::string& budget = "none") {
    Values values = with_policy(policy, table, "500");
    values.emplace_back("budget", budget);
    return whole_figures(run(values, false, false, trace, with_tables()));
  };
  for (const std::string placement : {",placement=holes", ",placement=reuse", ",placement=compact"})
    for (const char* table : {"all", "layer", "head"}) {
      SCOPED_TRACE(placement + " " + table);
      // With a budget each layer has its own course.
      EXPECT_EQ(of(kDuo + ",sparsity=1" + placement, table),
                of("streaming-llm:sink=4,recent=9" + placement, table, "uniform:capacity=13"));
      if (std::string(table) != "all") continue;
      EXPECT_EQ(of(kDuo + ",sparsity=0" + placement, table), of("full", table));
    }
}

/// Tokens dropped after n tokens, unit by unit: neighbours with equal drops may share a track.
std::vector<std::vector<std::int32_t>> dropped_by_unit(const core::Drops& drops, std::int64_t n) {
  std::vector<std::vector<std::int32_t>> out;
  const auto units = drops.track_units();
  for (std::int32_t track = 0; track < std::ssize(units); ++track) {
    std::vector<std::int32_t> gone;
    drops.dropped(track, n, gone);
    out.insert(out.end(), static_cast<std::size_t>(units[static_cast<std::size_t>(track)]), gone);
  }
  return out;
}

/// Compares everything that two courses state about a request, table by table and track by track.
void expect_alike(const core::Course& a, const core::Course& b) {
  const core::CourseShape& shape = a.shape();
  ASSERT_EQ(a.units(), b.units());
  const auto tables = a.tables();
  const auto others = b.tables();
  ASSERT_EQ(tables.size(), others.size());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    ASSERT_EQ(tables[i].tables, others[i].tables);
    count += tables[i].tables;
    if (tables[i].course != &a) expect_alike(*tables[i].course, *others[i].course);
  }
  // Allocation units are granted to all tables at once.
  for (std::int64_t first = 0; first < ceil_div(shape.prompt, shape.alloc_unit_tokens); ++first)
    EXPECT_EQ(a.granted(first * count, count), b.granted(first * count, count));
  for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
    SCOPED_TRACE("after " + std::to_string(n));
    EXPECT_EQ(a.table_slots(n), b.table_slots(n));
    EXPECT_EQ(a.settled(n), b.settled(n));
    EXPECT_EQ(a.grant(n), b.grant(n));
    EXPECT_EQ(a.returned_cells(n), b.returned_cells(n));
    EXPECT_EQ(a.dropped_cells(n), b.dropped_cells(n));
    EXPECT_EQ(a.read_tokens(n), b.read_tokens(n));
    EXPECT_EQ(a.alike_steps(n), b.alike_steps(n));
    EXPECT_TRUE(std::ranges::equal(a.freed_entries(n), b.freed_entries(n)));
    const auto moved = a.compaction(n);
    const auto other = b.compaction(n);
    ASSERT_EQ(moved.has_value(), other.has_value());
    if (moved) {
      EXPECT_EQ(moved->kept_cells, other->kept_cells);
      EXPECT_EQ(moved->alloc_units_before, other->alloc_units_before);
      EXPECT_EQ(moved->alloc_units, other->alloc_units);
    }
    if (a.drops() == nullptr) continue;
    EXPECT_EQ(dropped_by_unit(*a.drops(), n), dropped_by_unit(*b.drops(), n));
  }
}

/// The run that follows from lengths and tables equals a replay of the policy on a recording, block by block.
TEST(HeadTableRuns, ReplayedIsTheSame) {
  const runs::RunOptions how = with_tables();
  const auto recording = how.open_recording("").value();
  const std::int64_t recorded = recording->info().sequences[0].tokens;
  for (std::uint64_t seed = 1; seed <= 90; ++seed) {
    Random random(seed, "tables per head");
    const auto table_of_heads = [&] {
      std::string out;
      for (int layer = 0; layer < kLayers; ++layer) {
        out += layer == 0 ? "[" : "],";
        for (int head = 0; head < kHeads; ++head)
          out += (head == 0 ? "[" : ",") + std::to_string(random.between(0, 9));
      }
      return out + "]]";
    };
    const std::string tenth = "0." + std::to_string(random.between(0, 9));
    std::string policy = random.chance(1, 2)
                             ? "duo-attention:sparsity=" + tenth + ",gates=" + table_of_heads()
                             : "razor-attention:induction_share=" + tenth + ",induction=" + table_of_heads() +
                                   ",echo=" + table_of_heads();
    policy += ",sink=" + std::to_string(random.between(0, 9)) +
              ",recent=" + std::to_string(random.between(1, 40)) +
              ",placement=" + std::vector<std::string>{"holes", "reuse", "compact"}[random.below(3)];
    const std::string table = std::vector<std::string>{"all", "layer", "head"}[random.below(3)];
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + policy + " " + table);
    std::vector<std::string> warnings, assumptions;
    const auto made = runs::make_run_tokens(
        resolved(with_policy(policy, table, "400")).value(),
        {how.open_recording, how.open_model, how.open_scores, how.open_sets, how.open_side}, warnings,
        assumptions);
    ASSERT_TRUE(made.ok()) << made.error().to_string();
    const runs::Retention& counted = made.value().retention();
    const runs::DrivingRecordings driving{.recordings = {{recording, 0, recorded, "r"}}};
    std::unique_ptr<runs::Retention> replayed;
    if (std::holds_alternative<runs::KeepCounted>(made.value().kind)) {
      replayed = std::make_unique<runs::KeepCounted>(*counted.policy(), driving);
    } else {
      replayed = std::make_unique<runs::KeepRecorded>(*counted.policy(), driving);
    }
    traces::Trace trace = trace_of(4, recorded);
    const core::Workload workload = workload::build_workload(trace, {1, 1}, -1).value();
    core::MemoryLayout layout;
    layout.alloc_unit_tokens = random.between(1, 12);
    const bool blocks = table != "all" || policy.ends_with("compact") || random.chance(3, 4);
    layout.form = blocks ? core::TableForm::kBlocks : core::TableForm::kRange;
    attention::TrajectoryStore store(1 << 20);
    const runs::LongestDriven none, longest = runs::longest_driven(*replayed, workload);
    runs::RunCourses by_lengths(counted, workload, none, layout, store, nullptr);
    runs::RunCourses by_recording(*replayed, workload, longest, layout, store, nullptr);
    for (const RequestId r : ids_below<RequestId>(workload.size())) {
      const std::int64_t prompt = random.between(1, workload.final_tokens(r));
      const auto one = by_lengths.begin(r, prompt);
      const auto other = by_recording.begin(r, prompt);
      ASSERT_TRUE(one.ok() && other.ok()) << (other.ok() ? "" : other.error().to_string());
      expect_alike(*one.value(), *other.value());
    }
    EXPECT_TRUE(by_recording.used()[0]);
    if (testing::Test::HasFailure()) return;
  }
}

/// One request, cell by cell: heads that keep everything keep every block that they share with other heads.
TEST(HeadTableRuns, OneRequestCellByCell) {
  constexpr std::int64_t kPrompt = 90, kTokens = 144, kBlock = 8, kSink = 4, kRecent = 9;
  traces::Trace one = trace_of(1, 60);
  one.input_tokens = {kPrompt};
  one.output_tokens = {kTokens + 1 - kPrompt};
  // Half of twelve gates are above the median, which lies between 0.3 and 0.4.
  const std::vector<bool> whole{true, false, true, false, true, true, false, false, false, true, true, false};
  std::map<std::string, std::int64_t> freed_with;
  for (const auto& [table, tables] : {std::pair<std::string, int>{"all", 1}, {"layer", 4}, {"head", 12}}) {
    SCOPED_TRACE(table);
    std::optional<Settled> settled;
    auto how = with_tables();
    how.step_by_step = true;
    how.extra_observers.push_back([&](const runs::Watched& watched) -> Result<core::Observer*> {
      return static_cast<core::Observer*>(&settled.emplace(watched.ledger, kPrompt));
    });
    Values values = with_policy(kDuo, table, "4000");
    values.emplace_back("engine", "vllm-v1:max_model_len=300,prefix_cache=false");  // the prompt in one step
    const auto r = run(values, false, true, one, how);
    std::int64_t dropped = 0;
    for (std::int64_t n = kPrompt; n < kTokens; ++n) {
      std::int64_t live = 0, hole = 0, reserved = 0, tail = 0, freed = 0;
      dropped = 0;
      const int heads = 12 / tables;
      for (int t = 0; t < tables; ++t)
        for (std::int64_t begin = 0; begin < n; begin += kBlock) {
          std::int64_t kept = 0, gone = 0, awaited = 0, never = 0;
          for (int h = t * heads; h < (t + 1) * heads; ++h)
            for (std::int64_t p = begin; p < begin + kBlock; ++p) {
              const bool keeps = whole[static_cast<std::size_t>(h)] || p < kSink || p >= n - kRecent;
              ++(p >= kTokens ? never : p >= n ? awaited : keeps ? kept : gone);
            }
          dropped += gone;
          if (kept == 0 && awaited == 0 && never == 0) {
            ++freed;
            continue;
          }
          live += kept, hole += gone, reserved += awaited, tail += never;
        }
      const std::int64_t cell = r.details[0].layout.cell_bytes();
      const observe::StateCounts& bytes = settled->bytes.at(n);
      EXPECT_EQ(at(bytes, observe::State::kLive), live * cell) << n;
      EXPECT_EQ(at(bytes, observe::State::kHole), hole * cell) << n;
      EXPECT_EQ(at(bytes, observe::State::kReserved), reserved * cell) << n;
      EXPECT_EQ(at(bytes, observe::State::kTail), tail * cell) << n;
      freed_with[table] = freed;
    }
    EXPECT_EQ(r.evicted_blocks, freed_with[table]);
    EXPECT_EQ(r.evicted_tokens, dropped / 12);
  }
  EXPECT_EQ(freed_with["all"], 0);
  EXPECT_EQ(freed_with["layer"], 15) << "of the third layer, no head of which keeps everything";
  EXPECT_EQ(freed_with["head"], 6 * 15);
}

std::string error_of(const Values& values, const runs::RunOptions& how = with_tables()) {
  const auto scenario = resolved(values);
  if (!scenario.ok()) return scenario.error().to_string();
  const auto result = runs::run_scenario(scenario.value(), trace_of(3, 60), how);
  return result.ok() ? "" : result.error().to_string();
}

TEST(HeadTableRuns, SayWhatTheyNeed) {
  const auto refused = [](const std::string& eviction, const std::string& error, const Values& more = {},
                          const runs::RunOptions& how = with_tables()) {
    Values values = scenario_with(eviction, "all", "500");
    values.insert(values.end(), more.begin(), more.end());
    const std::string found = error_of(values, how);
    EXPECT_EQ(found.rfind(error, 0), 0U) << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  };
  const std::string duo = "duo-attention:gates=";
  const std::string gates = "eviction: duo-attention:gates: expected ";
  refused(duo + "no such file",
          "eviction: duo-attention:gates: no such file: cannot open: No such file or directory");
  refused(duo + "[[1,1,1]]", gates + "a list for each of 4 layers, found 1");
  refused(duo + "[[1],[1],[1],[1]]", gates + "a number for each of 3 KV heads in layer 0, found 1");
  refused(duo + "[[-1,1,1],[1,1,1],[1,1,1],[1,1,1]]", gates + "one number of at least 0 per head");
  refused("razor-attention:recent=9,induction=" + kGates + ",echo=[[1]]",
          "eviction: razor-attention:echo: expected a list for each of 4 layers, found 1");
  refused(kDuo, "eviction: tables per head cannot be read here", {}, options());
  refused(kDuo, "budget: budget=uniform does not work with eviction=duo-attention",
          {{"budget", "uniform:capacity=9"}});
  refused(kDuo, "eviction: eviction=duo-attention does not work with format=kivi", {{"format", "kivi"}});
  refused(kDuo + ",placement=compact",
          "eviction: placement=compact does not work with memory.allocator=contiguous",
          {{"memory.allocator", "contiguous"}});
  auto uneven = with_tables();
  uneven.open_model = [open = uneven.open_model](const std::string& path) -> Result<model::ModelShape> {
    model::ModelShape shape = open(path).value();
    shape.runs[2].cache.heads = 2;
    return shape;
  };
  refused(
      kDuo,
      "model: model=small/config.json does not work with eviction=duo-attention: layers have different bytes",
      {}, uneven);
}

/// A table of 32 layers, each with the given gates.
std::string llama_gates(const std::string& layer, const std::string& last_layers) {
  std::string gates;
  for (int i = 0; i < 32; ++i) gates += (i == 0 ? "[" : ",") + (i < 16 ? layer : last_layers);
  return "duo-attention:gates=" + gates + "]";
}

TEST(HeadTableRuns, RanksMustBeAlikeWhereTheyHaveNoCommonTable) {
  const auto with = [](const std::string& policy, const char* placement, const char* ranks,
                       const char* table = "head") {
    return error_of({{"model", "llama-3-8b"},
                     {"eviction", policy + ",recent=9,sink=2,placement=" + placement},
                     {"memory.allocator", std::string("paged:table=") + table},
                     {ranks, "2"}});
  };
  const std::string halves = "[1,1,1,1,0,0,0,0]";
  const std::string mixed = "[1,0,1,0,0,1,1,0]";
  for (const char* placement : {"holes", "reuse", "compact"}) {
    EXPECT_EQ(with(llama_gates(mixed, mixed), placement, "deployment.tp"), "");
    EXPECT_EQ(with(llama_gates(halves, halves), placement, "deployment.pp"), "");
    EXPECT_EQ(with(llama_gates(halves, halves), placement, "fleet.replicas"), "");
    const std::string ranks = with(llama_gates(halves, halves), placement, "deployment.tp");
    const std::string stages = with(llama_gates("[1,1,1,1,1,1,1,1]", halves), placement, "deployment.pp");
    EXPECT_EQ(with(llama_gates(halves, halves), placement, "deployment.tp", "all"), "");
    EXPECT_EQ(with(llama_gates(halves, halves), placement, "deployment.tp", "layer"), "");
    EXPECT_EQ(with(llama_gates("[1,1,1,1,1,1,1,1]", halves), placement, "deployment.pp", "all"), "");
    EXPECT_EQ(ranks.rfind("deployment: a deployment of several ranks does not work with eviction=duo-", 0),
              0U)
        << ranks;
    EXPECT_NE(ranks.find("tokens it keeps different numbers in the heads of rank 1"), std::string::npos)
        << ranks;
    EXPECT_NE(stages.find("tokens it keeps different numbers in the layers of stage 1"), std::string::npos)
        << stages;
  }
}

/// (0.25 x 32,768 + 0.75 x 320) / 32,768: the share of 32K tokens that a quarter of retrieval heads, 64 sinks and a
/// window of 256 keep (arXiv 2410.10819). With tables by head, memory is this share plus the last block of a window.
TEST(HeadTableRuns, AQuarterOfHeadsThatKeepEverything) {
  traces::Trace one = trace_of(1, 60);
  one.input_tokens = {32768};
  one.output_tokens = {2};
  std::string gates;
  for (int layer = 0; layer < 32; ++layer) {
    gates += layer == 0 ? "[[" : "],[";
    for (int head = 0; head < 8; ++head)
      gates += (head == 0 ? "" : ",") + std::to_string((layer + 32 * head) / 256.0);
  }
  const auto r = run({{"model", "llama-3-8b"},
                      {"eviction", "duo-attention:sparsity=0.75,gates=" + gates + "]]"},
                      {"memory.allocator", "paged:block_tokens=16,table=head"}},
                     false, false, one, with_tables());
  ASSERT_EQ(r.completed, 1);
  EXPECT_NEAR(1 - static_cast<double>(r.evicted_tokens) / 32768, 0.257, 0.0005);
  EXPECT_EQ(r.evicted_blocks, 192 * (32768 - 320) / 16);
}

TEST(HeadTableRuns, SayWhatHeadsKeepAndWhatBlocksHold) {
  const auto trace = trace_of(3, 100);
  const auto sentence_of = [&](const std::string& policy, const char* table, const std::string& begin) {
    const auto r = run(scenario_with(policy, table, "500"), false, false, trace, with_tables());
    const auto found = std::find_if(r.assumptions.begin(), r.assumptions.end(),
                                    [&](const std::string& s) { return s.starts_with(begin); });
    if (found == r.assumptions.end()) return std::pair{std::string(), 0.0};
    return std::pair{*found, 100 * r.memory->mean_fraction[observe::index(observe::State::kHole)]};
  };
  EXPECT_EQ(sentence_of(kDuo, "head", "Following the head table").first,
            "Following the head table of eviction=duo-attention, 6 of 12 KV heads keep everything; the "
            "others keep first and newest tokens.");
  EXPECT_EQ(sentence_of(kDuo, "head", "A block covers").first, "");
  EXPECT_EQ(sentence_of(kDuo + ",sparsity=1", "all", "A block covers").first, "");
  for (const auto& [table, span] : {std::pair{"all", "A block covers all layers and heads,"},
                                    {"layer", "A block covers all heads of a layer,"}}) {
    const auto [sentence, percent] = sentence_of(kDuo, table, span);
    const auto number = sentence.find("Holes take ");
    ASSERT_NE(number, std::string::npos) << sentence;
    EXPECT_NEAR(std::stod(sentence.substr(number + 11)), percent, 0.05);
    EXPECT_GT(percent, 1);
  }
  const auto warned = run(scenario_with(kDuo, "head", "500"), true, false, trace, with_tables()).warnings;
  EXPECT_EQ(warned, (std::vector<std::string>{
                        "workload.attention is not used: the number of tokens that eviction=duo-attention "
                        "keeps does not depend on attention.",
                        "prefix_cache is ignored with several block tables (memory.allocator.table): "
                        "tables per layer or head free their blocks separately, so other requests "
                        "could not hit a whole prefix."}));
}

}  // namespace
}  // namespace kvplan::small_model
