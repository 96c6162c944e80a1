// Edits of traces with sessions, and their warnings.
#include <gtest/gtest.h>
#include <set>

#include "simulator/base/random.h"
#include "tests/unit/traces/support.h"
#include "traces/edit/edits.h"
#include "traces/record/memory_stream.h"
#include "traces/record/statistics.h"

namespace kvplan::traces {
namespace {

using testing::import_text;

Trace turns_trace() {
  Result<Trace> trace =
      import_text("t,i,o,s,w,p\n0,1,1,a,,\n10,1,1,b,,\n12,1,1,a,0,3\n30,1,1,,,\n35,1,1,,3,\n50,1,1,b,1 2,\n",
                  {.format = "csv", .map = "arrival=t,input=i,output=o,session=s,after=w,think=p"});
  EXPECT_TRUE(trace.ok()) << trace.error().to_string();
  return std::move(trace).value();
}

TEST(EditTurns, WaitsFollowTheirRequests) {
  const Trace trace = turns_trace();
  const std::vector<std::int64_t> rows{5, 4, 3, 1, 0};
  const Trace picked = select_rows(trace, rows);
  EXPECT_EQ(picked.waits.request, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(picked.waits.before, (std::vector<std::int32_t>{2, 3}));
  const Trace window = window_of(trace, 9'000'000'000, 13'000'000'000).value();
  EXPECT_TRUE(window.waits.empty());
  EXPECT_EQ(window.think_ns, (std::vector<std::int64_t>{-1, 3'000'000'000}));
}

TEST(EditTurns, WhatWaitsForEachOtherIsDrawnTogether) {
  const Trace trace = turns_trace();
  std::set<std::vector<std::int64_t>> seen;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) seen.insert(sample_of(trace, 1, seed).value().arrival_ns);
  constexpr std::int64_t kS = 1'000'000'000;
  EXPECT_EQ(seen,
            (std::set<std::vector<std::int64_t>>{{0, 12 * kS}, {10 * kS, 50 * kS}, {30 * kS, 35 * kS}}));
}

TEST(EditTurns, OnlyStartsScale) {
  const Trace scaled_trace = scaled(turns_trace(), {.rate = {2, 1}, .input = {}, .output = {}}).value();
  constexpr std::int64_t kS = 1'000'000'000;
  // 0, 1, 2 and 5 belong together and start at 0; 3 and 4 start at 30.
  EXPECT_EQ(scaled_trace.arrival_ns,
            (std::vector<std::int64_t>{0, 10 * kS, 12 * kS, 15 * kS, 20 * kS, 50 * kS}));
}

TEST(EditTurns, MergedTracesKeepTheirsApart) {
  const Trace trace = turns_trace();
  const std::vector<const Trace*> both{&trace, &trace};
  const Trace out = merged(both).value();
  EXPECT_EQ(out.waits.request, (std::vector<std::int32_t>{4, 5, 8, 9, 10, 10, 11, 11}));
  EXPECT_EQ(out.waits.before, (std::vector<std::int32_t>{0, 1, 6, 7, 2, 4, 3, 5}));
}

TEST(EditWarnings, WhatIsCountedIsCountedAnew) {
  // Sessions a and b; one arrival out of order, one prompt of 0 tokens, one prompt without all its ids.
  Result<Trace> made =
      import_text("t,i,o,s,h\n5,8,1,a,1 2\n3,8,1,a,1\n7,0,1,b,\n9,8,0,b,3 4\n",
                  {.format = "csv", .map = "arrival=t,input=i,output=o,session=s,hashes=h,block=4"});
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  Trace trace = std::move(made).value();
  const std::string late =
      " arrivals are earlier than the arrival before them; runs sort them, and keep the file's order for "
      "equal times.";
  const std::string no_input = " requests have no input tokens; runs reject them.";
  const std::string no_output = " requests have no output tokens; runs reject them.";
  const std::string no_ids =
      " requests have fewer prefix ids than full blocks of 4 tokens; the rest of these prompts shares "
      "nothing with others.";
  const std::string shrinks =
      "1 turns have a shorter prompt than the previous turn of their session. If the file has only the new "
      "tokens of each turn, the lengths are not those of whole prompts.";
  ASSERT_EQ(trace.provenance.warnings, (std::vector<std::string>{"1 of 4" + late, "1 of 4" + no_input,
                                                                 "1 of 4" + no_output, "1 of 4" + no_ids}));
  trace.provenance.warnings.push_back("3 tool events were left out.");
  const std::string marked = "Warning of the source trace: 3 tool events were left out.";
  using Warnings = std::vector<std::string>;
  const Trace late_half = window_of(trace, 3'000'000'000, 7'000'000'000).value();
  EXPECT_EQ(late_half.provenance.warnings, (Warnings{"1 of 2" + no_input, "1 of 2" + no_output, marked}));
  // A second edit: marked warnings stay as they are.
  EXPECT_EQ(window_of(late_half, 2'000'000'000, 9'000'000'000).value().provenance.warnings,
            (Warnings{"1 of 1" + no_output, marked}));
  EXPECT_EQ(
      scaled(trace, {.rate = {}, .input = {2, 1}, .output = {}}).value().provenance.warnings,
      (Warnings{"1 of 4" + late, "1 of 4" + no_input, "1 of 4" + no_output, "3 of 4" + no_ids, marked}));
  EXPECT_EQ(
      spread_out(trace, {.over = SpreadOver::kGiven, .over_ns = 10}).value().provenance.warnings,
      (Warnings{"1 of 4" + late, "1 of 4" + no_input, "1 of 4" + no_output, "1 of 4" + no_ids, marked}));
  // Merged rows are in order; the remarks name the parts.
  const std::vector<const Trace*> both{&trace, &late_half};
  EXPECT_EQ(merged(both).value().provenance.warnings,
            (Warnings{"Trace 1: 3 tool events were left out.", "Trace 2: " + marked, "2 of 6" + no_input,
                      "2 of 6" + no_output, "1 of 6" + no_ids}));
  // If the importer gave no warning, because the source means it so, a part gets none either.
  trace.provenance.warnings.clear();
  EXPECT_TRUE(window_of(trace, 0, 7'000'000'000).value().provenance.warnings.empty());
  const Trace grows = import_text("t,i,o,s\n1,9,1,a\n2,8,1,a\n",
                                  {.format = "csv", .map = "arrival=t,input=i,output=o,session=s"})
                          .value();
  EXPECT_EQ(sample_of(grows, 1, 0).value().provenance.warnings, Warnings{shrinks});
}

TEST(EditWarnings, StartsAnswerAllThatIsSaidOfClocks) {
  const Trace lengths = import_text("num_prefill_tokens,num_decode_tokens\n5,6\n7,8\n", {}).value();
  EXPECT_EQ(lengths.provenance.warnings.size(), 1U);
  const Trace sampled = sample_of(lengths, 1, 0).value();
  EXPECT_EQ(sampled.provenance.warnings,
            std::vector<std::string>{"Warning of the source trace: The file has no arrival times: all "
                                     "requests arrive at the same time."});
  for (const Trace* trace : {&lengths, &sampled})
    EXPECT_TRUE(started(*trace, {1, 1}, 0).value().provenance.warnings.empty());
}

TEST(EditTurns, SessionsGetStarts) {
  Trace trace = turns_trace();
  trace.provenance.warnings = {"The file does not say when a session starts: all of them begin at 0.",
                               "Another."};
  const Trace a = started(trace, {1, 4}, 7).value();
  EXPECT_TRUE(a.shares_clock);
  EXPECT_EQ(a.provenance.warnings, std::vector<std::string>{"Warning of the source trace: Another."});
  EXPECT_EQ(a.arrival_ns[0], 0);
  EXPECT_EQ(a.arrival_ns[2] - a.arrival_ns[0], 12'000'000'000);
  EXPECT_EQ(a.arrival_ns[4] - a.arrival_ns[3], 5'000'000'000);
  EXPECT_GT(a.arrival_ns[1], 0);
  EXPECT_GT(a.arrival_ns[3], a.arrival_ns[1]);
  EXPECT_EQ(started(trace, {1, 4}, 7).value().digest, a.digest);
  EXPECT_NE(started(trace, {1, 4}, 8).value().digest, a.digest);
}

TEST(EditTurns, StartsHaveTheRateAndVaryAsPoisson) {
  std::string text = "t,i,o\n";
  for (int i = 0; i < 20'000; ++i) text += "5,1,1\n";
  const Trace trace = import_text(text, {.format = "csv", .map = "arrival=t,input=i,output=o"}).value();
  const Statistics statistics = compute_statistics(started(trace, {5, 2}, 1).value());
  EXPECT_NEAR(*statistics.rate_per_s, 2.5, 0.05);
  EXPECT_NEAR(*statistics.interarrival_cv, 1, 0.03);
}

}  // namespace
}  // namespace kvplan::traces
