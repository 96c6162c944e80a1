// Edits of traces, each compared with its definition in a few naive lines, and through the program.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "simulator/base/random.h"
#include "tests/unit/traces/support.h"
#include "traces/edit/edits.h"
#include "traces/record/memory_stream.h"
#include "traces/record/statistics.h"

namespace kvplan::traces {
namespace {

using testing::import_text;
using testing::Outcome;
using testing::run_kvplan;
using testing::TemporaryFolder;

/// Rows of every kind: with and without ids, sessions, tenants and optional values, not ordered by time.
Trace random_trace(Random& random, bool hashes, std::int64_t rows) {
  std::string text;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto input = static_cast<std::int64_t>(random.below(100));
    text += "{\"t\":" + std::to_string(random.below(5000)) + ",\"i\":" + std::to_string(input) +
            ",\"o\":" + std::to_string(random.below(50));
    if (random.chance(2, 3)) text += ",\"s\":\"s" + std::to_string(random.below(9)) + "\"";
    if (random.chance(2, 3)) text += ",\"n\":\"t" + std::to_string(random.below(3)) + "\"";
    if (random.chance(1, 3)) text += ",\"m\":" + std::to_string(random.below(99));
    if (random.chance(1, 3)) text += ",\"p\":" + std::to_string(random.below(4));
    if (random.chance(1, 3)) text += ",\"f\":" + std::to_string(random.below(99));
    if (hashes && random.chance(5, 6)) {
      text += ",\"h\":[";
      for (std::int64_t b = 0; b < (input + 15) / 16; ++b)
        text += (b > 0 ? "," : "") + std::to_string(random.below(4));
      text += "]";
    }
    text += "}\n";
  }
  ImportOptions options;
  options.format = "jsonl";
  options.map = "arrival=t:ms,input=i,output=o,session=s,tenant=n,max_tokens=m,ttft=f:ms,priority=p";
  if (hashes) options.map += ",hashes=h,block=16,ids=content";
  Result<Trace> trace = import_text(text, options);
  EXPECT_TRUE(trace.ok()) << trace.error().to_string();
  return std::move(trace).value();
}

std::string name_at(const std::vector<std::int32_t>& column, const std::vector<std::string>& names,
                    std::size_t row) {
  return column.empty() || column[row] < 0 ? "" : names[static_cast<std::size_t>(column[row])];
}

std::vector<std::uint32_t> ids_at(const Trace& trace, std::size_t row) {
  if (!trace.prefix.present()) return {};
  const auto& o = trace.prefix.offsets;
  return {trace.prefix.ids.begin() + static_cast<std::ptrdiff_t>(o[row]),
          trace.prefix.ids.begin() + static_cast<std::ptrdiff_t>(o[row + 1])};
}

template <class T>
T value_at(const std::vector<T>& column, std::size_t row) {
  return column.empty() ? T{-1} : column[row];
}

/// Checks that ids and names are numbered by first appearance, and that the .kvt writer and reader keep the trace.
void expect_well_formed(const Trace& trace) {
  std::uint32_t next = 0;
  for (const std::uint32_t id : trace.prefix.ids) {
    ASSERT_LE(id, next);
    next = std::max(next, id + 1);
  }
  EXPECT_EQ(trace.prefix.distinct, next);
  MemoryStream stream(trace);
  Result<Trace> again = collect(stream);
  ASSERT_TRUE(again.ok());
  testing::expect_same(trace, again.value());
}

TEST(Edit, ASelectionKeepsWhatItsRowsAre) {
  Random random(11, "edit");
  for (int round = 0; round < 20; ++round) {
    const Trace trace = random_trace(random, round % 3 != 0, 60);
    std::vector<std::int64_t> rows;
    for (std::int64_t row = 0; row < trace.size(); ++row)
      if (random.chance(1, 2)) rows.push_back(row);
    const Trace out = select_rows(trace, rows);
    ASSERT_EQ(out.size(), static_cast<std::int64_t>(rows.size()));
    std::map<std::uint32_t, std::uint32_t> number_of;
    for (std::size_t to = 0; to < rows.size(); ++to) {
      const auto from = static_cast<std::size_t>(rows[to]);
      EXPECT_EQ(out.arrival_ns[to], trace.arrival_ns[from]);
      EXPECT_EQ(out.input_tokens[to], trace.input_tokens[from]);
      EXPECT_EQ(out.output_tokens[to], trace.output_tokens[from]);
      EXPECT_EQ(value_at(out.max_tokens, to), value_at(trace.max_tokens, from));
      EXPECT_EQ(value_at(out.priority, to), value_at(trace.priority, from));
      EXPECT_EQ(value_at(out.ttft_ns, to), value_at(trace.ttft_ns, from));
      EXPECT_EQ(name_at(out.session, out.session_names, to),
                name_at(trace.session, trace.session_names, from));
      EXPECT_EQ(name_at(out.tenant, out.tenant_names, to), name_at(trace.tenant, trace.tenant_names, from));
      const auto before = ids_at(trace, from);
      const auto after = ids_at(out, to);
      ASSERT_EQ(before.size(), after.size());
      for (std::size_t i = 0; i < before.size(); ++i)
        EXPECT_EQ(number_of.emplace(before[i], after[i]).first->second, after[i]) << "one block, one number";
    }
    std::set<std::uint32_t> numbers;
    for (const auto& [was, is] : number_of) numbers.insert(is);
    EXPECT_EQ(numbers.size(), number_of.size()) << "two blocks, two numbers";
    expect_well_formed(out);
  }
}

TEST(Edit, AWindowIsHalfOpenAndCountsFromTheFirstArrival) {
  const auto trace =
      import_text("arrived_at,num_prefill_tokens,num_decode_tokens\n9,1,1\n5,2,1\n6,3,1\n7,4,1\n");
  ASSERT_TRUE(trace.ok());
  const auto inputs = [&](std::int64_t begin_s, std::int64_t end_s) {
    const auto out = window_of(trace.value(), begin_s * kNsPerSecond, end_s * kNsPerSecond);
    return out.ok() ? out.value().input_tokens : std::vector<std::int32_t>{};
  };
  EXPECT_EQ(inputs(0, 5), (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(inputs(1, 2), std::vector<std::int32_t>{3});
  EXPECT_EQ(inputs(0, 4), (std::vector<std::int32_t>{2, 3, 4}));
  EXPECT_EQ(window_of(trace.value(), kNsPerSecond * 5, kNsPerSecond * 9).error().to_string(),
            "no request arrives in this time window");
  const auto lengths = import_text("num_prefill_tokens,num_decode_tokens\n1,2\n");
  EXPECT_FALSE(window_of(lengths.value(), 0, 1).ok());
}

TEST(Edit, ASampleHoldsWholeSessionsAndIsTheSeedsOwn) {
  Random random(5, "edit");
  const Trace trace = random_trace(random, true, 200);
  const auto key = [](const Trace& t, std::size_t row) { return name_at(t.session, t.session_names, row); };
  std::map<std::string, int> whole;
  for (std::size_t row = 0; row < 200; ++row) ++whole[key(trace, row)];
  const auto first = sample_of(trace, 50, 1);
  ASSERT_TRUE(first.ok());
  EXPECT_GE(first.value().size(), 50);
  std::map<std::string, int> drawn;
  for (std::size_t row = 0; row < static_cast<std::size_t>(first.value().size()); ++row)
    ++drawn[key(first.value(), row)];
  for (const auto& [session, turns] : drawn)
    EXPECT_TRUE(session.empty() || turns == whole[session]) << session;
  testing::expect_same(first.value(), sample_of(trace, 50, 1).value());
  EXPECT_NE(first.value().arrival_ns, sample_of(trace, 50, 2).value().arrival_ns);
  EXPECT_EQ(sample_of(trace, 200, 3).value().arrival_ns, trace.arrival_ns) << "all of it is itself";
  EXPECT_EQ(sample_of(trace, 201, 3).error().to_string(), "has 200 requests, fewer than the 201 to draw");
}

TEST(Edit, EverySampleIsAsLikely) {
  // Two of four requests: six sets. 6,000 seeds give 1,000 each; 150 is more than five standard deviations.
  const auto trace =
      import_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n1,2,1\n2,4,1\n3,8,1\n").value();
  std::map<std::int32_t, int> seen;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const Trace out = sample_of(trace, 2, seed).value();
    ++seen[out.input_tokens[0] + out.input_tokens[1]];
  }
  EXPECT_EQ(seen.size(), 6U);
  for (const auto& [set, times] : seen) EXPECT_NEAR(times, 1000, 150) << set;
}

TEST(Edit, ScalingIsExact) {
  const auto trace = import_text(
      "{\"timestamp\":1000,\"input_length\":40,\"output_length\":3,\"hash_ids\":[1]}\n"
      "{\"timestamp\":1007,\"input_length\":1025,\"output_length\":0,\"hash_ids\":[1,2,3]}\n");
  ASSERT_TRUE(trace.ok());
  const auto faster = scaled(trace.value(), {{3, 1}, {}, {}});
  EXPECT_EQ(faster.value().arrival_ns, (std::vector<std::int64_t>{1'000'000'000, 1'002'333'333}));
  EXPECT_EQ(faster.value().prefix.ids, trace.value().prefix.ids);
  const auto shorter = scaled(trace.value(), {{}, {1, 2}, {1, 7}}).value();
  EXPECT_EQ(shorter.input_tokens, (std::vector<std::int32_t>{20, 513}));
  EXPECT_EQ(shorter.output_tokens, (std::vector<std::int32_t>{1, 0})) << "something stays something";
  EXPECT_EQ(shorter.prefix.ids, (std::vector<std::uint32_t>{0, 0, 1})) << "513 tokens have two ids of 512";
  EXPECT_EQ(shorter.prefix.distinct, 2);
  EXPECT_EQ(shorter.provenance.options.back(), "output_scale=1/7");
  const auto longer = scaled(trace.value(), {{}, {3, 1}, {}}).value();
  EXPECT_EQ(longer.input_tokens, (std::vector<std::int32_t>{120, 3075}));
  EXPECT_EQ(longer.prefix.ids, trace.value().prefix.ids);
  EXPECT_EQ(scaled(trace.value(), {{}, {INT32_MAX, 1}, {}}).error().to_string(),
            "a prompt of 40 tokens would be longer than 2147483647");
  EXPECT_FALSE(scaled(trace.value(), {{1, INT32_MAX}, {}, {}}).ok() &&
               scaled(trace.value(), {{1, INT32_MAX}, {}, {}}).value().arrival_ns.back() < 0);
}

/// The definition: for each row, the number of rows with its timestamp before it in the file, and in all.
std::vector<std::int64_t> naively_spread(const std::vector<std::int64_t>& arrivals, std::int64_t over_ns,
                                         bool to_next) {
  std::vector<std::int64_t> out;
  const std::set<std::int64_t> times(arrivals.begin(), arrivals.end());
  for (std::size_t row = 0; row < arrivals.size(); ++row) {
    const auto at = times.find(arrivals[row]);
    std::int64_t width = over_ns;
    if (std::next(at) != times.end()) {
      width = to_next ? *std::next(at) - *at : std::min(width, *std::next(at) - *at);
    } else if (to_next) {
      width = *at - *std::prev(at);
    }
    const auto before =
        std::count(arrivals.begin(), arrivals.begin() + static_cast<std::ptrdiff_t>(row), *at);
    out.push_back(*at + width * before / std::count(arrivals.begin(), arrivals.end(), *at));
  }
  return out;
}

TEST(Edit, SpreadingIsItsDefinition) {
  Random random(13, "edit");
  for (int round = 0; round < 30; ++round) {
    Trace trace = random_trace(random, round % 2 == 0, 60);
    // Times on a coarse clock: 7 ms ticks, some of them used.
    const std::int64_t tick = 7'000'000;
    std::int64_t common = 0;
    for (std::int64_t& arrival : trace.arrival_ns) {
      arrival = 123 + tick * static_cast<std::int64_t>(random.below(25));
      common = std::gcd(common, arrival - trace.arrival_ns.front());
    }
    ASSERT_EQ(tick_of(trace), common);
    for (const Spreading& how : {Spreading{}, Spreading{.over = SpreadOver::kNext},
                                 Spreading{.over = SpreadOver::kGiven, .over_ns = 5'000'001},
                                 Spreading{.over = SpreadOver::kGiven, .over_ns = 1},
                                 Spreading{.over = SpreadOver::kGiven, .over_ns = tick * 1000}}) {
      const Result<Trace> spread = spread_out(trace, how);
      ASSERT_TRUE(spread.ok()) << spread.error().to_string();
      const std::int64_t width = how.over == SpreadOver::kGiven ? how.over_ns : common;
      EXPECT_EQ(spread.value().arrival_ns,
                naively_spread(trace.arrival_ns, width, how.over == SpreadOver::kNext));
      // Only times have changed.
      Trace same = spread.value();
      same.arrival_ns = trace.arrival_ns;
      std::vector<std::int64_t> rows(trace.arrival_ns.size());
      std::iota(rows.begin(), rows.end(), 0);
      testing::expect_same(select_rows(same, rows), select_rows(trace, rows));
      expect_well_formed(spread.value());
    }
  }
}

TEST(Edit, SpreadByChanceKeepsTheOrderAndFillsTheTick) {
  // 2,000 requests of 40 timestamps, each second one; uniform within the two seconds until the next.
  std::string rows = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
  for (int i = 0; i < 2000; ++i) rows += std::to_string(i / 50 * 2) + "," + std::to_string(i + 1) + ",1\n";
  const Trace trace = import_text(rows).value();
  const Spreading how{.even = false, .seed = 4};
  const Trace spread = spread_out(trace, how).value();
  EXPECT_TRUE(std::is_sorted(spread.arrival_ns.begin(), spread.arrival_ns.end()));
  std::array<int, 8> parts{};
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::int64_t since = spread.arrival_ns[i] - trace.arrival_ns[i];
    ASSERT_GE(since, 0);
    ASSERT_LT(since, 2 * kNsPerSecond);
    ++parts[static_cast<std::size_t>(since / (kNsPerSecond / 4))];
  }
  for (const int count : parts) EXPECT_NEAR(count, 250, 75);  // five standard deviations
  EXPECT_EQ(spread_out(trace, how).value().digest, spread.digest);
  EXPECT_NE(spread_out(trace, {.even = false, .seed = 5}).value().digest, spread.digest);
  EXPECT_EQ(spread.provenance.options.back(), "spread_ns=2000000000,how=uniform,seed=4");
  EXPECT_EQ(spread_out(trace, {.over = SpreadOver::kNext}).value().provenance.options.back(),
            "spread_ns=next,how=even");
}

TEST(Edit, SpreadingRefusesWhatHasNoClockOrNoEnd) {
  const Trace lengths = import_text("num_prefill_tokens,num_decode_tokens\n1,2\n").value();
  EXPECT_EQ(spread_out(lengths, {}).error().to_string(),
            "its requests have no common clock, so there are no bursts to spread");
  Trace trace = import_text("arrived_at,num_prefill_tokens,num_decode_tokens\n5,1,1\n5,2,1\n").value();
  for (const SpreadOver over : {SpreadOver::kTick, SpreadOver::kNext})
    EXPECT_EQ(spread_out(trace, {.over = over}).error().to_string(),
              "all requests arrive at the same time, so only a width in nanoseconds can spread them");
  const Spreading second{.over = SpreadOver::kGiven, .over_ns = kNsPerSecond};
  EXPECT_EQ(spread_out(trace, second).value().arrival_ns,
            (std::vector<std::int64_t>{5 * kNsPerSecond, 5'500'000'000}));
  trace.arrival_ns = {INT64_MAX - 10, INT64_MAX - 10};
  EXPECT_EQ(spread_out(trace, second).error().to_string(),
            "arrivals would be later than 292 years after the first");
  EXPECT_TRUE(spread_out(trace, {.over = SpreadOver::kGiven, .over_ns = 11}).ok());
  trace.arrival_ns = {INT64_MIN, INT64_MAX};
  EXPECT_EQ(tick_of(trace), INT64_MAX) << "the distance is 2^64 - 1";
  EXPECT_FALSE(spread_out(trace, {.over = SpreadOver::kNext}).ok());
}

TEST(Edit, MooncakesBatchesSpreadOverTheirThreeSeconds) {
  KVPLAN_NEED_SHARED();
  const Result<Trace> trace =
      open_trace(testing::shared_traces() + "/mooncake_fast25_conversation.jsonl.zst");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(tick_of(trace.value()), 1'000'000);
  EXPECT_NEAR(compute_statistics(trace.value()).interarrival_cv.value(), 3.034, 0.001);
  const Trace even = spread_out(trace.value(), {.over = SpreadOver::kNext}).value();
  EXPECT_LT(compute_statistics(even).interarrival_cv.value(), 0.5);
  const Trace drawn = spread_out(trace.value(), {.over = SpreadOver::kNext, .even = false}).value();
  EXPECT_NEAR(compute_statistics(drawn).interarrival_cv.value(), 1, 0.1) << "as of users without number";
  EXPECT_EQ(drawn.prefix.ids, trace.value().prefix.ids);
}

TEST(Edit, MergedTracesAreThereEachByItself) {
  Random random(7, "edit");
  for (int round = 0; round < 10; ++round) {
    const Trace a = random_trace(random, true, 40);
    const Trace b = random_trace(random, round % 2 == 0, 30);
    const Trace* const both[]{&a, &b};
    const Result<Trace> result = merged(both);
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    const Trace& out = result.value();
    ASSERT_EQ(out.size(), 70);
    EXPECT_TRUE(std::is_sorted(out.arrival_ns.begin(), out.arrival_ns.end()));
    expect_well_formed(out);
    // Each request as text, from both sides; ids are compared by the blocks that they share within their trace.
    std::multiset<std::string> wanted, found;
    for (const Trace* from : both) {
      const std::int64_t first = *std::min_element(from->arrival_ns.begin(), from->arrival_ns.end());
      for (std::size_t row = 0; row < from->arrival_ns.size(); ++row) {
        const std::string session = name_at(from->session, from->session_names, row);
        wanted.insert(
            std::to_string(from->arrival_ns[row] - first) + "/" + std::to_string(from->input_tokens[row]) +
            "/" + std::to_string(from->output_tokens[row]) + "/" +
            (session.empty() ? "" : (from == &a ? "1:" : "2:") + session) + "/" +
            name_at(from->tenant, from->tenant_names, row) + "/" +
            std::to_string(value_at(from->max_tokens, row)) + "/" +
            std::to_string(value_at(from->priority, row)) + "/" + std::to_string(ids_at(*from, row).size()));
      }
    }
    for (std::size_t row = 0; row < 70; ++row)
      found.insert(
          std::to_string(out.arrival_ns[row]) + "/" + std::to_string(out.input_tokens[row]) + "/" +
          std::to_string(out.output_tokens[row]) + "/" + name_at(out.session, out.session_names, row) + "/" +
          name_at(out.tenant, out.tenant_names, row) + "/" + std::to_string(value_at(out.max_tokens, row)) +
          "/" + std::to_string(value_at(out.priority, row)) + "/" + std::to_string(ids_at(out, row).size()));
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(out.prefix.distinct, a.prefix.distinct + b.prefix.distinct)
        << "blocks of two traces are two blocks";
  }
}

/// Warnings are counted once for the whole trace; those about turns only if a part had them.
TEST(Edit, MergedTracesCountTheirOddities) {
  const auto csv = [](const std::string& rows) {
    ImportOptions options;
    options.format = "csv";
    options.map = "arrival=at:s,input=i,output=o,session=s";
    return testing::imported("at,i,o,s\n" + rows, options);
  };
  const Trace turns = csv("0,50,1,a\n1,20,0,a\n");
  ASSERT_EQ(turns.provenance.warnings.size(), 2U);
  const Trace* const both[]{&turns, &turns};
  const auto said = merged(both).value().provenance.warnings;
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0], "2 of 4 requests have no output tokens; runs reject them.");
  EXPECT_EQ(said[1].substr(0, 40), "2 turns have a shorter prompt than the p");
  Trace whole = turns;  // as from an importer that knows that prompts are complete
  whole.provenance.warnings.pop_back();
  const Trace* const mixed[]{&whole, &turns};
  EXPECT_EQ(merged(mixed).value().provenance.warnings.at(1).substr(0, 7), "1 turns");
  const Trace* const one[]{&whole};
  EXPECT_EQ(merged(one).value().provenance.warnings.size(), 1U);
}

TEST(Edit, WhatCannotBeMerged) {
  const Trace lengths = import_text("num_prefill_tokens,num_decode_tokens\n1,2\n").value();
  const std::string row = "{\"timestamp\":0,\"input_length\":9,\"output_length\":1,\"hash_ids\":[7]}\n";
  const Trace wide = import_text(row).value();
  ImportOptions options;
  options.block_tokens = 16;
  const Trace narrow = import_text(row, options).value();
  const Trace* const clockless[]{&wide, &lengths};
  EXPECT_EQ(merged(clockless).error().to_string(),
            "trace 2: traces have no common clock, so the order of arrivals is unknown");
  const Trace* const blocks[]{&wide, &narrow};
  EXPECT_EQ(merged(blocks).error().to_string(),
            "trace 2: its prefix ids cover 16 tokens, those of the earlier traces 512: expected the same "
            "number in all traces");
}

TEST(CliTraceEdit, TheAzureHourInPartsIsTheHour) {
  KVPLAN_NEED_SHARED();
  const TemporaryFolder folder;
  const std::string hour = testing::shared_traces() + "/azure_llm_2023_conv.csv";
  const auto edit = [&](const std::string& command, const std::string& name) {
    const Outcome outcome = run_kvplan("trace " + command + " -o " + folder.file(name));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return open_trace(folder.file(name)).value();
  };
  const Trace whole = open_trace(hour).value();
  const Trace first = edit("window --to 600 " + hour, "first.kvt");
  const Trace rest = edit("window --from 600 " + hour, "rest.kvt");
  EXPECT_EQ(first.size() + rest.size(), whole.size());
  std::vector<std::int64_t> arrivals = first.arrival_ns;
  arrivals.insert(arrivals.end(), rest.arrival_ns.begin(), rest.arrival_ns.end());
  EXPECT_EQ(arrivals, whole.arrival_ns);
  const Statistics twice = compute_statistics(edit("scale --rate 2 " + hour, "twice.csv"));
  const Statistics once = compute_statistics(whole);
  EXPECT_NEAR(*twice.rate_per_s, 2 * *once.rate_per_s, 1e-6);
  EXPECT_NEAR(*twice.interarrival_cv, *once.interarrival_cv, 1e-6);
  EXPECT_EQ(edit("sample -n 5000 --seed 4 " + hour, "some.csv.gz").size(), 5000);
  const Trace merged = edit("merge " + folder.file("first.kvt") + " " + folder.file("rest.kvt"), "both.kvt");
  EXPECT_EQ(merged.size(), whole.size());
  EXPECT_EQ(merged.arrival_ns.front(), 0);
  EXPECT_EQ(edit("spread --how uniform " + hour, "spread.kvt").provenance.options.back(),
            "spread_ns=1000,how=uniform,seed=0")
      << "microseconds";
  EXPECT_EQ(edit("spread --over 5 " + hour, "even.kvt").arrival_ns, whole.arrival_ns)
      << "no timestamp stands twice";
}

TEST(CliTraceEdit, ErrorsAreOneLineAndLeaveNothing) {
  const TemporaryFolder folder;
  testing::write_file(folder.file("t.csv"), "arrived_at,num_prefill_tokens,num_decode_tokens\n9,1,1\n");
  const std::string in = " " + folder.file("t.csv");
  const auto expect_error = [&](const std::string& arguments, const std::string& words) {
    const Outcome outcome = run_kvplan("trace " + arguments + in + " -o " + folder.file("o.kvt"));
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.err, "kvplan: " + words + "\n");
    EXPECT_EQ(folder.listing(), "t.csv");
  };
  expect_error("window --from 3 --to 3", "--to: expected a time after --from");
  expect_error("window --from 3 --to 4", folder.file("t.csv") + ": no request arrives in this time window");
  expect_error("sample -n 2", folder.file("t.csv") + ": has 1 requests, fewer than the 2 to draw");
  expect_error(
      "scale --rate 0",
      "--rate: expected a positive number such as 2, 0.5 or 3/4, as a fraction of two numbers below 2^31, "
      "found \"0\"");
  expect_error("spread",
               folder.file("t.csv") +
                   ": all requests arrive at the same time, so only a width in nanoseconds can spread them");
  for (const char* over : {"0", "-1", "1e9", "9223372036854775808", "x"})
    expect_error("spread --over " + std::string(over),
                 "--over: expected auto, next or a positive number of nanoseconds, found \"" +
                     std::string(over) + "\"");
  const Outcome ending = run_kvplan("trace merge" + in + in + " -o " + folder.file("o.txt"));
  EXPECT_EQ(ending.err,
            "kvplan: " + folder.file("o.txt") +
                ": --output: expected an ending .kvt, .csv or .jsonl, before .gz or .zst if any\n");
}

}  // namespace
}  // namespace kvplan::traces
