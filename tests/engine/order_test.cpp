// The order of events at one time, and runs worked out by hand.
#include <gtest/gtest.h>

#include <array>

#include "simulator/latency/latencies.h"
#include "simulator/memory/allocators.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/observe/ledger.h"
#include "tests/support/run_replica.h"

namespace kvplan {
namespace {

/// Records the calls, one word each, with the time in ticks if a call has one.
class Diary final : public core::Observer {
 public:
  explicit Diary(bool decode_runs) : decode_runs_(decode_runs) {}
  void on_arrival(SimTime t, RequestId r, bool ok) override { put(ok ? "arrive" : "reject", r, t); }
  void on_pass_begin(SimTime t) override { text += "pass@" + std::to_string(t.since_start.count) + " "; }
  void on_preempt(const core::Release& r) override {
    text += "preempt" + std::to_string(number(r.request)) + " ";
  }
  void on_admit(const core::Admission& a) override {
    text += "admit" + std::to_string(number(a.request)) + " ";
  }
  void on_hold_back(RequestId r) override { text += "hold" + std::to_string(number(r)) + " "; }
  void on_steps(const core::Steps& s) override { text += "steps" + std::to_string(s.series.steps) + " "; }
  void on_decode_run(const core::DecodeRun& s) override {
    text += "stretch" + std::to_string(s.series.steps) + "[";
    for (const core::GrantingPass& pass : s.passes)
      text += std::to_string(pass.grants) + " after " + std::to_string(pass.step) + ", " +
              std::to_string(pass.pool.free) + " left; ";
    text += "] ";
  }
  bool follows_decode_runs() const override { return decode_runs_; }
  void on_step_end(SimTime t, std::span<const RequestId> /*finishing*/) override {
    text += "end@" + std::to_string(t.since_start.count) + " ";
  }
  void on_first_token(SimTime /*t*/, RequestId r) override {
    text += "first" + std::to_string(number(r)) + " ";
  }
  void on_finish(SimTime /*t*/, const core::Release& r) override {
    text += "finish" + std::to_string(number(r.request)) + " ";
  }
  std::string text;

