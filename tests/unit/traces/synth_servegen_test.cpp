// ServeGen's client pools: reading them, and traces generated from them, compared with the figures published with the
// recorded pool (traces/README.md of the shared data).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "tests/unit/traces/synth_support.h"
#include "traces/record/statistics.h"
#include "traces/synth/client_pool.h"

namespace kvplan::traces {
namespace {

using testing::synth;
using testing::synth_error;
using testing::TemporaryFolder;
using testing::write_file;

std::string recorded_pool() {
  return testing::shared_traces() + "/servegen_reason_deepseek-r1.tar.zst";
}

TEST(SynthServegen, TheRecordedPoolHasItsPublishedFigures) {
  KVPLAN_NEED_SHARED();
  const Result<ClientPool> read = read_client_pool(recorded_pool());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  const ClientPool& pool = read.value();
  EXPECT_EQ(pool.clients.size(), 73U);
  EXPECT_EQ(pool.day_ns, 86'400 * kNsPerSecond);
  std::map<std::int64_t, double> rate;
  std::map<std::int64_t, int> active;
  for (const PoolClient& client : pool.clients) {
    ASSERT_EQ(client.windows.size(), 144U);
    for (const PoolWindow& window : client.windows) {
      EXPECT_EQ(window.end_ns - window.begin_ns, 600 * kNsPerSecond);
      rate[window.begin_ns] += window.rate_per_s;
      active[window.begin_ns] += window.rate_per_s > 0 ? 1 : 0;
    }
  }
  const auto by_value = [](const auto& a, const auto& b) { return a.second < b.second; };
  EXPECT_NEAR(std::min_element(rate.begin(), rate.end(), by_value)->second, 4.31, 0.005);
  EXPECT_NEAR(std::max_element(rate.begin(), rate.end(), by_value)->second, 42.52, 0.005);
  EXPECT_NEAR(pool.requests() / 86'400, 16.01, 0.005);
  EXPECT_EQ(std::min_element(active.begin(), active.end(), by_value)->second, 12);
  EXPECT_EQ(std::max_element(active.begin(), active.end(), by_value)->second, 31);
}

/// What the pool itself says about the requests between two times of its day.
struct Expected {
  double requests{0};
  double input{0}, output{0};  ///< sums
};
std::map<std::string, Expected> expected_by_client(const ClientPool& pool, std::int64_t from_s,
                                                   std::int64_t to_s) {
  std::map<std::string, Expected> out;
  for (const PoolClient& client : pool.clients) {
    for (const PoolWindow& window : client.windows) {
      if (window.begin_ns < from_s * kNsPerSecond || window.begin_ns >= to_s * kNsPerSecond) continue;
      if (window.rate_per_s == 0) continue;
      Expected& sum = out["client-" + std::to_string(client.number)];
      const double count = std::round(window.requests());
      sum.requests += count;
      sum.input += count * client.lengths_at(window.begin_ns).input.mean();
      sum.output += count * client.lengths_at(window.begin_ns).output.mean();
    }
  }
  return out;
}

TEST(SynthServegen, ClientsHaveTheirRatesAndLengths) {
  KVPLAN_NEED_SHARED();
  const std::string arrivals = "servegen:pool=" + recorded_pool() + ",from_s=72000";
  const Trace trace = synth({.arrivals = arrivals, .duration_ns = 1800 * kNsPerSecond, .seed = 3});
  // As many requests as in the generated sample of the same half hour, with clients in the same windows.
  EXPECT_EQ(trace.size(), 36'999);
  const auto expected = expected_by_client(read_client_pool(recorded_pool()).value(), 72'000, 73'800);
  std::map<std::string, Expected> found;
  double input_square = 0;
  double output_square = 0;
  Expected whole;
  for (std::size_t i = 0; i < trace.arrival_ns.size(); ++i) {
    Expected& sum = found[trace.tenant_names[static_cast<std::size_t>(trace.tenant[i])]];
    sum.requests += 1;
    sum.input += trace.input_tokens[i];
    sum.output += trace.output_tokens[i];
    input_square += std::pow(trace.input_tokens[i], 2);
    output_square += std::pow(trace.output_tokens[i], 2);
  }
  ASSERT_EQ(found.size(), expected.size());
  Expected mean;
  for (const auto& [client, sum] : expected) {
    EXPECT_EQ(found[client].requests, sum.requests) << client;
    mean.input += sum.input / 36'999;
    mean.output += sum.output / 36'999;
    whole.input += found[client].input / 36'999;
    whole.output += found[client].output / 36'999;
  }
  // Five standard errors, as if requests were drawn independently (they are drawn by client, so it is less).
  EXPECT_NEAR(whole.input, mean.input,
              5 * std::sqrt(input_square / 36'999 - mean.input * mean.input) / 192.3);
  EXPECT_NEAR(whole.output, mean.output,
              5 * std::sqrt(output_square / 36'999 - mean.output * mean.output) / 192.3);
  // The sample in the shared data: other draws from the same distributions.
  const Statistics statistics = compute_statistics(trace);
  EXPECT_NEAR(statistics.rate_per_s.value(), 20.555, 0.005);
  EXPECT_NEAR(statistics.interarrival_cv.value(), 1.315, 0.03);
  EXPECT_NEAR(statistics.input.mean.value(), 996.6, 60);
  EXPECT_NEAR(static_cast<double>(statistics.input.p50.value()), 297, 15);
  EXPECT_NEAR(statistics.output.mean.value(), 773.9, 25);
  EXPECT_NEAR(static_cast<double>(statistics.output.p50.value()), 462, 15);
  EXPECT_NEAR(static_cast<double>(statistics.output.p99.value()), 8543, 900);
}

TEST(SynthServegen, AWholeDayHasTheRateOfItsWindows) {
  KVPLAN_NEED_SHARED();
  const Trace trace = synth({.arrivals = "servegen:pool=" + recorded_pool(),
                             .lengths = "fixed:input=1,output=1",
                             .duration_ns = 86'400 * kNsPerSecond});
  const ClientPool pool = read_client_pool(recorded_pool()).value();
  EXPECT_EQ(static_cast<double>(trace.size()), std::round(pool.requests()));
  std::vector<double> by_window(144, 0);
  for (const std::int64_t at : trace.arrival_ns)
    ++by_window[static_cast<std::size_t>(at / (600 * kNsPerSecond))];
  std::vector<double> wanted(144, 0);
  for (const PoolClient& client : pool.clients)
    for (std::size_t w = 0; w < 144; ++w) wanted[w] += std::round(client.windows[w].requests());
  EXPECT_EQ(by_window, wanted);
}

TEST(SynthServegen, ChosenClientsAtAnotherRate) {
  KVPLAN_NEED_SHARED();
  const std::string pool = "servegen:pool=" + recorded_pool();
  const std::int64_t hours = 6 * 3600 * kNsPerSecond;
  const Trace few =
      synth({.arrivals = pool + ",clients=5,rate_per_s=3", .duration_ns = 86'400 * kNsPerSecond});
  EXPECT_EQ(few.tenant_names.size(), 5U);
  EXPECT_NEAR(static_cast<double>(few.size()), 3 * 86'400, 2000);
  EXPECT_EQ(synth({.arrivals = pool + ",clients=73", .duration_ns = hours}).digest,
            synth({.arrivals = pool, .duration_ns = hours}).digest)
      << "all clients";
  const Trace twice = synth({.arrivals = pool, .duration_ns = hours, .seed = 2});
  EXPECT_NE(twice.digest, synth({.arrivals = pool, .duration_ns = hours}).digest);
  EXPECT_EQ(twice.size(), synth({.arrivals = pool, .duration_ns = hours}).size())
      << "rates are no matter of chance";
}

constexpr const char* kTable =
    R"({"0": {"input_tokens": "{10: 0.25, 20: 0.75}", "output_tokens": "{3: 1.0}"}})";
constexpr const char* kRows = "0,2,1,Gamma,1,0.5\n10,0,0,,0,0\n20,1,1.5,Weibull,0.7,1\n";

void write_client(const TemporaryFolder& folder, int number, std::string_view rows, std::string_view table) {
  write_file(folder.file("chunk-" + std::to_string(number) + "-trace.csv"), rows);
  write_file(folder.file("chunk-" + std::to_string(number) + "-dataset.json"), table);
}

TEST(SynthServegen, WindowsFollowEachOtherAndTheDayComesAgain) {
  const TemporaryFolder folder;
  write_client(folder, 4, kRows, kTable);
  write_file(folder.file("notes.txt"), "passed over");
  const Trace trace = synth({.arrivals = "servegen:pool=" + folder.path(), .duration_ns = 90 * kNsPerSecond});
  std::array<int, 9> by_window{};
  for (const std::int64_t at : trace.arrival_ns)
    ++by_window[static_cast<std::size_t>(at / (10 * kNsPerSecond))];
  EXPECT_EQ(by_window, (std::array<int, 9>{20, 0, 10, 20, 0, 10, 20, 0, 10}));
  EXPECT_EQ(trace.tenant_names, std::vector<std::string>{"client-4"});
  for (std::size_t i = 0; i < trace.arrival_ns.size(); ++i) {
    EXPECT_TRUE(trace.input_tokens[i] == 10 || trace.input_tokens[i] == 20);
    EXPECT_EQ(trace.output_tokens[i], 3);
  }
  const Trace later =
      synth({.arrivals = "servegen:pool=" + folder.path() + ",from_s=15", .duration_ns = 25 * kNsPerSecond});
  EXPECT_EQ(later.size(), 30) << "5 s of nothing, the last window, the first one of the next day";
  EXPECT_GE(later.arrival_ns.front(), 5 * kNsPerSecond);
}

TEST(SynthServegen, LengthsChangeWithTheTimeOfDayAndIdleTablesTakeWhatWasBefore) {
  const TemporaryFolder folder;
  write_client(folder, 0, "0,1,1,Gamma,1,1\n10,1,1,Gamma,1,1\n20,1,1,Gamma,1,1\n30,1,1,Gamma,1,1\n",
               R"({"20": {"input_tokens": "{}", "output_tokens": "{}", "reason_ratio": "{}"},
                   "10": {"reason_ratio": "{0.5: 1}", "output_tokens": "{ 2 : 1e0 }", "input_tokens": "{5:1}"},
                   "30": {"input_tokens": "{7: 0.5, 7: 0.5}", "output_tokens": "{1: 1}"}})");
  const Trace trace = synth({.arrivals = "servegen:pool=" + folder.path(), .duration_ns = 40 * kNsPerSecond});
  ASSERT_EQ(trace.size(), 40);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(trace.input_tokens[i], i < 10 || i >= 30 ? 7 : 5) << i;
}

TEST(SynthServegen, AnArchiveIsTheFolder) {
  const TemporaryFolder folder;
  const TemporaryFolder outside;
  write_client(folder, 4, kRows, kTable);
  write_client(folder, 17, kRows, kTable);
  const std::string tar = outside.file("p.tar");
  ASSERT_EQ(
      std::system(("cd '" + folder.path() + "' && tar cf '" + tar + "' . && gzip -k '" + tar + "'").c_str()),
      0);
  const auto digest = [](const std::string& path) {
    return synth({.arrivals = "servegen:pool=" + path, .requests = 500}).digest;
  };
  EXPECT_EQ(digest(tar), digest(folder.path()));
  EXPECT_EQ(digest(tar + ".gz"), digest(folder.path()));
  EXPECT_EQ(digest(folder.path() + "/"), digest(folder.path()));
  std::string bytes = testing::read_file(tar);
  write_file(outside.file("short.tar"), std::string_view(bytes).substr(0, 700));
  bytes[5] ^= 1;
  write_file(outside.file("bent.tar"), bytes);
  const auto error = [&](const std::string& name) {
    return synth_error({.arrivals = "servegen:pool=" + outside.file(name), .requests = 1});
  };
  EXPECT_EQ(error("bent.tar"),
            outside.file("bent.tar") + ": byte 512: expected the header of a file in a tar archive");
  EXPECT_NE(error("short.tar").find("expected a folder or a tar archive"), std::string::npos)
      << error("short.tar");
  write_file(outside.file("x"), "no archive");
  EXPECT_EQ(error("x"), outside.file("x") + ": byte 10: expected a folder or a tar archive");
  EXPECT_EQ(error("none"), outside.file("none") + ": cannot open: No such file or directory");
}

TEST(SynthServegen, WhatIsWrongWithAPoolIsSaidInOneLine) {
  const auto error = [](std::string_view rows, std::string_view table, const std::string& options = "") {
    const TemporaryFolder folder;
    write_client(folder, 1, rows, table);
    std::string text = synth_error({.arrivals = "servegen:pool=" + folder.path() + options, .requests = 5});
    for (std::size_t at = text.find(folder.path()); at != std::string::npos; at = text.find(folder.path()))
      text.replace(at, folder.path().size(), "P");
    return text;
  };
  EXPECT_EQ(error(kRows, kTable), "no error");
  const std::string csv = "P/chunk-1-trace.csv";
  const std::string json = "P/chunk-1-dataset.json";
  EXPECT_EQ(error("0,1,1,Gamma,1,1\n", kTable), csv + ": expected at least two windows");
  EXPECT_EQ(error("0,1,1,Gamma,1\n", kTable),
            csv + ":1: expected 6 columns (start, rate, variation, law, shape, scale), found 5");
  EXPECT_EQ(error("0,1,1,Gamma,1,1,9,9\n", kTable),
            csv + ":1: expected 6 columns (start, rate, variation, law, shape, scale), found more");
  EXPECT_EQ(error("0,x,1,Gamma,1,1\n", kTable),
            csv + ":1: rate: expected a number from 0 to 1e+09, found \"x\"");
  EXPECT_EQ(error("0,1e-300,1,Gamma,1,1\n", kTable), csv + ":1: rate: expected 0 or at least 0.000001");
  EXPECT_EQ(error("0,1,1,Pareto,1,1\n", kTable),
            csv + ":1: law: expected Gamma or Weibull, found \"Pareto\"");
  EXPECT_EQ(error("0,1,1,Gamma,0,1\n", kTable),
            csv + ":1: shape: expected a number from 1e-04 to 1e+06, found \"0\"");
  EXPECT_EQ(error("0,0,0,,0,0\n0.5,0,0,,0,0\n", kTable),
            csv + ":2: start: expected windows of at least one second, in order of time");
  EXPECT_EQ(error("0,0,0,,0,0\n10,0,0,,0,0\n", kTable),
            "P: servegen:rate_per_s: expected at least one request a day, found 0");
  EXPECT_EQ(error("0,1e9,1,Gamma,1,1\n10,0,0,,0,0\n", kTable),
            "P: servegen:rate_per_s: more than 67108864 requests of one client in one window");
  EXPECT_EQ(error(kRows, kTable, ",rate_per_s=1e-300"),
            "P: servegen:rate_per_s: expected at least one request a day, found 3e-299");
  EXPECT_EQ(error(kRows, kTable, ",from_s=30"),
            "servegen:from_s: expected a time before the end of the pool's day, 30 s");
  EXPECT_EQ(error(kRows, kTable, ",clients=2"), "P: servegen:clients: the pool has 1 clients with requests");
  EXPECT_EQ(error(kRows, R"({"0": {"input_tokens": "{}"}})"),
            "P: chunk-1: the client has requests but no lengths");
  EXPECT_EQ(error(kRows, R"({"x": {}})"),
            json + ": byte 1: expected the start of a window in seconds, found \"x\"");
  const auto dict = [&](const std::string& text) {
    return error(kRows, R"({"0": {"input_tokens": ")" + text + R"("}})");
  };
  const std::string at = json + ": byte 23: 0.input_tokens: ";
  EXPECT_EQ(dict("{1: 0.0}"), at + "expected probabilities that are not all 0");
  EXPECT_EQ(dict("{1: -1}"), at + "expected a number from 0 to 1e+09, found \"-1\"");
  EXPECT_EQ(dict("{1: nan}"), at + "expected a number from 0 to 1e+09, found \"nan\"");
  EXPECT_EQ(dict("{2147483648: 1}"),
            at + "expected a whole number from 0 to 2147483647, found \"2147483648\"");
  EXPECT_EQ(dict("{1: 1"), at + "expected {TOKENS: PROBABILITY, ...}, found nothing");
  EXPECT_EQ(dict("{1: 1} x"), at + "expected nothing after the Python dict, found \"x\"");
  EXPECT_EQ(dict("[1]"), at + "expected {TOKENS: PROBABILITY, ...}, found \"[1]\"");
  EXPECT_EQ(error(kRows, R"({"0": {"input_tokens": 5}})"),
            at + "expected a string with a Python dict, found \"5\"");
  EXPECT_NE(error(kRows, "{\"0\": {\"input_tokens\": \"{1: 1}\"").find(json), std::string::npos);
  const TemporaryFolder folder;
  EXPECT_EQ(synth_error({.arrivals = "servegen:pool=" + folder.path(), .requests = 5}),
            folder.path() + ": the pool holds no client: no chunk-K-trace.csv and chunk-K-dataset.json");
  write_file(folder.file("chunk-3-trace.csv"), kRows);
  EXPECT_EQ(synth_error({.arrivals = "servegen:pool=" + folder.path(), .requests = 5}),
            folder.path() + ": has no chunk-3-dataset.json");
}

}  // namespace
}  // namespace kvplan::traces
