// Resampled traffic: whole stretches or sessions of the trace, with ids of their own.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/traces/support.h"
#include "traces/edit/edits.h"
#include "traces/record/memory_stream.h"
#include "traces/record/trace_stream.h"

namespace kvplan::traces {
namespace {

using testing::import_text;

/// Requests with one shared id and one of their own; the second half is four times as busy.
Trace drawn_trace(int requests) {
  std::string text;
  std::int64_t at = 0;
  for (int i = 0; i < requests; ++i) {
    at += i < requests / 2 ? 400 : 100;
    text += "{\"t\":" + std::to_string(at) + ",\"i\":" + std::to_string(32 + i % 7) +
            ",\"o\":" + std::to_string(1 + i) + ",\"n\":\"t" + std::to_string(i % 3) + "\",\"h\":[0," +
            std::to_string(i + 1) + "]}\n";
  }
  ImportOptions options;
  options.format = "jsonl";
  options.map = "arrival=t:ms,input=i,output=o,tenant=n,hashes=h,block=16";
  auto trace = import_text(text, options);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().to_string());
  return std::move(trace).value();
}

/// What the .kvt writer and reader make of it is the same.
void expect_well_formed(const Trace& trace) {
  MemoryStream stream(trace);
  auto again = collect(stream);
  ASSERT_TRUE(again.ok());
  testing::expect_same(trace, again.value());
}

TEST(Resample, RequestsAreThoseOfTheTraceAndASeedGivesTheSame) {
  const Trace trace = drawn_trace(800);
  std::map<std::int32_t, std::int32_t> input_of;  // outputs name the requests
  for (std::size_t i = 0; i < trace.output_tokens.size(); ++i)
    input_of[trace.output_tokens[i]] = trace.input_tokens[i];
  std::set<std::string> digests;
  double sizes = 0, shares = 0;
  constexpr std::uint64_t kSeeds = 40;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Trace out = resampled(trace, seed).value();
    EXPECT_EQ(out.digest, resampled(trace, seed).value().digest);
    digests.insert(out.digest);
    expect_well_formed(out);
    sizes += static_cast<double>(out.size());
    EXPECT_TRUE(std::is_sorted(out.arrival_ns.begin(), out.arrival_ns.end()));
    std::int64_t late = 0;
    const std::int64_t middle = trace.arrival_ns[400];
    for (std::size_t i = 0; i < out.arrival_ns.size(); ++i) {
      ASSERT_TRUE(input_of.contains(out.output_tokens[i]));
      EXPECT_EQ(input_of[out.output_tokens[i]], out.input_tokens[i]);
      late += out.arrival_ns[i] >= middle ? 1 : 0;
    }
    shares += static_cast<double>(late) / static_cast<double>(out.size());
  }
  EXPECT_EQ(digests.size(), kSeeds);
  EXPECT_NEAR(sizes / kSeeds, 800, 40);
  // The busy half stays the busy one: half of the requests in a fifth of the time.
  EXPECT_NEAR(shares / kSeeds, 0.5, 0.1);
}

TEST(Resample, ACopyHitsNothingOfItsTwin) {
  const Trace trace = drawn_trace(800);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Trace out = resampled(trace, seed).value();
    EXPECT_EQ(out.prefix.distinct, out.size() + 1) << "one shared by all, one of each copy";
    for (std::size_t i = 0; i < out.arrival_ns.size(); ++i) EXPECT_EQ(out.prefix.ids[2 * i], 0U);
  }
}

TEST(Resample, SessionsAreDrawnWhole) {
  std::string text;
  for (int s = 0; s < 200; ++s)
    for (int turn = 0; turn < 3; ++turn)
      text += "{\"t\":" + std::to_string(s * 50 + turn * 2000) + ",\"i\":" + std::to_string(16 * (turn + 1)) +
              ",\"o\":" + std::to_string(turn + 1) + ",\"s\":\"s" + std::to_string(s) + "\",\"w\":100}\n";
  ImportOptions options;
  options.format = "jsonl";
  options.map = "arrival=t:ms,input=i,output=o,session=s,think=w:ms";
  const auto trace = import_text(text, options);
  ASSERT_TRUE(trace.ok()) << trace.error().to_string();
  const Trace out = resampled(trace.value(), 3).value();
  expect_well_formed(out);
  std::map<std::int32_t, int> turns;
  for (const std::int32_t session : out.session) ++turns[session];
  for (const auto& [session, count] : turns) EXPECT_EQ(count, 3) << session;
  EXPECT_EQ(out.waits.size(), trace.value().waits.empty() ? 0U : turns.size() * 2);
}

TEST(Resample, FewRequestsAreDrawnOneByOne) {
  const Trace trace = drawn_trace(20);
  const Trace out = resampled(trace, 1).value();
  EXPECT_EQ(out.size(), 20);
  expect_well_formed(out);
  EXPECT_FALSE(resampled(Trace{}, 1).ok());
}

}  // namespace
}  // namespace kvplan::traces
