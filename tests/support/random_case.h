// Random small serving problems: workloads with shared prefixes and bursts, pools from barely enough upward, budgets
// and thresholds that now and then break every assumption of the fast engine. A case is a function of its seed.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/core/engine.h"
#include "simulator/latency/latencies.h"
#include "simulator/memory/allocators.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/replacement/replacements.h"
#include "simulator/scheduling/vllm/params.h"
#include "tests/support/held_answers.h"
#include "traces/record/trace.h"

namespace kvplan::test {

struct RandomCase {
  core::Workload workload;
  traces::PrefixHashes prefix;
  scheduling::vllm::Params scheduler;
  core::KeepRule keep;
  bool reads_holes{false};
  bool courses_find{false};  ///< with courses; and the tokens of a prompt that are computed in any case:
  std::int64_t prompt_rows{1};
  core::ReadRule reads{};
  std::unique_ptr<core::LatencyModel> latency;
  std::string allocator;  ///< component text
  memory::PoolSize pool;
  std::int64_t token_bytes{1};
  std::int64_t cells_per_token{1}, metadata_bytes{0};  ///< for courses
  std::int64_t alloc_units_beyond{0};                  ///< likewise
  std::shared_ptr<const model::ModelShape> model;      ///< null: the allocator does not know a model
  const model::KvFormat* format{nullptr};              ///< the following as in memory::AllocatorRequest
  std::int64_t tensor_ranks{1}, first_layer{0}, layers{-1};
  std::int64_t step_tokens{INT32_MAX};  ///< given to the allocator
  bool prefix_cache{true};
  std::string replacement;  ///< component text; empty: the pool's own policy
  bool block_ids{true};     ///< false: the fast allocator may work without ids

  /// Prepares the case for requests that follow courses: no growing memory, but ranges that slide.
  void take_courses() {
    if (allocator.rfind("growing", 0) == 0) allocator = "contiguous:reserve=oracle,compact=on-refusal";
  }
  [[nodiscard]] bool keeps_nothing() const {
    const auto choice = parse_component(allocator, "allocator", memory::allocator_descriptors());
    return choice.ok() && memory::allocator_entry(choice.value()).keeps_nothing;
  }
  [[nodiscard]] Result<std::unique_ptr<core::Allocator>> make_allocator(bool slow) const {
    KVPLAN_TRY(const Choice choice, parse_component(allocator, "allocator", memory::allocator_descriptors()));
    const memory::AllocatorEntry& entry = memory::allocator_entry(choice);
    std::optional<Choice> policy;
    if (!replacement.empty()) {
      KVPLAN_TRY(policy, parse_component(replacement, "replacement", replacement::replacement_descriptors()));
    }
    const memory::AllocatorRequest request{.workload = &workload,
                                           .pool = pool,
                                           .token_bytes = token_bytes,
                                           .cells_per_token = cells_per_token,
                                           .metadata_bytes = metadata_bytes,
                                           .alloc_units_beyond = alloc_units_beyond,
                                           .model = model.get(),
                                           .format = format,
                                           .tensor_ranks = tensor_ranks,
                                           .first_layer = first_layer,
                                           .layers = layers,
                                           .step_tokens = step_tokens,
                                           .prefix_cache = prefix_cache && entry.shares_prefixes,
                                           .replacement = policy ? &*policy : nullptr,
                                           .block_ids = block_ids,
                                           .max_model_len = scheduler.max_model_len};
    return slow ? entry.make_model(choice, request) : entry.make(choice, request);
  }
};

/// Prompts that share prefixes: each continues a random earlier prompt from a random block on.
inline void draw_prefixes(Random& random, RandomCase& c, std::int64_t hash_block) {
  c.prefix.block_tokens = hash_block;
  c.prefix.offsets.push_back(0);
  std::vector<std::vector<std::uint32_t>> prompts;
  std::uint32_t next = 0;
  for (const std::int32_t length : c.workload.input) {
    const auto blocks = static_cast<std::size_t>(ceil_div(length, hash_block));
    std::vector<std::uint32_t> ids;
    if (!prompts.empty() && random.chance(3, 4)) {
      ids = prompts[random.below(prompts.size())];
      ids.resize(std::min(ids.size(), static_cast<std::size_t>(random.below(ids.size() + 1))));
      ids.resize(std::min(ids.size(), blocks));
    }
    while (ids.size() < blocks) ids.push_back(next++);
    c.prefix.ids.insert(c.prefix.ids.end(), ids.begin(), ids.end());
    c.prefix.offsets.push_back(c.prefix.ids.size());
    prompts.push_back(std::move(ids));
  }
  c.prefix.distinct = next;
}

/// Sometimes requests that wait for one or several others, earlier or later in the file, with and without an arrival
/// time.
inline void draw_turns(std::uint64_t seed, core::Workload& workload) {
  Random random(seed, "differential.turns");
  if (!random.chance(1, 3)) return;
  const auto requests = static_cast<std::uint64_t>(workload.size());
  std::vector<std::int32_t> order;  // no request waits for one that comes later in this order
  for (std::uint64_t i = 0; i < requests; ++i)
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(random.below(random.chance(3, 4) ? 1 : i + 1)),
                 static_cast<std::int32_t>(i));
  std::reverse(order.begin(), order.end());
  traces::Waits waits;
  workload.think.assign(requests, Ticks{0});
  for (std::uint64_t i = 1; i < requests; ++i) {
    if (random.chance(1, 3)) continue;
    for (std::int64_t k = random.between(1, 2); k > 0; --k) {
      waits.request.push_back(order[i]);
      waits.before.push_back(order[random.chance(1, 2) ? i - 1 : random.below(i)]);
    }
    const auto r = static_cast<std::size_t>(order[i]);
    if (random.chance(1, 2)) workload.think[r] = Ticks{random.between(0, 4'000'000)};
    if (random.chance(2, 3)) workload.arrival[r] = SimTime{};
  }
  traces::sort_waits(waits);
  workload.turns = traces::turns_of(waits, workload.size()).value();
  std::stable_sort(workload.order.begin(), workload.order.end(), [&](RequestId a, RequestId b) {
    return workload.arrival[index(a)] < workload.arrival[index(b)];
  });
}

