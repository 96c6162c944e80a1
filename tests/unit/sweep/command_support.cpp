#include "tests/unit/sweep/command_support.h"

#include <gtest/gtest.h>

#include <sstream>

namespace kvplan::sweep {

const std::string kTrace = KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt";
const std::string kCases = kTrace +
                           " --set workload.limit=200 --vary 'memory.pool_tokens=20000..50000:10000'"
                           " --vary 'memory.allocator=paged;paged:block_tokens=12;contiguous:reserve=pow2'"
                           " --vary 'engine.max_seqs=8;64'";

std::string csv_of(const std::string& database) {
  const Outcome outcome = run_kvplan("report " + database + " --csv -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace kvplan::sweep
