#include "simulator/sweep/cost.h"

#include <algorithm>

#include "simulator/latency/latencies.h"
#include "simulator/memory/allocators.h"
#include "simulator/replacement/replacements.h"

namespace kvplan::sweep {
namespace {

using Price = CasePrice;

/// Cost of any case: reading the scenario, arrivals and ends of requests, counting blocks.
constexpr Price kAny{1'000'000, 2'000, 8};
// What comes on top (README.md has the measurement):
constexpr Price kFindsPrefixes{0, 1'000, 0};
constexpr std::int64_t kHashedBlockNs = 70;  // a content is looked up and published for each block
constexpr Price kTreeOfPrefixes{0, 6'000, 0};
constexpr Price kReplacesByPolicy{0, 0, 950};    // lists of a policy are kept block by block
constexpr Price kReplica{100'000, 0, 0};         // per replica, if there are several
constexpr Price kFleet{0, 8'000, 0};             // replicas that a router looks at
constexpr Price kKeepRule{0, 0, 170};            // dropped cells by positions
constexpr Price kCourse{0, 0, 370};              // every request follows a course
constexpr Price kRecordings{0, 2'000'000, 370};  // and a policy is replayed
constexpr std::int64_t kTablesTokenNs = 50;  // courses over tables by layer or head: how many matters little
constexpr std::int64_t kLayerOutputNs =
    210;  // a format with parameters by layer: its rule, in each layer at each token
constexpr std::int64_t kUnknownLayers = 32;  // for a model in a file or a recording

std::int64_t block_tokens_of(const Choice& allocator) {
  for (const Param& param : allocator.descriptor().params)
    if (param.name == "block_tokens" && param.kind == ParamKind::kInteger)
      return std::max<std::int64_t>(1, allocator.integer("block_tokens"));
  return 16;
}

/// a x b, at most `most`. REQUIRES: none is negative.
std::int64_t times(std::int64_t a, std::int64_t b, std::int64_t most) {
  return b > 0 && a > most / b ? most : std::min(most, a * b);
}

}  // namespace

CostTerms cost_terms(const plan::Scenario& scenario) {
  CostTerms terms;
  std::int64_t block_ns = 0;
  const auto add = [&](const Price& price, std::int64_t times = 1) {
    terms.fixed_ns += times * price.fixed_ns;
    terms.request_ns += times * price.request_ns;
    block_ns += times * price.block_ns;
  };
  add(kAny);
  add(memory::allocator_entry(scenario.allocator).price);
  add(latency::latency_entry(scenario.latency).price);
  // A tree holds prefixes in long pieces, where others hold a content for each block.
  const bool tree = scenario.engine_traits().index_of_its_own;
  const bool in_place =
      !scenario.follows_courses() || (!scenario.encodes() && scenario.eviction->text("placement") == "holes");
  const bool finds_blocks = !tree && scenario.asks_for_prefixes() && in_place;
  if (tree) add(kTreeOfPrefixes);
  if (finds_blocks) add(kFindsPrefixes);
  if (finds_blocks && scenario.replaces_by_policy()) {
    add(kReplacesByPolicy);
    add(replacement::replacement_entry(scenario.replacement).price);
  }
  if (scenario.replicas > 1) {
    add(kReplica, scenario.replicas);
    add(kFleet);
  }
  switch (scenario.evicts_by) {
    case plan::EvictsBy::kNothing:
      break;
    case plan::EvictsBy::kKeepRule:
      add(kKeepRule);
      break;
    case plan::EvictsBy::kLengths:
    case plan::EvictsBy::kCounts:
    case plan::EvictsBy::kSets:
      add(kCourse);
      break;
    case plan::EvictsBy::kTokens:
    case plan::EvictsBy::kRecordings:
      add(kRecordings);
      break;
  }
  if (scenario.encodes() && scenario.evicts_by == plan::EvictsBy::kNothing) add(kCourse);
  const std::int64_t block_tokens = block_tokens_of(scenario.allocator);
  terms.token_ps = block_ns * 1000 / block_tokens;
  const memory::AllocatorEntry& allocator = memory::allocator_entry(scenario.allocator);
  const bool tables =
      allocator.table_per != nullptr && allocator.table_per(scenario.allocator) != memory::TablePer::kRequest;
  if (tables && scenario.follows_courses()) terms.token_ps += kTablesTokenNs * 1000;
  if (scenario.encoded && scenario.encoded->kind->of_layer != nullptr)
    terms.output_token_ps =
        kLayerOutputNs * 1000 * (scenario.model != nullptr ? scenario.model->layers : kUnknownLayers);
  if (finds_blocks) terms.hashed_token_ps = kHashedBlockNs * 1000 / block_tokens;
  terms.limit = scenario.limit;
  return terms;
}

std::int64_t estimated_cost_us(const CostTerms& terms, const traces::Trace& trace) {
  const std::int64_t requests = terms.limit < 0 ? trace.size() : std::min(terms.limit, trace.size());
  std::int64_t tokens = 0, output = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    const auto at = static_cast<std::size_t>(i);
    tokens += std::int64_t{trace.input_tokens[at]} + trace.output_tokens[at];
    output += trace.output_tokens[at];
  }
  const std::int64_t token_ps = terms.token_ps + (trace.prefix.present() ? terms.hashed_token_ps : 0);
  const std::int64_t us = terms.fixed_ns / 1000 + times(requests, terms.request_ns, kMostCost * 1000) / 1000 +
                          times(tokens, token_ps, kMostCost * 1'000'000) / 1'000'000 +
                          times(output, terms.output_token_ps, kMostCost * 1'000'000) / 1'000'000;
  return std::clamp<std::int64_t>(us, 1, kMostCost);
}

}  // namespace kvplan::sweep
