// ShareGPT conversations: one request per answer, lengths estimated from texts.
#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"

namespace kvplan::traces {
namespace {

using testing::import_error;
using testing::imported;
using testing::run_kvplan;

using Times = std::vector<std::int64_t>;
using Counts = std::vector<std::int32_t>;

const std::string kEstimate =
    "Lengths are estimated from the texts, one token per 4 bytes of UTF-8; a tokenizer gives different "
    "lengths.";
const std::string kNoTimes =
    "Conversations have no times: all requests arrive at 0, so rates and waiting times are meaningless.";

TEST(ShareGpt, EveryAnswerIsARequestAfterAllBeforeIt) {
  // 5 + 1 bytes in "héllo" (6), 4, 3; the emoji is 4 bytes from a pair of escapes.
  const Trace trace = imported(R"([{"id": "a_0", "conversations": [
    {"from": "human", "value": "h\u00e9llo"},
    {"from": "gpt", "value": "y\n\"\\"},
    {"value": "\ud83d\ude00", "from": "human", "markdown": null},
    {"from": "gpt", "value": "123456789"}]},
  {"conversations": [{"from": "system", "value": "héllo"}, {"from": "gpt", "value": "1"}], "id": 7}])");
  EXPECT_EQ(trace.input_tokens, (Counts{2, 4, 2}));  // ceil of 6, 14, 6 bytes over 4
  EXPECT_EQ(trace.output_tokens, (Counts{1, 3, 1}));
  EXPECT_EQ(trace.arrival_ns, Times(3, 0));
  EXPECT_EQ(trace.session, (Counts{0, 0, 1}));
  EXPECT_EQ(trace.session_names, (std::vector<std::string>{"a_0", "7"}));
  EXPECT_FALSE(trace.shares_clock);
  EXPECT_EQ(trace.provenance.format, "sharegpt");
  EXPECT_EQ(trace.provenance.options, (std::vector<std::string>{"tokens=ceil(UTF-8 bytes/4)", "arrival=0"}));
  EXPECT_EQ(trace.provenance.warnings, (std::vector<std::string>{kEstimate, kNoTimes}));
}

TEST(ShareGpt, OddConversationsAreCounted) {
  const Trace trace = imported(
      R"([{"id":"x","conversations":[]},{"id":null,"conversations":[{"from":"gpt","value":"starts"},)"
      R"({"from":"bing","value":"1234"},{"from":"gpt","value":""}]},)"
      R"({"id":"y","conversations":[{"from":"human","value":"cut"}]}])");
  EXPECT_EQ(trace.input_tokens, (Counts{0, 3}));
  EXPECT_EQ(trace.output_tokens, (Counts{2, 0}));
  EXPECT_TRUE(trace.session.empty());
  EXPECT_EQ(trace.provenance.warnings,
            (std::vector<std::string>{kEstimate, kNoTimes,
                                      "2 of 3 conversations have no message from gpt and produce no request.",
                                      "1 of 4 messages come from senders other than human, gpt and system; "
                                      "they become part of the next prompt.",
                                      "1 of 2 requests have no input tokens; runs reject them.",
                                      "1 of 2 requests have no output tokens; runs reject them."}));
}

