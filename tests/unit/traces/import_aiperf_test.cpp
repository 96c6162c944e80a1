// AIPerf's generated agent sessions: rows are increments.
#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"

namespace kvplan::traces {
namespace {

using testing::import_error;
using testing::imported;
using Tokens = std::vector<std::int32_t>;

/// Two sessions of a group, one after the other in the file, and one that continues the first.
constexpr const char* kRows =
    R"({"session_id":"a","input_length":1536,"output_length":320,"hash_ids":[0,1,2],"timestamp":0.0,"group_id":4})"
    "\n"
    R"({"session_id":"a","input_length":768,"output_length":180,"hash_ids":[1000,1001],"delay":2450.5})"
    "\n"
    R"({"session_id":"a","input_length":10,"output_length":5,"hash_ids":[1002],"delay":1})"
    "\n"
    R"({"session_id":"b","input_length":1030,"output_length":7,"hash_ids":[0,1,7],"timestamp":0.0,"group_id":4})"
    "\n"
    R"({"session_id":"c","input_length":3000,"output_length":9,"hash_ids":[0,1,2,1000,1001],"timestamp":2,)"
    R"("group_id":4,"is_restart":true})"
    "\n";

TEST(ImportAiperf, AddsUpTheTurnsOfASession) {
  const Trace t = imported(kRows);
  EXPECT_EQ(t.provenance.format, "aiperf-agentic");
  EXPECT_EQ(t.input_tokens, (Tokens{1536, 1536 + 320 + 768, 1536 + 320 + 768 + 180 + 10, 1030, 3000}));
  EXPECT_EQ(t.output_tokens, (Tokens{320, 180, 5, 7, 9}));
  EXPECT_EQ(t.prefix.block_tokens, 512);
  EXPECT_EQ(t.prefix.offsets, (std::vector<std::uint64_t>{0, 3, 8, 14, 17, 22}));
  EXPECT_EQ(t.prefix.ids,
            (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 0, 1, 6, 0, 1, 2, 3, 4}));
  EXPECT_EQ(t.waits.request, (Tokens{1, 2}));
  EXPECT_EQ(t.waits.before, (Tokens{0, 1}));
  EXPECT_EQ(t.think_ns[1], 2'450'500'000);
  EXPECT_EQ(t.arrival_ns, (std::vector<std::int64_t>{0, 0, 0, 0, 2'000'000}));
}

TEST(ImportAiperf, ASessionIsNotEndless) {
  std::string text = kRows;
  text += R"({"session_id":"a","input_length":2147483000,"output_length":5,"hash_ids":[],"delay":1})";
  EXPECT_EQ(import_error(text),
            "t:6: input_length: more than 2147483647 tokens in the turns of a session together");
}

}  // namespace
}  // namespace kvplan::traces
