// Arrivals and lengths of synthetic traces, each member compared with its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "simulator/base/random.h"
#include "tests/unit/traces/synth_support.h"
#include "traces/record/statistics.h"
#include "traces/synth/parts.h"

namespace kvplan::traces {
namespace {

using testing::gamma_cdf;
using testing::gaps_s;
using testing::kKsBound;
using testing::ks_distance;
using testing::synth;
using testing::synth_error;
using testing::TemporaryFolder;

constexpr const char* kSteady = "poisson:rate_per_s=5";
constexpr const char* kShort = "fixed:input=10,output=5";

Trace arrivals(const std::string& text, std::int64_t requests, std::uint64_t seed = 1) {
  return synth({.arrivals = text, .lengths = kShort, .requests = requests, .seed = seed});
}
Trace lengths(const std::string& text, std::int64_t requests, std::uint64_t seed = 1) {
  return synth({.arrivals = "constant:rate_per_s=1", .lengths = text, .requests = requests, .seed = seed});
}
std::vector<double> as_doubles(const std::vector<std::int32_t>& values) {
  return {values.begin(), values.end()};
}

TEST(SynthArrivals, PoissonGapsAreExponential) {
  for (const double rate : {0.01, 7.5, 4000.0}) {
    SCOPED_TRACE(rate);
    const Trace trace = arrivals("poisson:rate_per_s=" + std::to_string(rate), 100'000);
    EXPECT_LT(ks_distance(gaps_s(trace), [&](double x) { return 1 - std::exp(-x * rate); }), kKsBound);
    const Statistics found = compute_statistics(trace);
    EXPECT_NEAR(found.rate_per_s.value() / rate, 1, 0.015);
    EXPECT_NEAR(found.interarrival_cv.value(), 1, 0.015);
  }
}

TEST(SynthArrivals, GammaGapsHaveTheirRateAndVariation) {
  for (const double cv : {0.1, 0.7, 1.0, 3.0, 8.0}) {
    SCOPED_TRACE(cv);
    const Trace trace = arrivals("gamma:rate_per_s=20,cv=" + std::to_string(cv), 200'000);
    const double shape = 1 / (cv * cv);
    // Gaps are whole nanoseconds; if they are a microsecond or more, rounding does not change the distance.
    EXPECT_LT(ks_distance(
                  gaps_s(trace), [&](double x) { return gamma_cdf(shape, x * 20 * shape); }, 1e-6),
              kKsBound);
    const Statistics found = compute_statistics(trace);
    EXPECT_NEAR(found.rate_per_s.value(), 20, 20 * 6 * cv / std::sqrt(200'000));
    EXPECT_NEAR(found.interarrival_cv.value(), cv, cv * 0.06);
  }
}

TEST(SynthArrivals, ConstantIsExact) {
  EXPECT_EQ(arrivals("constant:rate_per_s=3", 5).arrival_ns,
            (std::vector<std::int64_t>{0, 333'333'333, 666'666'666, 1'000'000'000, 1'333'333'333}));
  const Trace far = arrivals("constant:rate_per_s=0.3", 1'000'001);
  EXPECT_EQ(far.arrival_ns.back(), 3'333'333'333'333'333) << "no drift";
  EXPECT_EQ(
      synth_error({.arrivals = "constant:rate_per_s=3.14159265358979", .lengths = kShort, .requests = 5}),
      "constant:rate_per_s: expected a positive number such as 2, 0.5 or 3/4, as a fraction of two numbers "
      "below "
      "2^31, found \"3.14159265358979\"");
}

TEST(SynthArrivals, BatchesComeAtOneInstant) {
  const Trace even = arrivals("batched:rate_per_s=10,batch=4,gaps=constant", 10);
  EXPECT_EQ(even.arrival_ns,
            (std::vector<std::int64_t>{400'000'000, 400'000'000, 400'000'000, 400'000'000, 800'000'000,
                                       800'000'000, 800'000'000, 800'000'000, 1'200'000'000, 1'200'000'000}));
  const Trace trace = arrivals("batched:rate_per_s=10,batch=25", 500'000);
  std::vector<double> gaps;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < trace.arrival_ns.size(); i += 25) {
    ASSERT_EQ(trace.arrival_ns[i], trace.arrival_ns[i + 24]);
    gaps.push_back(static_cast<double>(trace.arrival_ns[i] - before) / 1e9);
    before = trace.arrival_ns[i];
  }
  EXPECT_LT(ks_distance(gaps, [](double x) { return 1 - std::exp(-x * 0.4); }), kKsBound);
}

TEST(SynthArrivals, OfAnotherTraceByTimeFromItsFirst) {
  const TemporaryFolder folder;
  testing::write_file(folder.file("t.csv"),
                      "arrived_at,num_prefill_tokens,num_decode_tokens\n9,1,10\n5,2,20\n6,3,30\n6,4,40\n");
  const std::string file = "trace:file=" + folder.file("t.csv");
  const Trace whole = synth({.arrivals = file});
  EXPECT_EQ(whole.arrival_ns, (std::vector<std::int64_t>{0, 1'000'000'000, 1'000'000'000, 4'000'000'000}));
  EXPECT_EQ(whole.input_tokens, (std::vector<std::int32_t>{2, 3, 4, 1}));
  EXPECT_EQ(whole.output_tokens, (std::vector<std::int32_t>{20, 30, 40, 10}));
  EXPECT_EQ(whole.provenance.sources, std::vector<std::string>{"t.csv"});
  EXPECT_EQ(whole.provenance.options.front(), "arrivals=trace:file=t.csv,rate_scale=1");
  const Trace fast = synth({.arrivals = file + ",rate_scale=3/2", .lengths = kShort, .requests = 3});
  EXPECT_EQ(fast.arrival_ns, (std::vector<std::int64_t>{0, 666'666'666, 666'666'666}));
  EXPECT_EQ(fast.input_tokens, (std::vector<std::int32_t>{10, 10, 10}));
  EXPECT_EQ(synth({.arrivals = file, .duration_ns = 4'000'000'000}).size(), 3) << "the end is not in it";
  EXPECT_EQ(synth_error({.arrivals = file, .requests = 5}),
            "--requests: there are 4, fewer than the 5 to make");
  testing::write_file(folder.file("l.csv"), "num_prefill_tokens,num_decode_tokens\n1,2\n");
  EXPECT_EQ(
      synth_error({.arrivals = "trace:file=" + folder.file("l.csv")}),
      folder.file("l.csv") + ": its requests have no common clock, so there are no arrival times to copy");
  EXPECT_EQ(synth_error({.arrivals = file + ",rate_scale=0"}),
            "trace:rate_scale: expected a positive number such as 2, 0.5 or 3/4, as a fraction of two "
            "numbers below "
            "2^31, found \"0\"");
}

TEST(SynthArrivals, TimesThatDoNotFitAreErrors) {
  const std::string late = "arrivals would be later than 292 years after the first";
  for (const char* text : {"poisson:rate_per_s=0.000001", "gamma:rate_per_s=0.000001,cv=1000",
                           "constant:rate_per_s=0.000001", "batched:rate_per_s=0.000001,batch=1000000"})
    EXPECT_EQ(synth_error({.arrivals = text, .lengths = kShort, .requests = 100'000'000}), late) << text;
  // The sum is held in steps of 2^-20 ns: gaps below a nanosecond are not lost.
  const Trace fast = arrivals("poisson:rate_per_s=1000000000", 1'000'000);
  EXPECT_NEAR(static_cast<double>(fast.arrival_ns.back()), 1e6, 6e3);
}

TEST(SynthLengths, FixedAndUniform) {
  EXPECT_EQ(lengths(kShort, 3).input_tokens, (std::vector<std::int32_t>{10, 10, 10}));
  EXPECT_EQ(lengths(kShort, 3).output_tokens, (std::vector<std::int32_t>{5, 5, 5}));
  const Trace trace = lengths("uniform:input_min=3,input_max=6,output_max=2", 40'000);
  std::map<std::pair<int, int>, int> seen;
  for (std::size_t i = 0; i < 40'000; ++i) ++seen[{trace.input_tokens[i], trace.output_tokens[i]}];
  EXPECT_EQ(seen.size(), 8U);
  for (const auto& [pair, count] : seen) EXPECT_NEAR(count, 5000, 330) << pair.first << "," << pair.second;
  EXPECT_EQ(synth_error({.arrivals = "constant:rate_per_s=1",
                         .lengths = "uniform:input_min=3,input_max=2,output_max=2",
                         .requests = 1}),
            "uniform:input_max: expected at least input_min");
}

/// The distribution of a rounded lognormal length.
double lognormal_cdf(double tokens, double mean_log, double deviation_log) {
  return std::erfc(-(std::log(tokens + 0.5) - mean_log) / (deviation_log * std::sqrt(2))) / 2;
}

TEST(SynthLengths, LognormalHasThePublishedMeanAndMedianOrVariation) {
  // The Azure conversation hour: inputs of mean 1154.7 and median 1020, outputs of mean 211.1 and median 129.
  const Trace trace =
      lengths("lognormal:input_mean=1154.7,input_p50=1020,output_mean=211.1,output_p50=129", 200'000);
  const Statistics found = compute_statistics(trace);
  EXPECT_NEAR(found.input.mean.value(), 1154.7, 10);
  EXPECT_NEAR(static_cast<double>(found.input.p50.value()), 1020, 8);
  EXPECT_NEAR(found.output.mean.value(), 211.1, 4);
  EXPECT_NEAR(static_cast<double>(found.output.p50.value()), 129, 2);
  // Lengths are whole tokens, so the distance is compared just before and after each step.
  const double deviation = std::sqrt(2 * std::log(211.1 / 129));
  std::vector<double> sorted = as_doubles(trace.output_tokens);
  std::sort(sorted.begin(), sorted.end());
  double distance = 0;
  for (const double at : {1.0, 5.0, 20.0, 60.0, 129.0, 200.0, 400.0, 1000.0, 3000.0}) {
    const auto below = std::upper_bound(sorted.begin(), sorted.end(), at) - sorted.begin();
    distance = std::max(distance, std::abs(static_cast<double>(below) / 200'000 -
                                           lognormal_cdf(at, std::log(129), deviation)));
  }
  EXPECT_LT(distance * std::sqrt(200'000), kKsBound);

  const Trace varied = lengths("lognormal:input_mean=3000,input_cv=0.5,output_mean=400", 200'000);
  std::array<double, 2> mean{};
  std::array<double, 2> square{};
  for (std::size_t i = 0; i < 200'000; ++i) {
    const std::array<double, 2> x{static_cast<double>(varied.input_tokens[i]),
                                  static_cast<double>(varied.output_tokens[i])};
    for (std::size_t side = 0; side < 2; ++side) {
      mean[side] += x[side] / 200'000;
      square[side] += x[side] * x[side] / 200'000;
    }
  }
  EXPECT_NEAR(mean[0], 3000, 20);
  EXPECT_NEAR(std::sqrt(square[0] - mean[0] * mean[0]) / mean[0], 0.5, 0.01);
  EXPECT_NEAR(mean[1], 400, 6);
  EXPECT_NEAR(std::sqrt(square[1] - mean[1] * mean[1]) / mean[1], 1, 0.05);

  const Trace capped =
      lengths("lognormal:input_mean=100,input_cv=5,input_max=120,output_mean=1,output_p50=0.5", 9999);
  EXPECT_EQ(*std::max_element(capped.input_tokens.begin(), capped.input_tokens.end()), 120);
  EXPECT_EQ(*std::min_element(capped.output_tokens.begin(), capped.output_tokens.end()), 1);
}

TEST(SynthLengths, LognormalRefusesWhatNoLognormalHas) {
  const auto error = [](const std::string& side) {
    return synth_error({.arrivals = "constant:rate_per_s=1",
                        .lengths = "lognormal:output_mean=1,input_mean=" + side,
                        .requests = 1});
  };
  EXPECT_EQ(error("100,input_p50=101"),
            "lognormal:input_p50: expected a median from 0.01 to the mean 100, found 101");
  EXPECT_EQ(error("100,input_p50=1e-300"),
            "lognormal:input_p50: expected a median from 0.01 to the mean 100, found 1e-300");
  EXPECT_EQ(error("100,input_p50=50,input_cv=1"),
            "lognormal:input_p50: expected a median or a coefficient of variation, found both");
  EXPECT_EQ(error("100,input_p50=100"), "no error");
}

TEST(SynthLengths, ZipfBetweenTheShortestAndTheLongest) {
  const Trace trace =
      lengths("zipf:input_min=100,input_max=104,input_exponent=2,output_max=3,output_exponent=0", 100'000);
  std::map<int, int> input;
  std::map<int, int> output;
  for (std::size_t i = 0; i < 100'000; ++i) {
    ++input[trace.input_tokens[i]];
    ++output[trace.output_tokens[i]];
  }
  double sum = 0;
  for (int k = 100; k <= 104; ++k) sum += 1.0 / (k * k);
  ASSERT_EQ(input.size(), 5U);
  for (const auto& [k, count] : input) EXPECT_NEAR(count, 1e5 / (sum * k * k), 700) << k;
  ASSERT_EQ(output.size(), 3U);
  for (const auto& [k, count] : output) EXPECT_NEAR(count, 1e5 / 3, 800) << k;
}

TEST(SynthLengths, EmpiricalPairsStayTogether) {
  const TemporaryFolder folder;
  testing::write_file(folder.file("l.csv"), "num_prefill_tokens,num_decode_tokens\n1,10\n2,20\n2,20\n3,0\n");
  const std::string file = "empirical:file=" + folder.file("l.csv");
  const Trace in_order = lengths(file + ",order=file", 6);
  EXPECT_EQ(in_order.input_tokens, (std::vector<std::int32_t>{1, 2, 2, 3, 1, 2}));
  EXPECT_EQ(in_order.output_tokens, (std::vector<std::int32_t>{10, 20, 20, 0, 10, 20}));
  EXPECT_EQ(in_order.provenance.warnings,
            std::vector<std::string>{"1 of 6 requests have no output tokens; runs reject them."});
  const Trace drawn = lengths(file, 40'000);
  std::map<std::pair<int, int>, int> seen;
  for (std::size_t i = 0; i < 40'000; ++i) ++seen[{drawn.input_tokens[i], drawn.output_tokens[i]}];
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_NEAR((seen[{1, 10}]), 10'000, 440);
  EXPECT_NEAR((seen[{2, 20}]), 20'000, 500);
  EXPECT_NEAR((seen[{3, 0}]), 10'000, 440);
}

TEST(SynthLengths, DrawnFromARecordedFileHaveItsDistribution) {
  KVPLAN_NEED_SHARED();
  const std::string file = testing::shared_traces() + "/lengths_sharegpt_8k.csv";
  const Result<Trace> recorded = open_trace(file);
  ASSERT_TRUE(recorded.ok());
  const Trace made = lengths("empirical:file=" + file, 200'000);
  std::set<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < recorded.value().input_tokens.size(); ++i)
    pairs.emplace(recorded.value().input_tokens[i], recorded.value().output_tokens[i]);
  for (std::size_t i = 0; i < 200'000; ++i)
    ASSERT_TRUE(pairs.contains({made.input_tokens[i], made.output_tokens[i]}));
  const Statistics was = compute_statistics(recorded.value());
  const Statistics is = compute_statistics(made);
  EXPECT_NEAR(is.input.mean.value(), was.input.mean.value(), was.input.mean.value() * 0.01);
  EXPECT_NEAR(is.output.mean.value(), was.output.mean.value(), was.output.mean.value() * 0.01);
}

TEST(Synth, APartThatIsChangedLeavesTheOthersAsTheyWere) {
  const SynthOptions base{.arrivals = "poisson:rate_per_s=5",
                          .lengths = "uniform:input_max=100,output_max=100",
                          .requests = 500,
                          .seed = 3};
  const Trace was = synth(base);
  SynthOptions other = base;
  other.arrivals = "gamma:rate_per_s=5,cv=2";
  EXPECT_EQ(synth(other).input_tokens, was.input_tokens);
  EXPECT_NE(synth(other).arrival_ns, was.arrival_ns);
  other = base;
  other.prefixes = "groups:groups=3,tokens=40";
  EXPECT_EQ(synth(other).arrival_ns, was.arrival_ns);
  EXPECT_EQ(synth(other).output_tokens, was.output_tokens);
  other = base;
  other.seed = 4;
  EXPECT_NE(synth(other).arrival_ns, was.arrival_ns);
  EXPECT_NE(synth(other).input_tokens, was.input_tokens);
  EXPECT_EQ(synth(base).digest, was.digest);
}

TEST(Synth, HostileNumbersAreOneLine) {
  const TemporaryFolder folder;
  const auto no = [](SynthOptions options) {
    if (options.lengths == "given") options.lengths = kShort;
    if (options.requests == 0 && options.duration_ns == 0) options.requests = 10;
    const std::string error = synth_error(options);
    EXPECT_NE(error, "no error") << options.arrivals << " " << options.lengths << " " << options.turns;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  };
  for (const char* number :
       {"0", "-1", "1e308", "1e-300", "-1e-300", "1e400", "nan", "inf", "9223372036854775808",
        "18446744073709551616", "", "x", "1e", "0x10", "+5", " 5"}) {
    SCOPED_TRACE(number);
    const std::string n = number;
    no({.arrivals = "poisson:rate_per_s=" + n});
    no({.arrivals = "gamma:cv=1,rate_per_s=" + n});
    no({.arrivals = "gamma:rate_per_s=5,cv=" + n});
    no({.arrivals = "constant:rate_per_s=" + n});
    no({.arrivals = "batched:batch=3,rate_per_s=" + n});
    no({.arrivals = "batched:rate_per_s=3,batch=" + n});
    no({.arrivals = kSteady, .lengths = "fixed:output=1,input=" + n});
    no({.arrivals = kSteady, .lengths = "lognormal:output_mean=1,input_mean=" + n});
    no({.arrivals = kSteady, .lengths = "lognormal:output_mean=1,input_mean=10,input_cv=" + n});
    no({.arrivals = kSteady, .lengths = "uniform:output_max=1,input_max=" + n});
    no({.arrivals = kSteady, .lengths = "zipf:output_max=1,input_max=" + n});
    no({.arrivals = kSteady, .prefixes = "groups:tokens=" + n});
    no({.arrivals = kSteady, .prefixes = "groups:tokens=5,groups=" + n});
    no({.arrivals = kSteady, .turns = "sessions:turns=" + n});
    no({.arrivals = kSteady, .turns = "sessions:turns=5,context=" + n});
    if (n != "0" && n != "1e-300") {  // otherwise there are no pauses
      no({.arrivals = kSteady, .turns = "sessions:turns=5,think_s=" + n});
      no({.arrivals = kSteady, .prefixes = "groups:tokens=5,zipf=" + n});
    }
  }
  no({.arrivals = kSteady, .block_tokens = 0});
  no({.arrivals = kSteady, .block_tokens = INT64_MAX});
  no({.arrivals = kSteady, .requests = INT64_MAX});
  no({.arrivals = kSteady, .requests = -1});
  no({.arrivals = kSteady, .duration_ns = -1});
  no({.arrivals = kSteady, .duration_ns = 1});  // no request arrives in a nanosecond
  EXPECT_EQ(synth_error({.arrivals = "poisson:rate_per_s=5", .lengths = kShort}),
            "--requests: expected a number of requests or a --duration: these arrivals never end");
  EXPECT_EQ(synth_error({.arrivals = "poisson:rate_per_s=5", .requests = 1}),
            "--lengths: expected lengths: poisson arrivals have none");
  EXPECT_EQ(synth_error({.arrivals = "poison:rate_per_s=5", .requests = 1}).substr(0, 57),
            "poison: unknown arrivals \"poison\"; did you mean \"poisson\"");
}

TEST(Synth, EveryMemberHasADescriptorOfItsFamily) {
  for (const std::string_view family : synth_families()) {
    std::string_view before;
    ASSERT_FALSE(synth_descriptors(family).empty());
    for (const Descriptor* d : synth_descriptors(family)) {
      EXPECT_EQ(d->family, family);
      EXPECT_LT(before, d->name) << "sorted";
      before = d->name;
      EXPECT_TRUE(d->summary.ends_with('.')) << d->name;
      EXPECT_FALSE(d->source.empty());
      for (const Param& param : d->params) {
        EXPECT_FALSE(param.help.empty() || param.help.ends_with('.')) << d->name << ":" << param.name;
        if (param.fallback.empty()) continue;
        std::vector<std::pair<std::string, std::string>> pairs;
        for (const Param& other : d->params) {
          if (&other == &param) continue;
          if (other.fallback.empty())
            pairs.emplace_back(other.name, other.kind == ParamKind::kText ? "x" : "1");
        }
        EXPECT_TRUE(make_choice(d->name, pairs, family, synth_descriptors(family)).ok()) << d->name;
      }
    }
  }
  EXPECT_TRUE(synth_descriptors("allocator").empty());
}

}  // namespace
}  // namespace kvplan::traces
