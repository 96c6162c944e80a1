// Comparisons: each variant equals a run of its own, on any number of threads; mistakes are distinguished from variants
// that cannot run.
#include <gtest/gtest.h>

#include <array>

#include "simulator/report/answer.h"
#include "simulator/report/comparison.h"
#include "simulator/results/report.h"
#include "simulator/study/compare.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/report/xml.h"

namespace kvplan::runs {
namespace {

using report::testing::small_inputs;
using report::testing::small_settings;
using report::testing::small_trace;

Result<Comparison> compare_small(const std::vector<std::string>& varies, int threads) {
  std::vector<Vary> parsed;
  for (const std::string& text : varies) {
    KVPLAN_TRY(Vary vary, parse_vary(text));
    parsed.push_back(std::move(vary));
  }
  CompareOptions options;
  options.threads = threads;
  Inputs inputs(small_inputs());
  return compare(small_settings(), parsed, inputs, options);
}

std::string error_of(const std::vector<std::string>& varies) {
  const auto result = compare_small(varies, 1);
  return result ? "no error" : result.error().to_string();
}

const std::vector<std::string> kTwo{"memory.pool_blocks=40; 60;4000", "engine.max_seqs=2;6"};

TEST(Compare, EachVariantIsTheRunItSays) {
  const auto comparison = compare_small(kTwo, 1);
  ASSERT_TRUE(comparison.ok());
  ASSERT_EQ(comparison.value().variants.size(), 6U);
  std::size_t at = 0;
  for (const char* blocks : {"40", "60", "4000"}) {
    for (const char* seats : {"2", "6"}) {
      const Variant& variant = comparison.value().variants[at++];
      EXPECT_EQ(variant.name(), std::string("pool_blocks=") + blocks + ", max_seqs=" + seats);
      auto settings = small_settings();
      settings.push_back({"memory.pool_blocks", blocks, {}, 0});
      settings.push_back({"engine.max_seqs", seats, {}, 0});
      for (std::size_t i = settings.size() - 2; i < settings.size(); ++i) settings[i].option = "--vary";
      ASSERT_TRUE(variant.result);
      EXPECT_EQ(report_json(*variant.result),
                report_json(report::testing::result_of(settings, small_trace(), 0)));
    }
  }
}

std::vector<observe::RequestRecord> records_of(const char* seats) {
  auto settings = small_settings();
  settings.push_back({"engine.max_seqs", seats, {}, 0});
  return report::testing::result_of(settings, small_trace(), 0).records;
}

/// Until two runs part, every request is scheduled first at the same time in both.
TEST(Compare, PartingsAreWhereRecordsBeginToDiffer) {
  std::vector<Vary> varies{parse_vary("engine.max_seqs=6;2;3;9").value()};
  CompareOptions options;
  options.threads = 2;
  options.partings = true;
  Inputs inputs(small_inputs());
  const Result<Comparison> compared = compare(small_settings(), varies, inputs, options);
  ASSERT_TRUE(compared.ok()) << compared.error().to_string();
  const Comparison& comparison = compared.value();
  ASSERT_EQ(comparison.parted_from, 0U);
  const auto base = records_of("6");
  for (std::size_t v = 1; v < 4; ++v) {
    const Variant& variant = comparison.variants[v];
    SCOPED_TRACE(variant.name());
    const auto other = records_of(std::array{"6", "2", "3", "9"}[v]);
    std::optional<SimTime> differs;
    for (std::size_t r = 0; r < base.size(); ++r) {
      const SimTime a = base[r].first_scheduled, b = other[r].first_scheduled;
      if (a != b && (!differs || std::min(a, b) < *differs)) differs = std::min(a, b);
    }
    ASSERT_EQ(variant.parting.has_value(), differs.has_value());
    if (differs) {
      EXPECT_EQ(variant.parting->time(), *differs);
    }
  }
  const std::string json = report::comparison_json(comparison);
  EXPECT_NE(json.find("\"parting\": {\n    \"variant\": \"max_seqs=2\",\n    \"from\": \"max_seqs=6\",\n    "
                      "\"replica\": 0,\n    \"step\": "),
            std::string::npos);
  EXPECT_NE(report::comparison_text(comparison, 100, false).find("max_seqs=2 parts from max_seqs=6 at "),
            std::string::npos);
}

TEST(Compare, PartingsOfEqualVariantsAndOfTooMany) {
  CompareOptions options;
  options.partings = true;
  Inputs inputs(small_inputs());
  const auto equal = compare(small_settings(), {parse_vary("seed=1;2").value()}, inputs, options);
  ASSERT_TRUE(equal.ok());
  EXPECT_FALSE(equal.value().variants[1].parting);
  EXPECT_NE(report::comparison_json(equal.value()).find("\"parting\": null"), std::string::npos);
  EXPECT_NE(report::comparison_text(equal.value(), 100, false).find("seed=2 decides the same as seed=1"),
            std::string::npos);
  const auto many = compare(small_settings(), {parse_vary("seed=1..25:1").value()}, inputs, options);
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().to_string(), "--parting: expected at most 24 variants, found 25");
}

TEST(Compare, SameBytesForAnyNumberOfThreads) {
  const auto one = compare_small(kTwo, 1);
  ASSERT_TRUE(one.ok());
  for (const int threads : {2, 3, 16}) {
    const auto many = compare_small(kTwo, threads);
    ASSERT_TRUE(many.ok());
    EXPECT_EQ(report::comparison_json(many.value()), report::comparison_json(one.value()));
    EXPECT_EQ(report::comparison_text(many.value(), 100, false),
              report::comparison_text(one.value(), 100, false));
    EXPECT_EQ(report::comparison_html(many.value(), "x"), report::comparison_html(one.value(), "x"));
  }
}

TEST(Compare, NothingIsKeptByRequest) {
  const auto comparison = compare_small(kTwo, 2);
  ASSERT_TRUE(comparison.ok());
  for (const Variant& variant : comparison.value().variants) {
    EXPECT_EQ(variant.result->records.capacity() + variant.result->replica_of.capacity() +
                  variant.result->held.capacity() + variant.result->input.capacity() +
                  variant.result->output.capacity(),
              0U);
    EXPECT_EQ(requests_csv(*variant.result).find('\n') + 1, requests_csv(*variant.result).size());
  }
}

TEST(Compare, AVariantThatCannotRunIsARowWithItsReason) {
  // Contiguous memory has no blocks: an error of the pool, found when the run begins.
  const auto comparison = compare_small({"memory.allocator=paged;contiguous"}, 2);
  ASSERT_TRUE(comparison.ok());
  const auto& variants = comparison.value().variants;
  EXPECT_TRUE(variants[0].result && !variants[0].error);
  ASSERT_TRUE(variants[1].error && !variants[1].result);
  const std::string reason = variants[1].error->to_string();
  const std::string json = report::comparison_json(comparison.value());
  EXPECT_NE(json.find("\"error\": null"), std::string::npos);
  EXPECT_NE(json.find("\"name\": \"allocator=contiguous\""), std::string::npos);
  EXPECT_NE(report::comparison_text(comparison.value(), 400, false).find("allocator=contiguous: " + reason),
            std::string::npos);
  const auto page = report::testing::parse_xml(report::comparison_html(comparison.value(), "x"));
  EXPECT_NE(page.all_text().find(reason), std::string::npos);
}

TEST(Compare, AReservationLongerThanThePoolIsSaid) {
  auto settings = small_settings();
  settings[0] = {"memory.pool_tokens", "640", {}, 0};
  Inputs inputs(small_inputs());
  const auto compared =
      compare(settings, {parse_vary("memory.allocator=paged;contiguous:reserve=max").value()}, inputs, {});
  ASSERT_TRUE(compared.ok()) << compared.error().to_string();
  const auto sentences = report::answer_sentences(compared.value());
  const std::string start =
      "contiguous:reserve=max rejected every request on arrival; max_model_len (262,144 tokens) is more than "
      "the pool "
      "holds (640).";
  EXPECT_EQ(std::count(sentences.begin(), sentences.end(), start), 1);
}

TEST(Compare, SentencesCompareOnlyWhatServed) {
  // A longest request that is shorter than every request of the trace.
  const auto one = compare_small({"engine.max_model_len=8000;3"}, 1);
  ASSERT_TRUE(one.ok());
  const auto sentences = report::answer_sentences(one.value());
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_EQ(sentences[0], "max_model_len=3 rejected every request on arrival.");
  EXPECT_EQ(sentences[1], "Fewer than two variants served a request, so there is nothing to compare.");
  EXPECT_EQ(sentences[2].find("max_model_len=8000: "), 0U);
  // Others are compared with the first variant that served requests, whatever its position.
  const auto other = compare_small({"engine.max_model_len=3;8000"}, 1);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(report::answer_sentences(other.value()), sentences);
}

TEST(Compare, AParameterThatOnlySomeHaveIsARowToo) {
  const auto comparison =
      compare_small({"memory.allocator=paged;contiguous", "memory.allocator.block_tokens=16;32"}, 1);
  ASSERT_TRUE(comparison.ok()) << comparison.error().to_string();
  EXPECT_TRUE(comparison.value().variants[1].result);
  ASSERT_TRUE(comparison.value().variants[3].error);
  EXPECT_NE(comparison.value().variants[3].error->to_string().find("block_tokens"), std::string::npos);
}

TEST(Compare, AllFailedIsTheFirstReason) {
  EXPECT_NE(error_of({"memory.allocator=contiguous"}), "no error");
}

TEST(Compare, SlipsAreOneLine) {
  EXPECT_EQ(error_of({"engine.max_seqs"}),
            "--vary: expected PATH=VALUE;VALUE;..., found \"engine.max_seqs\"");
  EXPECT_EQ(error_of({"=1;2"}), "--vary: expected PATH=VALUE;VALUE;..., found \"=1;2\"");
  EXPECT_EQ(error_of({"seed=1;;2"}), "--vary seed: expected a value between semicolons");
  EXPECT_EQ(error_of({"seed="}), "--vary seed: expected a value between semicolons");
  EXPECT_EQ(error_of({"seed=1; 1"}), "--vary seed: expected each value once, found \"1\" again");
  EXPECT_EQ(error_of({"seed=1;2", "seed=3"}), "--vary: expected each path once, found seed again");
  EXPECT_EQ(error_of({"enigne.max_seqs=1;2"}).find("--vary: unknown scenario path \"enigne.max_seqs\""), 0U);
  EXPECT_EQ(error_of({"engine.max_seqs=2;many"}).find("engine"), 0U) << error_of({"engine.max_seqs=2;many"});
  std::string many = "seed=0";
  for (int i = 1; i < 101; ++i) many += ";" + std::to_string(i);
  std::string more = "workload.limit=0";
  for (int i = 1; i < 101; ++i) more += ";" + std::to_string(i);
  EXPECT_EQ(error_of({many, more}), "--vary: expected at most 10000 variants");
}

TEST(Compare, StopsWhenAsked) {
  core::RunControl control;
  control.stop = true;
  CompareOptions options;
  options.control = &control;
  Inputs inputs(small_inputs());
  const auto result = compare(small_settings(), {parse_vary("seed=1;2").value()}, inputs, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kInterrupted);
}

TEST(Compare, TraceIsReadOncePerName) {
  int reads = 0;
  InputReaders readers;
  readers.read_trace = [&](const Scenario&) -> Result<traces::Trace> {
    ++reads;
    return small_trace();
  };
  Inputs inputs(std::move(readers));
  const auto result =
      compare(small_settings(), {parse_vary("seed=1;2").value(), parse_vary("workload.trace=a;b").value()},
              inputs, {});
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(reads, 2);
}

}  // namespace
}  // namespace kvplan::runs