TEST(ShareGpt, ErrorsSayTheByteTheFieldAndWhatWasExpected) {
  const std::string good =
      R"({"id":"a","conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"r"}]})";
  const auto error = [&](const std::string& second, const std::string& at, const std::string& rest) {
    const std::string text = "[" + good + ",\n" + second + "]";
    EXPECT_EQ(import_error(text), "t: byte " + std::to_string(text.rfind(at)) + ": " + rest) << second;
  };
  const std::string message =
      "conversations: expected a message with the strings \"from\" and \"value\", found another value: ";
  error(R"({"id":"b"})", R"({"id":"b"})", "conversations: expected an array of messages, found none");
  error(R"({"conversations":"x"})", R"("x"})",
        "conversations: expected an array of messages, found another value: \"\"x\"}\"");
  error(R"({"conversations":[{"from":"gpt","value":5}]})", "5}]}", message + "\"5}]}\"");
  error(R"({"conversations":[{"from":"gpt","text":"x"}]})", "]}]", message + "\"]}\"");
  error(R"({"conversations":[[]]})", "[]]}", message + "\"[]]}\"");
  error("7", "7]",
        "expected a conversation (a JSON object with \"conversations\"), found another value: \"7\"");
  EXPECT_EQ(import_error("[" + good + "\n" + good),
            "t: byte " + std::to_string(good.size() + 2) +
                ": expected a comma or the end of the array, found "
                "\"{\"id\":\"a\",\"conversations\":[{\"from\":\"huma...\"");
  EXPECT_EQ(import_error("[" + good + "] more"),
            "t: byte " + std::to_string(good.size() + 3) + ": expected the end of the file, found \"more\"");
  EXPECT_EQ(import_error("[" + good),
            "t: byte " + std::to_string(good.size() + 1) +
                ": expected a comma or the end of the array, found the end of the file");
  EXPECT_EQ(import_error(R"([{"id":"x","conversations":[]}])"),
            "t: expected conversations with messages from \"gpt\", found none in 1 conversations");
  EXPECT_EQ(import_error("{}", {.format = "sharegpt", .map = "", .block_tokens = 0}),
            "t: byte 0: expected a JSON array, found \"{}\"");
}

TEST(ShareGpt, SeveralFilesFollowEachOther) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder.file("1"), R"([{"id":"a","conversations":[{"from":"gpt","value":"1"}]}])");
  testing::write_file(folder.file("2"), R"([{"id":"a","conversations":[{"from":"gpt","value":"1"}]}, 5])");
  const auto read = [&](const std::vector<std::string>& names) -> Result<Trace> {
    KVPLAN_TRY(const std::unique_ptr<TraceStream> stream, open_stream(names, {}));
    return collect(*stream);
  };
  const Result<Trace> twice = read({folder.file("1"), folder.file("1")});
  ASSERT_TRUE(twice.ok());
  EXPECT_EQ(twice.value().session, (Counts{0, 0}));
  EXPECT_EQ(twice.value().provenance.sources, (std::vector<std::string>{"1", "1"}));
  const Result<Trace> broken = read({folder.file("1"), folder.file("2")});
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().to_string(), folder.file("2") +
                                            ": byte 58: expected a conversation (a JSON object with "
                                            "\"conversations\"), found another value: \"5\"");
}

TEST(ShareGpt, StreamsInBoundedMemory) {
  const testing::TemporaryFolder folder;
  // 200,000 conversations, 300 MB of text on one line; the program has 96 MiB of address space.
  ASSERT_EQ(
      std::system(("cd '" + folder.path() +
                   "' && text=$(head -c 1400 /dev/zero | tr '\\0' x) && { printf '[{\"conversations\":[]}'; "
                   "seq 1 200000 | sed \"s/.*/,{\\\"id\\\":\\\"&\\\",\\\"conversations\\\":[{\\\"from\\\":"
                   "\\\"human\\\",\\\"value\\\":\\\"$text\\\"},{\\\"from\\\":\\\"gpt\\\",\\\"value\\\":"
                   "\\\"ok\\\"}]}/\" | tr -d '\\n'; printf ']'; } | gzip -1 > c.gz")
                      .c_str()),
      0);
  const testing::Outcome import =
      run_kvplan("trace import '" + folder.file("c.gz") + "' -o '" + folder.file("c.kvt") + "'", 96);
  EXPECT_EQ(import.exit_code, 0) << import.err;
  EXPECT_NE(import.err.find("200,000 requests from sharegpt"), std::string::npos) << import.err;
}

}  // namespace
}  // namespace kvplan::traces
