// SGLang's fast engine compared with the naive one, which shares no code with it: on random traces, settings and
// fleets, every output and every single event.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "tests/support/ids.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_trace.h"
#include "tests/support/whole_run.h"

namespace kvplan {
namespace {

/// Everything that an engine reports, step by step, as one text.
class EventText final : public core::Observer {
 public:
  void on_arrival(SimTime time, RequestId request, bool accepted) override {
    put("arrival", time.since_start.count, request, accepted);
  }
  void on_pass_begin(SimTime time) override { put("pass", time.since_start.count); }
  void on_preempt(const core::Release& r) override {
    ++preempted;
    put("preempt", r.request, r.written, r.alloc_units, r.in_tree);
  }
  void on_admit(const core::Admission& a) override {
    if (a.hit_tokens > 0) ++(a.again ? rehits : hits);
    put("admit", a.request, a.again, a.hit_tokens);
  }
  void on_grant(const core::Grant& g) override { put("grant", g.request, g.first_block, g.alloc_units); }
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override {
    for (const core::DecodeGrant& g : grants) put("decode grant", g.request, g.logical_block, g.alloc_units);
  }
  void on_chunk(const core::Chunk& c) override { put("chunk", c.request, c.computed, c.tokens); }
  void on_pass_end(const core::Pass& p) override {
    idle += p.load.requests == 0 && p.waiting > 0 ? 1 : 0;
    refused += p.refused ? 1 : 0;
    put("decided", p.running, p.waiting, p.decoding, p.sampled, p.preempted, p.refused, p.load.requests,
        p.load.tokens, p.load.context_tokens, p.load.attention_pairs);
    put_pool(p.pool);
  }
  void on_steps(const core::Steps& s) override { put("steps", s.series.steps, s.end.since_start.count); }
  void on_step_end(SimTime time, std::span<const RequestId> finishing) override {
    put("end", time.since_start.count);
    for (const RequestId r : finishing) put("finishing", r);
  }
  void on_first_token(SimTime time, RequestId r) override { put("first", time.since_start.count, r); }
  void on_settle(const core::Settled& s) override { put("settle", s.request, s.from, s.to); }
  void on_finish(SimTime time, const core::Release& r) override {
    put("finish", time.since_start.count, r.request, r.written, r.alloc_units, r.in_tree);
  }
  void on_settled(SimTime time, const core::PoolCounts& pool) override {
    put("settled", time.since_start.count);
    put_pool(pool);
  }
  void on_evict_pages(std::int64_t first_page, std::int64_t pages) override {
    ++evicted;
    put("evict", first_page, pages);
  }
  void on_end(SimTime time) override { put("over", time.since_start.count); }
  [[nodiscard]] bool wants_insertions() const override { return true; }

  [[nodiscard]] std::string text() const { return text_.str(); }
  std::int64_t preempted{0}, hits{0}, rehits{0}, refused{0}, evicted{0}, idle{0};