/// Sometimes a table of measured steps, so few and short that a run leaves its range; now and then decreasing.
inline std::unique_ptr<core::LatencyModel> drawn_step_table(std::uint64_t seed) {
  Random random(seed,
                "step table");  // separate random numbers, so that the rest of a case does not depend on it
  if (!random.chance(1, 6)) return nullptr;
  std::vector<latency::MeasuredStep> steps;
  const bool noise = random.chance(1, 4);
  for (std::int64_t n = random.between(1, 25); n > 0; --n) {
    const std::int64_t sequences = random.between(1, 3) * random.between(1, 3);
    const std::int64_t prompt = random.chance(1, 2) ? 0 : random.between(0, 40);
    const std::int64_t context = random.between(0, random.chance(1, 2) ? 20 : 400);
    const std::int64_t ticks = 300 * sequences + 700 * prompt + context * random.between(1, 5);
    steps.push_back(
        {sequences, sequences + prompt, context, Ticks{noise ? random.between(0, 20'000) : ticks}});
  }
  const latency::StepTable table = latency::StepTable::make(std::move(steps)).value();
  latency::LatencyRequest request =
      latency::LatencyRequest::one_rank(*model::find_model("llama-2-7b").value());
  request.measured = &table;
  const Choice choice =
      parse_component("calibrated:file=-", "latency", latency::latency_descriptors()).value();
  return latency::latency_entry(choice).make(choice, request).value();
}

/// One range per request: reserved or growing, with or without sliding. Copies take a noticeable time.
inline std::string draw_range_allocator(Random& random) {
  constexpr std::array<const char*, 3> kFits{"first", "best", "next"};
  constexpr std::array<const char*, 4> kReserves{"oracle", "max", "pow2", "output-pow2"};
  const std::string fit = std::string("fit=") + kFits[random.below(3)];
  const std::string compaction =
      random.chance(1, 2)
          ? ",compact=on-refusal,copy_bandwidth=" + std::to_string(random.between(1, 9)) + "e8"
          : "";
  if (random.chance(1, 2)) return "contiguous:" + fit + ",reserve=" + kReserves[random.below(4)] + compaction;
  return "growing:" + fit + (random.chance(1, 2) ? ",in_place=false" : "") +
         ",slack=" + std::to_string(random.chance(1, 2) ? 0 : random.between(0, 40)) +
         (random.chance(1, 2) ? ",factor=1" + std::string(random.chance(1, 2) ? "" : ".37") : "") +
         ",step=" + std::to_string(random.chance(1, 2) ? 1 : random.between(1, 30)) + compaction;
}

inline std::unique_ptr<RandomCase> draw_case(std::uint64_t seed) {
  Random random(seed, "differential");
  auto result = std::make_unique<RandomCase>();
  RandomCase& c = *result;
  c.reads_holes = seed % 3 == 0;
  const auto requests = random.between(1, random.chance(1, 4) ? 120 : 24);
  const std::int64_t longest = random.chance(1, 3) ? 400 : 90;
  const std::int64_t gap = random.chance(1, 3) ? 0 : random.between(1, 4000) * 1000;
  std::int64_t now = 0;
  std::int64_t final_most = 1;
  for (std::int64_t i = 0; i < requests; ++i) {
    if (gap > 0 && !random.chance(1, 4)) now += random.between(0, gap);
    c.workload.arrival.push_back(SimTime{Ticks{now}});
    c.workload.input.push_back(static_cast<std::int32_t>(random.between(1, longest)));
    c.workload.output.push_back(static_cast<std::int32_t>(random.between(1, random.chance(1, 3) ? 200 : 30)));
    c.workload.order.push_back(id_at<RequestId>(i));
    final_most = std::max(final_most, c.workload.final_tokens(id_at<RequestId>(i)));
  }
  constexpr std::array<std::int64_t, 6> kBlocks{1, 2, 4, 8, 16, 32};
  const std::int64_t block = kBlocks[random.below(kBlocks.size())];
  if (random.chance(2, 3)) draw_prefixes(random, c, block * random.between(1, 3));
  if (c.prefix.present()) c.workload.prefix = &c.prefix;
  if (c.prefix.present() && seed % 4 == 0) hold_answers(c.prefix, c.workload);
  c.prefix_cache = random.chance(3, 4);
  c.token_bytes = random.between(1, 3);

  c.scheduler.max_seqs = random.between(1, 20);
  c.scheduler.token_budget = random.chance(1, 4) ? random.between(1, 12) : random.between(8, 300);
  c.scheduler.long_prefill_threshold = random.chance(1, 2) ? 0 : random.between(1, 80);
  c.scheduler.max_model_len = random.chance(1, 8) ? random.between(20, longest) : 1000;
  if (random.chance(1, 2)) {
    c.keep.sink = random.chance(1, 2) ? 0 : random.between(0, 2 * block + 3);
    c.keep.recent = random.between(1, random.chance(1, 2) ? 10 : 120);
  }

  if (random.chance(1, 3)) {
    c.allocator = draw_range_allocator(random);
    c.pool.tokens = random.between(random.chance(1, 2) ? final_most : 30, 4 * final_most + 60);
    c.prefix_cache = false;
  } else {
    c.allocator = "paged:block_tokens=" + std::to_string(block);
    const std::int64_t least = ceil_div(final_most, block) + 1;
    c.pool.blocks = std::max<std::int64_t>(
        random.between(random.chance(1, 6) ? 2 : least, least * random.between(1, 6)), 2);
  }
  if (!c.prefix_cache) c.workload.prefix = nullptr;

  const auto coefficient = [&](std::int64_t most) {
    return std::to_string(random.chance(1, 5) ? 0 : random.between(0, most));
  };
  const std::string text = "affine:base_ns=" + coefficient(300) + "." + std::to_string(random.below(1000)) +
                           ",token_ns=" + coefficient(20) + ",context_ns=" + coefficient(3) + ".3";
  const Choice latency = parse_component(text, "latency", latency::latency_descriptors()).value();
  const model::ModelShape& shape = *model::find_model("llama-2-7b").value();
  if (random.chance(1, 5)) {  // both sides of the roof are within reach of such small contexts
    const std::string roof = "roofline:flops=" + std::to_string(random.between(1, 40)) +
                             "e13,bandwidth=" + std::to_string(random.between(1, 80)) +
                             "e12,overhead_ns=" + std::to_string(random.below(100));
    const Choice roofline = parse_component(roof, "latency", latency::latency_descriptors()).value();
    c.latency =
        latency::latency_entry(roofline).make(roofline, latency::LatencyRequest::one_rank(shape)).value();
  } else {
    c.latency =
        latency::latency_entry(latency).make(latency, latency::LatencyRequest::one_rank(shape)).value();
  }
  if (auto measured = drawn_step_table(seed)) c.latency = std::move(measured);
  draw_turns(seed, c.workload);
  return result;
}

}  // namespace kvplan::test