 private:
  bool decode_runs_;
  void put(const char* word, RequestId r, SimTime t) {
    text += std::string(word) + std::to_string(number(r)) + "@" + std::to_string(t.since_start.count) + " ";
  }
};

std::string diary(const core::Workload& workload, std::int64_t blocks, bool naive, std::int64_t seqs = 8,
                  bool decode_runs = false, bool by_priority = false) {
  const Choice paged =
      parse_component("paged:block_tokens=4", "allocator", memory::allocator_descriptors()).value();
  const memory::AllocatorRequest request{
      .workload = &workload, .pool = {.blocks = blocks}, .prefix_cache = false};
  const auto allocator = (naive ? memory::allocator_entry(paged).make_model(paged, request)
                                : memory::allocator_entry(paged).make(paged, request))
                             .value();
  const Choice affine =
      parse_component("affine:base_ns=1,token_ns=0,context_ns=0", "latency", latency::latency_descriptors())
          .value();
  const auto latency =
      latency::latency_entry(affine)
          .make(affine, latency::LatencyRequest::one_rank(*model::find_model("llama-2-7b").value()))
          .value();  // 1024 ticks a step
  Diary text(decode_runs);
  observe::Ledger ledger(workload, allocator->layout(), {}, {});
  const std::array<core::Observer*, 2> observers{&ledger, &text};
  const core::ReplicaSetup run{
      .workload = &workload, .keep = {}, .latency = latency.get(), .observers = observers};
  EXPECT_TRUE(test::serve_alone(run, {.max_seqs = seqs, .by_priority = by_priority}, *allocator,
                                workload.order, naive)
                  .ok());
  return text.text;
}

core::Workload requests(std::initializer_list<std::array<std::int64_t, 3>> rows) {
  core::Workload workload;
  for (const auto& [arrival, input, output] : rows) {
    workload.order.push_back(id_at<RequestId>(workload.input.size()));
    workload.arrival.push_back(SimTime{Ticks{arrival}});
    workload.input.push_back(static_cast<std::int32_t>(input));
    workload.output.push_back(static_cast<std::int32_t>(output));
  }
  return workload;
}

TEST(Order, AtOneTimeArrivalsThenTheStepsEndThenThePass) {
  // The second request arrives exactly at the end of the first step: it is reported before that end, and admitted by
  // the scheduler step after it.
  const core::Workload workload = requests({{0, 3, 2}, {1024, 3, 1}});
  const std::string expected =
      "arrive0@0 pass@0 admit0 steps1 arrive1@1024 end@1024 first0 "
      "pass@1024 admit1 steps1 end@2048 finish0 first1 finish1 ";
  EXPECT_EQ(diary(workload, 10, true), expected);
  EXPECT_EQ(diary(workload, 10, false), expected);
}

TEST(Order, OneTickLateWaitsForTheNextPass) {
  const core::Workload workload = requests({{0, 3, 2}, {1025, 3, 1}});
  const std::string expected =
      "arrive0@0 pass@0 admit0 steps1 end@1024 first0 "
      "pass@1024 steps1 arrive1@1025 end@2048 finish0 "
      "pass@2048 admit1 steps1 end@3072 first1 finish1 ";
  EXPECT_EQ(diary(workload, 10, true), expected);
  EXPECT_EQ(diary(workload, 10, false), expected);
}

TEST(Order, EqualArrivalsKeepTheOrderOfTheTraceAndPreemptionTakesTheYoungest) {
  // Three blocks of four tokens. Both prompts take one block; both need a second one in the same pass, when one is
  // left: the first request gets it. The second, which is the youngest, is preempted by its own need and waits at the
  // front of the queue.
  const core::Workload workload = requests({{0, 4, 4}, {0, 4, 4}});
  const std::string expected =
      "arrive0@0 arrive1@0 pass@0 admit0 admit1 steps1 end@1024 first0 first1 "
      "pass@1024 preempt1 steps1 end@2048 "
      "pass@2048 steps1 end@3072 "
      "pass@3072 steps1 end@4096 finish0 "
      "pass@4096 admit1 steps1 end@5120 "
      "pass@5120 steps1 end@6144 "
      "pass@6144 steps1 end@7168 finish1 ";
  EXPECT_EQ(diary(workload, 4, true), expected);
}

/// vLLM's policy "priority", worked out by hand: the preempted request may have been scheduled earlier in the same
/// pass.
TEST(Order, ByPriorityAScheduledRequestMayBePreempted) {
  // Three blocks of four tokens. When request 1 needs its second one, request 0 has the other two: it comes later by
  // priority, although it has run for longer and is already scheduled for a token in this step.
  core::Workload workload = requests({{0, 4, 4}, {1024, 4, 4}});
  const std::vector<std::int32_t> priorities{5, 0};
  workload.priority = priorities;
  const std::string expected =
      "arrive0@0 pass@0 admit0 steps1 arrive1@1024 end@1024 first0 "
      "pass@1024 admit1 steps1 end@2048 first1 "
      "pass@2048 preempt0 steps1 end@3072 "
      "pass@3072 steps1 end@4096 "
      "pass@4096 steps1 end@5120 finish1 "
      "pass@5120 admit0 steps1 end@6144 "
      "pass@6144 steps1 end@7168 finish0 ";
  EXPECT_EQ(diary(workload, 4, true, 8, false, true), expected);
  const std::string as_told_fast = diary(workload, 4, false, 8, false, true);
  EXPECT_NE(as_told_fast.find(
                "pass@2048 preempt0 steps1 end@3072 pass@3072 steps2 end@5120 finish1 pass@5120 admit0"),
            std::string::npos)
      << as_told_fast;
  // First come first served, the youngest request is preempted.
  EXPECT_NE(diary(workload, 4, true).find("preempt1"), std::string::npos);
  // A request without a stated priority has 0.
  const std::vector<std::int32_t> one_stated{1, -1};
  workload.priority = one_stated;
  EXPECT_EQ(diary(workload, 4, true, 8, false, true), expected);
}

TEST(Order, ByPriorityRequestsAfterASelfPreemptionWait) {
  // Five blocks. At tick 3072 request 1 needs a third one. It has the greatest number, so it is preempted itself. The
  // pass ends there, so request 2, which is behind it in the running list, computes nothing in that step.
  core::Workload workload = requests({{0, 5, 5}, {0, 6, 5}, {1024, 1, 4}});
  const std::vector<std::int32_t> priorities{0, 5, 0};
  workload.priority = priorities;
  const std::string expected =
      "arrive0@0 arrive1@0 pass@0 admit0 admit1 steps1 arrive2@1024 end@1024 first0 first1 "
      "pass@1024 admit2 steps1 end@2048 first2 "
      "pass@2048 steps1 end@3072 "
      "pass@3072 preempt1 hold2 steps1 end@4096 "
      "pass@4096 steps1 end@5120 finish0 "
      "pass@5120 admit1 steps1 end@6144 finish2 "
      "pass@6144 steps1 end@7168 finish1 ";
  EXPECT_EQ(diary(workload, 6, true, 8, false, true), expected);
  EXPECT_EQ(diary(workload, 6, false, 8, false, true), expected);
}

TEST(Order, ByPriorityTheQueueGoesByPriorityThenArrivalThenPlace) {
  // One request runs at a time; five wait when it ends.
  core::Workload workload = requests({{0, 1, 3}, {1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {3, 1, 1}, {3, 1, 1}});
  const std::vector<std::int32_t> priorities{4, 3, 2, 2, -1, 2};
  workload.priority = priorities;
  for (const bool naive : {true, false}) {
    const std::string text = diary(workload, 10, naive, 1, false, true);
    std::string admitted;
    for (std::size_t at = text.find("admit"); at != std::string::npos; at = text.find("admit", at + 1))
      admitted += text[at + 5];
    EXPECT_EQ(admitted, "042351");
  }
}

TEST(Order, RunsAreToldAtOnce) {
  const core::Workload workload = requests({{0, 4, 12}});
  // Decoding from 4 tokens: a block is needed at 4, 8 and 12 tokens, so runs of four, four and three steps
  // follow.
  EXPECT_EQ(
      diary(workload, 10, false),
      "arrive0@0 pass@0 admit0 steps1 end@1024 first0 pass@1024 steps4 end@5120 pass@5120 steps4 end@9216 "
      "pass@9216 steps3 end@12288 finish0 ");
}

TEST(Order, DecodeRunsGoOnAcrossPassesThatOnlyGrant) {
  // The same request among nine usable blocks; the passes at 8 and 12 tokens grant one each.
  EXPECT_EQ(diary(requests({{0, 4, 12}}), 10, false, 8, true),
            "arrive0@0 pass@0 admit0 steps1 end@1024 first0 pass@1024 stretch11[1 after 4, 6 left; "
            "1 after 8, 5 left; ] end@12288 finish0 ");
  // An arrival ends the decode run at the end of the current step.
  EXPECT_EQ(diary(requests({{0, 4, 12}, {9000, 1, 1}}), 10, false, 8, true),
            "arrive0@0 pass@0 admit0 steps1 end@1024 first0 pass@1024 stretch8[1 after 4, 6 left; ] "
            "arrive1@9000 end@9216 pass@9216 admit1 steps1 end@10240 first1 finish1 pass@10240 steps2 "
            "end@12288 finish0 ");
  // Five usable blocks, two requests: a third block for both would be one too many, so the run ends before that pass.
  const std::string shortage = diary(requests({{0, 4, 12}, {0, 4, 12}}), 6, false, 8, true);
  EXPECT_EQ(shortage.substr(0, shortage.find("preempt")),
            "arrive0@0 arrive1@0 pass@0 admit0 admit1 steps1 end@1024 first0 first1 pass@1024 steps4 "
            "end@5120 pass@5120 ");
  // A request that waits for something other than a slot cannot be admitted: the decode run continues.
  const std::string slots = diary(requests({{0, 4, 12}, {0, 4, 2}}), 10, false, 1, true);
  EXPECT_NE(slots.find("stretch11[1 after 4, 6 left; 1 after 8, 5 left; ]"), std::string::npos) << slots;
}

TEST(Order, RejectedRequestsAreToldAndForgotten) {
  const core::Workload workload = requests({{0, 100, 2}, {0, 3, 1}});
  EXPECT_EQ(diary(workload, 10, false), "reject0@0 arrive1@0 pass@0 admit1 steps1 end@1024 first1 finish1 ");
}

}  // namespace
}  // namespace kvplan
