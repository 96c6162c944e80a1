// The event log: it has the same bytes with fast and naive stepping, everything written is read back, and any damage is
// one error with its position.
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "proto/event_log.pb.h"
#include "simulator/base/check.h"
#include "simulator/frame/frame.h"
#include "simulator/io/event_log_file.h"
#include "simulator/io/log/frame.h"
#include "simulator/io/log/reader.h"
#include "tests/support/ids.h"
#include "tests/support/random_cases.h"
#include "tests/validator/event_log_support.h"
#include "tests/validator/hand_log.h"
#include "tests/validator/run_log.h"

namespace kvplan {
namespace {

using test::operator""_r;

using test::LogCase;
using test::Stepping;

TEST(EventLog, BytesDoNotDependOnTheStepperOnTheMicroTrace) {
  const scheduling::vllm::Params wide{.token_budget = 2048, .max_seqs = 64};
  scheduling::vllm::Params threshold = wide;
  threshold.long_prefill_threshold = 300;
  const std::string paged = "paged:block_tokens=16";
  for (const LogCase& c : {
           LogCase{.name = "b128",
          .allocator = "paged:block_tokens=128",
          .pool_blocks = 256,
          .scheduler = {.token_budget = 1024, .max_seqs = 16},
          .unit_latency = true},
           LogCase{.name = "threshold",
           .allocator = paged,
           .pool_blocks = 1024,
           .scheduler = threshold,
           .unit_latency = true},
           LogCase{.name = "plain",
           .allocator = paged,
           .pool_blocks = 1024,
           .prefix_cache = false,
           .scheduler = wide,
           .unit_latency = true},
           LogCase{.name = "oracle",
           .allocator = "contiguous:reserve=oracle",
           .pool_tokens = 30000,
           .scheduler = wide,
           .bent_latency = true},
           LogCase{.name = "window",
           .allocator = paged,
           .pool_blocks = 1024,
           .scheduler = wide,
           .keep = {0, 200}},
           LogCase{.name = "streaming",
           .allocator = paged,
           .pool_blocks = 1024,
           .scheduler = threshold,
           .keep = {4, 100},
           .bent_latency = true},
       }) {
    const std::string fast = test::log_of_run(test::micro_trace(), c, Stepping::kFast);
    const std::string naive = test::log_of_run(test::micro_trace(), c, Stepping::kNaive);
    EXPECT_TRUE(fast == naive) << c.name << ": " << fast.size() << " and " << naive.size() << " bytes";
    const auto log = test::read_log(fast);
    // Steps were merged into runs; otherwise equality would mean little.
    const auto long_runs = std::count_if(log.records.begin(), log.records.end(), [](const auto& record) {
      const auto* run = std::get_if<event_log::StepRun>(&record.fact);
      return run != nullptr && run->steps > 2;
    });
    EXPECT_GT(long_runs, 100) << c.name;
  }
}

TEST(EventLog, BytesDoNotDependOnTheStepperOnRandomWorkloads) {
  for (std::uint64_t seed = 1; std::cmp_less_equal(seed, test::random_cases(12)); ++seed) {
    const traces::Trace trace = test::random_trace(seed);
    for (const LogCase& c : test::small_cases()) {
      const std::string fast = test::log_of_run(trace, c, Stepping::kFast);
      const std::string naive = test::log_of_run(trace, c, Stepping::kNaive);
      ASSERT_TRUE(fast == naive) << c.name << ", seed " << seed;
    }
  }
}

TEST(EventLog, ReadingAndWritingGiveTheSameBytes) {
  for (const LogCase& c : test::small_cases()) {
    const std::string bytes = test::log_of_run(test::random_trace(3), c, Stepping::kFast);
    EXPECT_TRUE(test::write_log(test::read_log(bytes)) == bytes) << c.name;
  }
}

/// A fact of kind `I` with the smallest numbers that are in range.
template <std::size_t I>
event_log::Fact least_fact() {
  event_log::Fact fact(std::in_place_index<I>);
  if (auto* grant = std::get_if<event_log::Grant>(&fact)) grant->alloc_units = 1;
  if (auto* chunk = std::get_if<event_log::Chunk>(&fact)) chunk->tokens = 1;
  if (auto* run = std::get_if<event_log::StepRun>(&fact)) run->steps = 1;
  if (auto* move = std::get_if<event_log::Move>(&fact)) move->slots = 1;
  if (auto* counts = std::get_if<event_log::Counts>(&fact)) counts->alike = {{1, {0, 1}}};
  return fact;
}

template <std::size_t... I>
std::vector<event_log::Record> one_of_every_kind(std::index_sequence<I...> /*kinds*/) {
  return {event_log::Record{least_fact<I>(), {}}...};
}

TEST(EventLog, EveryKindOfFactComesBackAsThatKind) {
  constexpr std::size_t kKinds = std::variant_size_v<event_log::Fact>;
  auto log =
      test::read_log(test::log_of_run(test::random_trace(3), test::small_cases().front(), Stepping::kFast));
  log.header.replicas = 2;
  log.records = one_of_every_kind(std::make_index_sequence<kKinds>());
  const auto read = test::read_log(test::write_log(log));
  ASSERT_EQ(read.records.size(), kKinds);
  std::set<std::string> names;
  for (std::size_t i = 0; i < kKinds; ++i) {
    ASSERT_NE(event_log::kFactNames[i], nullptr) << i;
    EXPECT_EQ(read.records[i].fact.index(), i) << event_log::kFactNames[i];
    EXPECT_TRUE(names.insert(event_log::kFactNames[i]).second) << event_log::kFactNames[i];
  }
}

std::string small_log() {
  return test::log_of_run(test::random_trace(5), test::small_cases().front(), Stepping::kFast);
}

TEST(EventLog, EveryCutAndEveryFlippedByteIsNoticed) {
  const std::string bytes = small_log();
  ASSERT_EQ(error_of(bytes), "");
  for (std::size_t i = 0; i < bytes.size(); i += i < 200 ? 1 : 37) {
    EXPECT_NE(error_of(bytes.substr(0, i)), "") << "truncated at byte " << i;
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    EXPECT_NE(error_of(flipped), "") << "flipped byte " << i;
  }
  EXPECT_NE(error_of(bytes + "x"), "");
}

TEST(EventLog, ErrorsSayWhere) {
  EXPECT_EQ(error_of(""), "a.kve: byte 0: the file ends within its first 8 bytes; expected an event log");
  EXPECT_EQ(error_of("{\"a\": 1234567890}"),
            "a.kve: byte 0: expected an event log (.kve), found other first bytes");
  const std::string bytes = small_log();
  EXPECT_EQ(error_of(bytes.substr(0, 12)),
            "a.kve: byte 8: the file ends within a frame; expected more frames up to TAIL");

  auto log = test::read_log(bytes);
  log.header.alloc_unit_tokens = 0;
  EXPECT_EQ(error_of(test::write_log(log)),
            "a.kve: byte 8: quantum_tokens: expected 1 to 2147483648, found 0");
  log = test::read_log(bytes);
  log.header.alloc_units = std::int64_t{1} << 31;
  log.header.alloc_unit_tokens = std::int64_t{1} << 31;
  EXPECT_NE(error_of(test::write_log(log)).find("capacity_bytes: expected room for all allocation units"),
            std::string::npos);
  log = test::read_log(bytes);
  log.records[0].fact = event_log::Chunk{1_r, 0, -3};
  EXPECT_NE(error_of(test::write_log(log)).find("facts[0].chunk.tokens: expected 1 to 2147483648, found -3"),
            std::string::npos);
  log.records[0].fact = event_log::StepRun{0, 5, -4, 3};
  EXPECT_NE(error_of(test::write_log(log)).find("facts[0].steps.growth: "), std::string::npos);
}

TEST(EventLog, AFrameThatPromisesMoreThanAFrameMayHaveIsRefused) {
  std::string bytes = small_log().substr(0, 8);
  bytes += "EVTS";
  bytes += std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 8);
  bytes += std::string(400, '\0');
  EXPECT_NE(error_of(bytes).find("at most 2097152 are read"), std::string::npos);
}

TEST(EventLog, AFileAppearsWholeOrNotAtAll) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("kvplan_log_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const event_log::Header header{.writer = "test",
                                 .alloc_unit_tokens = 16,
                                 .token_bytes = 1,
                                 .capacity_bytes = 320,
                                 .alloc_units = 19,
                                 .allocator = "paged",
                                 .scenario = {},
                                 .trace_digest = {}};
  const std::string path = (folder / "a.kve").string();
  {
    auto writer = io::EventLogFile::create(path, header);
    ASSERT_TRUE(writer.ok());
    writer.value()->add({event_log::End{0}, {}});
  }
  EXPECT_TRUE(fs::is_empty(folder));
  {
    auto writer = io::EventLogFile::create(path, header);
    ASSERT_TRUE(writer.ok());
    writer.value()->add({event_log::End{0}, {}});
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(writer.value()->close().ok());
  }
  auto reader = event_log::Reader::open(path);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader.value()->header().alloc_units, 19);
  fs::remove_all(folder);
  EXPECT_FALSE(event_log::Reader::open(path).ok());
  const auto nowhere = io::EventLogFile::create((folder / "b" / "c.kve").string(), header);
  ASSERT_FALSE(nowhere.ok());
  const auto full = io::EventLogFile::create("/dev/full", header);
  ASSERT_TRUE(full.ok());
  full.value()->add({event_log::End{0}, {}});
  EXPECT_FALSE(full.value()->close().ok());
}

}  // namespace
}  // namespace kvplan
