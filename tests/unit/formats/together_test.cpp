// Formats and policies evaluated in one pass give the same bits as those evaluated one by one.
#include <gtest/gtest.h>

#include "simulator/formats/evaluation.h"
#include "simulator/io/attention_json.h"
#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

Status go_on() {
  return Done{};
}

void expect_equal(const Evaluation& a, const Evaluation& b) {
  EXPECT_EQ(a.after_prompt.total(), b.after_prompt.total());
  EXPECT_EQ(a.retained, b.retained);
  EXPECT_EQ(a.summary.final_bytes, b.summary.final_bytes);
  EXPECT_EQ(a.summary.peak_bytes, b.summary.peak_bytes);
  EXPECT_EQ(a.summary.stored_writes, b.summary.stored_writes);
  EXPECT_EQ(a.summary.mean_output_error, b.summary.mean_output_error);
  EXPECT_EQ(a.summary.max_output_error, b.summary.max_output_error);
  EXPECT_EQ(a.summary.max_logit_error, b.summary.max_logit_error);
  for (const std::size_t at : {0U, 1U})
    for (const Side side : kSides) {
      const auto& heads = a.checkpoints[at].heads[static_cast<std::size_t>(side)];
      const auto& others = b.checkpoints[at].heads[static_cast<std::size_t>(side)];
      ASSERT_EQ(heads.size(), others.size());
      for (std::size_t h = 0; h < heads.size(); ++h) {
        EXPECT_EQ(heads[h].codes_digest, others[h].codes_digest);
        EXPECT_EQ(heads[h].mean_abs_error, others[h].mean_abs_error);
      }
    }
}

TEST(FormatsTogether, AreTheSameOneByOne) {
  const auto sample =
      io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  std::vector<EvaluationRequest> requests;
  for (const char* policy : {"", "h2o:hh=12,recent=12", "seed-lru:budget=20", "snapkv:window=8,capacity=24"})
    for (const char* format : {"kivi:group=8,residual=16", "int-token:bits=4", "svd:rank=4"}) {
      EvaluationRequest request{
          .format = parse_format(format).value(), .prompt = 64, .sequence = 7, .layer = 2};
      if (*policy != 0) request.evict = attention::parse_policy(policy).value();
      requests.push_back(std::move(request));
    }
  const auto together = evaluate_together(*sample, requests, nullptr, go_on).value();
  std::vector<std::vector<StepResult>> told(requests.size());
  std::vector<std::size_t> order;
  const auto streamed = evaluate_together(
                            *sample, requests,
                            [&](std::size_t i, const StepResult& step) {
                              told[i].push_back(step);
                              order.push_back(i);
                            },
                            go_on)
                            .value();
  ASSERT_EQ(together.size(), requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(requests[i].format.choice.to_string() + " behind " +
                 (requests[i].evict ? requests[i].evict->choice.to_string() : "nothing"));
    const Evaluation alone = evaluate(*sample, requests[i], go_on).value();
    expect_equal(together[i], alone);
    expect_equal(streamed[i], alone);
    EXPECT_TRUE(streamed[i].steps.empty());
    ASSERT_EQ(together[i].steps.size(), alone.steps.size());
    ASSERT_EQ(told[i].size(), alone.steps.size());
    ASSERT_EQ(alone.steps.size(), 135U - 64U);
    for (std::size_t t = 0; t < alone.steps.size(); ++t)
      for (const StepResult* step :
           std::initializer_list<const StepResult*>{&together[i].steps[t], &told[i][t]}) {
        ASSERT_EQ(step->t, alone.steps[t].t);
        ASSERT_EQ(step->bytes.total(), alone.steps[t].bytes.total());
        ASSERT_EQ(step->total_at_attend, alone.steps[t].total_at_attend);
        ASSERT_EQ(step->output_error, alone.steps[t].output_error);
        ASSERT_EQ(step->attended_mass, alone.steps[t].attended_mass);
        ASSERT_EQ(step->logit_error, alone.steps[t].logit_error);
      }
  }
  for (std::size_t k = 0; k < order.size(); ++k) ASSERT_EQ(order[k], k % requests.size());
}

TEST(FormatsTogether, StopWhenAskedTo) {
  const auto sample =
      io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  const EvaluationRequest request{
      .format = parse_format("full").value(), .prompt = 64, .sequence = 7, .layer = 2};
  int asked = 0;
  const auto found = evaluate(*sample, request, [&]() -> Status {
    if (++asked > 10) return bad_input("enough");
    return Done{};
  });
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().to_string(), "enough");
}

/// A bound is computed before the first step ends; its decisions do not matter if a stop was requested.
TEST(FormatsTogether, StopWhileABoundLooksAhead) {
  const auto sample =
      io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  for (const int enough : {1, 20, 65}) {
    int asked = 0, steps = 0;
    const EvaluationRequest request{.format = parse_format("full").value(),
                                    .evict = attention::parse_policy("oracle-exact:budget=20").value(),
                                    .prompt = 64,
                                    .sequence = 7,
                                    .layer = 2,
                                    .stop_asked = [&] { return ++asked >= enough; }};
    const auto found = evaluate(*sample, request, [&]() -> Status {
      ++steps;
      return Done{};
    });
    ASSERT_FALSE(found.ok()) << enough;
    EXPECT_TRUE(found.error().kind == ErrorKind::kInterrupted) << found.error().to_string();
    EXPECT_GE(asked, enough);
    EXPECT_LT(steps, 64);
  }
}

}  // namespace
}  // namespace kvplan::formats::test
