// Attention rows as JSON: what is accepted, and one line for each error.
#include <gtest/gtest.h>

#include "simulator/io/attention_json.h"

namespace kvplan::io {
namespace {

std::string error_of(const std::string& text) {
  const auto parsed = parse_attention_json(text, "x.json");
  return parsed.ok() ? "" : parsed.error().to_string();
}

std::string with_rows(const std::string& rows) {
  return "{\"query_heads\": 1, \"kv_heads\": 1, \"T\": 2,\n \"rows\": " + rows + "}";
}

TEST(AttentionJson, Accepts) {
  EXPECT_EQ(error_of(with_rows("[[[1.0], [0.5, 0.5]]]")), "");
  // Any order, whole numbers, other keys of any kind.
  EXPECT_EQ(error_of(R"({"note": {"a": [1, {}]}, "rows": [[[1]]], "T": 1, "query_heads": 1})"), "");
  const auto parsed = parse_attention_json(with_rows("[[[1.0], [0.25, 0.75]]]"), "x.json");
  ASSERT_TRUE(parsed.ok());
  auto rows = parsed.value()->open(0, 0);
  ASSERT_TRUE(rows.ok() && rows.value()->seek(1).ok());
  EXPECT_EQ(rows.value()->row(0).f64[1], 0.75);
}

TEST(AttentionJson, RefusesWithLineAndField) {
  EXPECT_EQ(error_of(with_rows("[[[1.0], [0.5]]]")), "x.json:2: rows[0][1]: expected 2 weights, found 1");
  EXPECT_EQ(error_of(with_rows("[[[1.0], [0.5, 0.25, 0.25]]]")),
            "x.json:2: rows[0][1]: expected 2 weights, found more");
  EXPECT_EQ(error_of(with_rows("[[[1.0], [1.5, -0.5]]]")),
            "x.json:2: rows[0][1]: expected weights from 0 to 1, found 1.5 for token 0");
  EXPECT_EQ(error_of(with_rows("[[[1.0], [0.5, \"a\"]]]")), "x.json:2: rows[0][1][1]: expected a number");
  EXPECT_EQ(error_of(with_rows("[[[1.0]]]")), "x.json: rows[0]: expected 2 rows, as T says; found 1");
  EXPECT_EQ(error_of(with_rows("[]")), "x.json: rows: is missing");
  EXPECT_EQ(error_of(with_rows("[[[1.0], [0.5, 0.5]], [[1.0], [0.5, 0.5]]]")),
            "x.json: rows: expected 1 heads, as query_heads says; found 2");
  EXPECT_EQ(error_of(R"({"rows": [[[1]]], "T": 1})"), "x.json: query_heads: is missing");
  EXPECT_EQ(error_of(R"({"query_heads": -1, "rows": [[[1]]], "T": 1})"),
            "x.json:1: query_heads: expected a whole number from 1 to 1024");
  EXPECT_EQ(error_of(R"({"query_heads": 1, "rows": [[[1]]], "T": 99999999999999999999})"),
            "x.json:1: T: expected a whole number from 1 to 1048576");
  for (const std::string broken : {"", "[", "{", "{}", "[]", "null", "{\"rows\": [[[1,", "\xFF\xFE",
                                   "{\"T\": NaN}", "{\"query_heads\": 1, \"T\": 1, \"rows\": [[[NaN]]]}",
                                   "{\"query_heads\": 1, \"T\": 1, \"rows\": [[[1]]]} x",
                                   "{\"query_heads\": 1, \"T\": 1, \"rows\": [[[1]]]"}) {
    const std::string error = error_of(broken);
    EXPECT_EQ(error.substr(0, 6), "x.json") << broken << " -> " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(AttentionJson, EveryTruncationIsNoticed) {
  const std::string text = with_rows("[[[1.0], [0.25, 0.75]]]");
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_EQ(error_of(text.substr(0, length)).substr(0, 6), "x.json") << length;
}

TEST(OpenAttention, FilesThatAreNoRecordings) {
  const auto error = [](const std::string& path) {
    const auto opened = open_attention(path);
    return opened.ok() ? "" : opened.error().to_string();
  };
  EXPECT_EQ(error("no/such/file"), "no/such/file: cannot open: No such file or directory");
  EXPECT_EQ(error("/"), "/: expected a regular file");
  EXPECT_EQ(error(std::string(KVPLAN_SOURCE_DIR) + "/LICENSE").substr(0, 4),
            std::string(KVPLAN_SOURCE_DIR).substr(0, 4));
}

}  // namespace
}  // namespace kvplan::io