 private:
  template <class... Numbers>
  void put(const char* what, Numbers... numbers) {
    text_ << what;
    ((text_ << ' ' << test::plain(numbers)), ...);
    text_ << '\n';
  }
  void put_pool(const core::PoolCounts& p) {
    put("pool", p.free, p.cached, p.held, p.shared, p.distinct_names, p.duplicates, p.unreachable, p.sharers);
  }
  std::ostringstream text_;
};

struct Events {
  std::vector<std::unique_ptr<EventText>> replicas;
  std::string error;
};

Events events_of(const runs::Scenario& scenario, const traces::Trace& trace, bool step_by_step) {
  Events events;
  runs::RunOptions options;
  options.step_by_step = step_by_step;
  options.extra_observers = {[&](const runs::Watched& /*watched*/) -> Result<core::Observer*> {
    events.replicas.push_back(std::make_unique<EventText>());
    return events.replicas.back().get();
  }};
  const auto result = runs::run_scenario(scenario, trace, options);
  if (!result.ok()) events.error = result.error().to_string();
  return events;
}

/// A few prompts with equal beginnings, or many without; clients with higher limits than outputs; turns that wait.
traces::Trace draw_trace(Random& random) {
  const bool crowd = random.chance(1, 12);  // more at once than lpm orders
  traces::Trace trace =
      test::random_trace(random, {.requests = crowd ? 150 : random.between(1, 60),
                                  .hash_block = random.chance(1, 8) ? 0 : random.between(3, 40),
                                  .most_input = random.between(5, 150),
                                  .most_output = crowd ? 6 : random.between(1, 60),
                                  .most_gap_ms = random.chance(1, 2) ? 5 : 60});
  test::add_turns(random, trace);
  if (random.chance(1, 20)) trace.output_tokens[random.below(trace.output_tokens.size())] = 0;
  if (random.chance(1, 2)) return trace;
  for (const std::int32_t output : trace.output_tokens)
    trace.max_tokens.push_back(
        random.chance(1, 6) ? -1 : static_cast<std::int32_t>(output * random.between(0, 4)));
  return trace;
}

/// `answers`: random numbers of its own, so that the rest of a case does not depend on it.
runs::Scenario draw_scenario(Random& random, Random answers) {
  const std::int64_t block = random.chance(1, 3) ? 1 : random.between(2, 9);
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const std::int64_t share = random.between(0, 15);  // in tenths
  const std::string engine =
      "engine=sglang:policy=" + std::string(random.chance(1, 2) ? "lpm" : "fcfs") +
      ",chunked_prefill_size=" + number(block * random.between(0, 12)) +
      ",max_running_requests=" + number(random.chance(1, 4) ? 100 : random.between(1, 12)) +
      ",max_prefill_tokens=" + number(random.chance(1, 2) ? 16384 : random.between(1, 100)) +
      ",decay_steps=" + number(random.between(1, 60)) + ",schedule_conservativeness=" + number(share / 10) +
      "." + number(share % 10) +
      ",clip_tokens=" + number(random.chance(1, 2) ? 4096 : random.between(1, 20)) +
      ",retract_decode_steps=" + number(random.between(0, 30)) +
      ",context_length=" + number(random.chance(1, 4) ? random.between(60, 200) : 262144) +
      ",prefix_cache=" + (random.chance(3, 4) ? "true" : "false");
  // Steps of no time, of one length, and of lengths that are hardly ever equal.
  const std::array<const char*, 4> latencies{
      "affine:base_ns=0,token_ns=0,context_ns=0", "affine:base_ns=4000000,token_ns=0,context_ns=0",
      "affine:base_ns=1000000,token_ns=777.7,context_ns=3.3", "affine:base_ns=0,token_ns=0,context_ns=900"};
  const std::array<const char*, 7> routers{"round-robin",
                                           "least-loaded",
                                           "least-loaded:by=tokens",
                                           "least-loaded:by=blocks",
                                           "vllm-dp",
                                           "session-affine:by=blocks",
                                           "prefix-affine:balance_abs=1,balance_rel=1"};
  constexpr std::array<const char*, 3> kAnswers{"auto", "session", "unknown"};
  const bool tight = random.chance(1, 2);
  return test::scenario_of(
      {engine, "memory.allocator=paged:block_tokens=" + number(block),
       "workload.answers=" + std::string(kAnswers[answers.below(kAnswers.size())]),
       "memory.pool_tokens=" + number(random.between(tight ? 60 : 170, tight ? 230 : 900)),
       "latency=" + std::string(latencies[random.below(latencies.size())]),
       "fleet=replicas=" + number(random.chance(1, 2) ? 1 : random.between(2, 4)) +
           ",router=" + routers[random.below(routers.size())]});
}

TEST(SglangTwins, FastEqualsNaive) {
  const std::int64_t cases = test::random_cases(500, 500);
  std::int64_t preempted = 0, hits = 0, rehits = 0, refused = 0, evicted = 0, idle = 0;
  for (std::int64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed), "sglang twins");
    const traces::Trace trace = draw_trace(random);
    const runs::Scenario scenario =
        draw_scenario(random, Random(static_cast<std::uint64_t>(seed), "answers"));
    const std::string naive = test::outputs(scenario, trace, true);
    for (const int threads : {1, 3}) ASSERT_EQ(test::outputs(scenario, trace, false, threads), naive);
    const Events told = events_of(scenario, trace, false), expected = events_of(scenario, trace, true);
    ASSERT_EQ(told.error, expected.error);
    ASSERT_EQ(told.replicas.size(), expected.replicas.size());
    for (std::size_t i = 0; i < told.replicas.size(); ++i) {
      const EventText& events = *told.replicas[i];
      ASSERT_EQ(events.text(), expected.replicas[i]->text()) << "replica " << i;
      preempted += events.preempted;
      hits += events.hits;
      rehits += events.rehits;
      refused += events.refused;
      evicted += events.evicted;
      idle += events.idle;
    }
  }
  for (const std::int64_t count : {preempted, hits, rehits, refused, evicted, idle}) EXPECT_GT(count, 20);
}

TEST(SglangTwins, FleetsServeEverybodyWithEveryRouter) {
  for (const char* router : {"round-robin", "least-loaded:by=blocks", "vllm-dp", "prefix-affine"}) {
    SCOPED_TRACE(router);
    Random random(3, router);
    traces::Trace trace = test::random_trace(
        random, {.requests = 80, .hash_block = 8, .most_input = 90, .most_output = 30, .most_gap_ms = 20});
    trace.digest = "0123456789abcdef";
    const runs::Scenario scenario = test::scenario_of(
        {"engine=sglang:policy=lpm,chunked_prefill_size=64", "memory.allocator=paged:block_tokens=4",
         "memory.pool_tokens=300", "fleet=replicas=3,router=" + std::string(router)});
    const auto result = runs::run_scenario(scenario, trace, {});
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    EXPECT_EQ(result.value().completed, 80);
    EXPECT_GT(result.value().prefix_hit_tokens, 0);
  }
}

}  // namespace
}  // namespace kvplan
