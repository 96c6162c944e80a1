// Bailian: ids of content are chained, chats become sessions.
#include <gtest/gtest.h>

#include <map>

#include "simulator/base/random.h"
#include "tests/unit/traces/support.h"

namespace kvplan::traces {
namespace {

using testing::import_error;
using testing::imported;

using Ids = std::vector<std::uint32_t>;
using Counts = std::vector<std::int32_t>;

std::string row(std::int64_t chat, std::int64_t parent, const std::string& time, std::int64_t input,
                const std::string& ids) {
  return "{\"chat_id\": " + std::to_string(chat) + ", \"parent_chat_id\": " + std::to_string(parent) +
         ", \"timestamp\": " + time + ", \"input_length\": " + std::to_string(input) +
         ", \"output_length\": 9, \"type\": \"text\", \"turn\": 1, \"hash_ids\": [" + ids + "]}\n";
}

TEST(Bailian, SecondsAndBlocksOf16) {
  const Trace trace = imported(row(5, -1, "61.114", 40, "7, 8, 9") + row(6, -1, "61.5", 16, "7"));
  EXPECT_EQ(trace.provenance.format, "bailian");
  EXPECT_EQ(trace.arrival_ns, (std::vector<std::int64_t>{61'114'000'000, 61'500'000'000}));
  EXPECT_EQ(trace.prefix.block_tokens, 16);
  EXPECT_TRUE(trace.prefix.last_may_be_partial);
  EXPECT_EQ(trace.prefix.ids, (Ids{0, 1, 2, 0}));
  EXPECT_TRUE(trace.provenance.warnings.empty());
}

TEST(Bailian, TheSameContentBehindAnotherPrefixIsAnotherBlock) {
  // 7 after 8, 7 after 7, and 7 at the start are three blocks; the ids of the file are not chained.
  const Trace trace = imported(row(1, -1, "0", 48, "7,7,8") + row(2, -1, "1", 48, "8,7,8") +
                               row(3, -1, "2", 48, "7,7,8") + row(4, -1, "3", 32, "7,8"));
  EXPECT_EQ(trace.prefix.ids, (Ids{0, 1, 2, 3, 4, 5, 0, 1, 2, 0, 6}));
  EXPECT_TRUE(trace.provenance.warnings.empty()) << "chained: nothing to warn of";
}

TEST(Bailian, ChainsAreThoseOfWholePrefixes) {
  // Compared with the definition: one id for each list of contents from the start of a prompt.
  Random random(3, "bailian");
  std::string text;
  std::map<std::vector<std::uint64_t>, std::uint32_t> known;
  Ids wanted;
  for (int r = 0; r < 300; ++r) {
    std::vector<std::uint64_t> prefix;
    std::string ids;
    const auto blocks = static_cast<std::int64_t>(1 + random.below(6));
    for (std::int64_t b = 0; b < blocks; ++b) {
      prefix.push_back(random.below(3) + (random.below(2) == 0 ? 0 : 18446744073709551000ULL));
      ids += (ids.empty() ? "" : ",") + std::to_string(prefix.back());
      wanted.push_back(known.emplace(prefix, static_cast<std::uint32_t>(known.size())).first->second);
    }
    text += row(r, -1, std::to_string(r), 16 * blocks, ids);
  }
  const Trace trace = imported(text);
  EXPECT_EQ(trace.prefix.ids, wanted);
  EXPECT_EQ(trace.prefix.distinct, static_cast<std::int64_t>(known.size()));
}

TEST(Bailian, AChainOfChatsIsASession) {
  const Trace trace =
      imported(row(10, -1, "0", 16, "1") + row(11, -1, "1", 16, "2") + row(12, 10, "2", 32, "1,3") +
               row(13, 12, "3", 48, "1,3,4") + row(15, 99, "4", 16, "5") + row(16, 15, "5", 16, "5"));
  EXPECT_EQ(trace.session_names, (std::vector<std::string>{"10", "11", "99"}));
  EXPECT_EQ(trace.session, (Counts{0, 1, 0, 0, 2, 2}));
}

TEST(Bailian, AnotherBlockCanBeGiven) {
  ImportOptions options;
  options.block_tokens = 32;
  EXPECT_EQ(imported(row(1, -1, "0", 40, "7, 8"), options).prefix.block_tokens, 32);
}

TEST(Bailian, ErrorsSayWhereAndWhatWasExpected) {
  const std::string good = row(1, -1, "0", 16, "1");
  EXPECT_EQ(import_error(good + row(-5, -1, "0", 16, "1")),
            "t:2: chat_id: expected a whole number of at least 0, found \"-5\"");
  EXPECT_EQ(import_error(good + row(2, -2, "0", 16, "1")),
            "t:2: parent_chat_id: expected a whole number of at least -1, found \"-2\"");
  EXPECT_EQ(import_error(good + row(2, 1, "0", 16, "1,2")),
            "t:2: hash_ids: 2 ids for a prompt of 16 tokens; expected at most 1 with blocks of 16 tokens "
            "(--block changes the block size)");
  EXPECT_EQ(
      import_error(good +
                   "{\"parent_chat_id\": 1, \"timestamp\": 1, \"input_length\": 1, \"output_length\": 1}\n"),
      "t:2: chat_id: expected a whole number, found nothing");
  EXPECT_EQ(import_error(good + "{\"chat_id\": {}, \"timestamp\": 1}\n").substr(0, 14), "t:2: chat_id: ");
}

TEST(Bailian, ContentIdsInAnyTable) {
  ImportOptions options;
  options.format = "jsonl";
  options.map = "arrival=t:s,input=i,output=o,hashes=h,block=4,ids=content";
  const Trace trace =
      imported("{\"t\":0,\"i\":8,\"o\":1,\"h\":[5,5]}\n{\"t\":1,\"i\":8,\"o\":1,\"h\":[5,6]}\n", options);
  EXPECT_EQ(trace.prefix.ids, (Ids{0, 1, 0, 2}));
  EXPECT_EQ(trace.provenance.options.front(), "map=" + options.map);
  options.map = "arrival=t:s,input=i,output=o,hashes=h,block=4,ids=other";
  EXPECT_EQ(import_error("{\"t\":0,\"i\":8,\"o\":1,\"h\":[5,5]}\n", options),
            "--map: ids: expected content or chained, found \"other\"");
}

}  // namespace
}  // namespace kvplan::traces
