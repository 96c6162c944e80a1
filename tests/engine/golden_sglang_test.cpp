// The drivers of SGLang against what the real one did (tests/golden/README.md has the definitions): every column of
// every row.
#include <gtest/gtest.h>

#include "simulator/drivers/sglang_seq.h"
#include "tests/support/golden.h"

namespace kvplan {
namespace {

const std::string kGolden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/";

const traces::Trace& micro() {
  static const traces::Trace trace = test::read_mooncake(kGolden + "engines/micro_trace.jsonl");
  return trace;
}

TEST(GoldenSglang, Seq) {
  for (const std::int64_t page : {1, 16}) {
    drivers::CacheOptions options;
    options.block_tokens = page;
    options.pool_tokens = 32768;
    drivers::Tables tables;
    ASSERT_TRUE(drivers::kSglangSeq.run(micro(), options, tables).ok());
    test::expect_table(kGolden + "engines/sgl_micro_p" + std::to_string(page) + "_s32768.csv.gz",
                       tables.requests);
  }
}

}  // namespace
}  // namespace kvplan
