// The fast paths of the tables (values read in place, rows that look like the row before) compared with the slow paths,
// on random and hostile rows: both accept and refuse the same rows, with the same values and the same error.
//   CSV: a row of quoted fields is split first and has no fast path, so the same table is written in both forms.
//   JSON lines: a table that reads other keys too gives up its fast path.
#include <gtest/gtest.h>

#include "simulator/base/random.h"
#include "tests/support/random_cases.h"
#include "tests/unit/traces/support.h"
#include "traces/import/json_table.h"

namespace kvplan::traces {
namespace {

/// The whole trace, or the error.
std::string outcome_of(const Result<Trace>& result) {
  if (!result.ok()) return result.error().to_string();
  const Trace& trace = result.value();
  std::string out = std::to_string(trace.size()) + " rows, digest " + trace.digest;
  for (const std::string& warning : trace.provenance.warnings) out += "\n" + warning;
  return out;
}

std::string pick(Random& random, std::initializer_list<const char*> list) {
  return std::data(list)[random.below(list.size())];
}

/// A text for a number: plain, or anything else. `hostile`: one of this many is not plain.
std::string count_text(Random& random, std::uint64_t hostile) {
  if (!random.chance(1, hostile))
    return std::to_string(random.below(random.chance(1, 9) ? 2'000'000'000 : 20'000));
  return pick(random, {"",           "-1",       "+1",   "1.0",         "12.00",
                       "1.5",        "1e3",      "007",  "00000000012", "2147483647",
                       "2147483648", "99999999", "0x1",  "1 ",          " 1",
                       "x",          "NaN",      "null", "1_0",         "18446744073709551616",
                       "true"});
}

std::string time_text(Random& random, std::uint64_t hostile) {
  if (!random.chance(1, hostile)) {
    const std::string whole = std::to_string(random.below(random.chance(1, 4) ? 9'000'000'000 : 9'000));
    return random.chance(1, 2) ? whole : whole + "." + std::to_string(random.below(10'000'000));
  }
  return pick(random, {"", "-1", "0.0000000005", "1.123456789", "1e-3", "9223372036.854775807",
                       "9223372036854", "99999999999999999999", ".5", "5.", "1..2", "1.2.3", "12345678",
                       "123456789012345", "1234567890123456", "00000001.5", "1.50000000", "1.23456789"});
}

std::string date_text(Random& random, std::uint64_t hostile) {
  char text[64];
  std::snprintf(text, sizeof text, "2024-02-%02d %02d:%02d:%02d.%0*d",
                static_cast<int>(random.between(28, 29)), static_cast<int>(random.between(0, 23)),
                static_cast<int>(random.between(0, 59)), static_cast<int>(random.between(0, 59)),
                static_cast<int>(random.between(1, 8)), static_cast<int>(random.below(10)));
  std::string out = text;
  if (!random.chance(1, hostile)) return out;
  switch (random.below(3)) {
    case 0:
      out[random.below(out.size())] = "0:x -Z"[random.below(6)];
      return out;
    case 1:
      return out + pick(random, {"Z", "+00:00", "+02:00", "-0030", " UTC", "+00:0", "x", "Z1"});
    default:
      return out.substr(0, random.below(out.size()));
  }
}

/// A table, and the options with which it is read.
struct Table {
  std::string map;
  std::string plain;
  std::string quoted;
};

Table random_csv(std::uint64_t seed) {
  Random random(seed, "quick csv");
  const bool dates = random.chance(1, 2);
  // Most tables are valid for a while, so that errors are found after valid rows, and valid tables are complete.
  const std::uint64_t most = std::uint64_t{1} << (3 + 3 * random.below(4));
  const std::string unit = dates ? "iso" : pick(random, {"s", "ms", "us", "ns"});
  Table table;
  table.map = "arrival=a:" + unit + ",input=i,output=o,session=n,max_tokens=m,e2e=e:s";
  table.plain = table.quoted = "o,a,skipped,i,m,n,e\n";
  for (std::uint64_t rows = 1 + random.below(200); rows > 0; --rows) {
    // A row with too many or too few fields has no other fault: of two faults, each path may report another first.
    const bool wrong_size = random.chance(1, 4 * most);
    const std::uint64_t hostile = wrong_size ? UINT64_MAX : most;
    std::vector<std::string> fields{count_text(random, hostile),
                                    dates ? date_text(random, hostile) : time_text(random, hostile),
                                    pick(random, {"", "x", "12", "a b"}),
                                    count_text(random, hostile),
                                    random.chance(1, 3) ? "" : count_text(random, hostile),
                                    pick(random, {"", "s1", "s2", " s3 ", "4"}),
                                    random.chance(1, 3) ? "" : time_text(random, hostile)};
    if (wrong_size) fields.resize(random.below(2 * fields.size()) + 1, "1");
    for (std::size_t i = 0; i < fields.size(); ++i) {
      table.plain += (i == 0 ? "" : ",") + fields[i];
      table.quoted += (i == 0 ? "\"" : ",\"") + fields[i] + "\"";
    }
    const char* const end = random.chance(1, 9) ? "\r\n" : "\n";
    table.plain += end;
    table.quoted += end;
  }
  if (random.chance(1, 4)) {
    table.plain.pop_back();
    table.quoted.pop_back();
  }
  return table;
}

TEST(QuickRows, CsvAsFieldsInQuotes) {
  const std::int64_t cases = test::random_cases(3000);
  std::int64_t good = 0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(cases); ++seed) {
    const Table table = random_csv(seed);
    const ImportOptions options{.format = "csv", .map = table.map, .block_tokens = 0};
    const Result<Trace> quick = testing::import_text(table.plain, options);
    const Result<Trace> plain = testing::import_text(table.quoted, options);
    ASSERT_EQ(outcome_of(quick), outcome_of(plain)) << "seed " << seed;
    if (!quick.ok()) continue;
    testing::expect_same(quick.value(), plain.value());
    ++good;
  }
  EXPECT_GT(good, cases / 6);
  EXPECT_LT(good, cases * 5 / 6);
}

ColumnMap json_columns(bool with_ids) {
  ColumnMap map;
  map.at(Role::kArrival) = {{"t"}, TimeUnit::kMillis, true};
  map.at(Role::kInput) = {{"i"}, {}, true};
  map.at(Role::kOutput) = {{"o"}, {}, true};
  map.at(Role::kMaxTokens) = {{"m"}, {}, false};
  map.at(Role::kSession) = {{"s"}, {}, false};
  map.at(Role::kE2e) = {{"e"}, TimeUnit::kSeconds, false};
  if (with_ids) {
    map.at(Role::kHashes) = {{"h"}, {}, false};
    map.block_tokens = 4;
  }
  return map;
}

Result<Trace> read_json(const std::string& text, bool with_ids, JsonTable::OtherKeys keys) {
  KVPLAN_TRY(std::unique_ptr<ByteSource> source, open_memory(text, "t"));
  Inputs inputs;
  inputs.first = std::make_unique<Input>(std::move(source), "t");
  JsonTable table(std::move(inputs), json_columns(with_ids), "json", {}, keys);
  return collect(table);
}

/// A value that no column reads.
std::string other_text(Random& random, std::uint64_t hostile) {
  if (random.chance(1, 4 * hostile))
    return pick(random,
                {"tru", "\"a\tb\"", "[1,", "[1}", "", "\"", R"("\")", "5 6", "[1\n]", "+", "{,}", "nul l"});
  if (!random.chance(1, 3)) return pick(random, {"5", "7.25", "-1e5", "true", "null"});
  return pick(random, {R"("y")", R"("a\"b")", R"("\u00e9\\")", R"([1, {"t": "]"}])", "{ }", "[[], [\t]]",
                       R"("a text that is longer than eight bytes \" and than sixteen")", R"({"i":"5}"})"});
}

std::string random_json(std::uint64_t seed) {
  Random random(seed, "quick json");
  const std::uint64_t hostile = std::uint64_t{1} << (3 + 3 * random.below(4));
  const bool ids = random.chance(1, 2);
  const bool most = random.chance(1, 2);
  const bool quotes = random.chance(1, 3);
  const bool sessions = random.chance(1, 3);
  const auto value = [&](const std::string& text) { return quotes ? '"' + text + '"' : text; };
  std::string out;
  for (std::uint64_t rows = 1 + random.below(200); rows > 0; --rows) {
    std::string row =
        "{\"t\": " + value(time_text(random, hostile)) + ", \"i\": " + value(count_text(random, hostile));
    if (most) row += ", \"m\":" + count_text(random, hostile);
    if (sessions)
      row += R"(, "s": )" + pick(random, {R"("s1")", R"("a name of a session")", "7", R"("é")"}) +
             R"(, "e":1.)" + std::to_string(random.below(99));
    if (sessions && random.chance(1, 2 * hostile))
      row += R"(, "e": )" + pick(random, {R"("s\n")", "null", R"("\ud800")", "[]", R"("")", "1", "1e-1"});
    row += ", \"x\": " + other_text(random, hostile);
    if (ids) {
      row += ", \"h\": [";
      for (std::uint64_t k = random.below(4); k > 0; --k) {
        row += random.chance(1, 8 * hostile)
                   ? pick(random, {"x", "-1", "18446744073709551615", "18446744073709551616", "1.5", ""})
                   : std::to_string(random.below(random.chance(1, 2) ? 1'000 : UINT64_MAX));
        row += k == 1 ? "" : pick(random, {", ", ","});
      }
      row += ']';
    }
    row += ", \"o\": " + count_text(random, hostile) + "}";
    if (random.chance(1, 8 * hostile)) row.resize(random.below(row.size()));
    if (random.chance(1, 8 * hostile) && !row.empty())
      row[random.below(row.size())] = " ,:x\"]}1"[random.below(8)];
    out += row + (random.chance(1, 9) ? "\r\n" : "\n");
  }
  if (random.chance(1, 4)) out.pop_back();
  return out;
}

TEST(QuickRows, JsonLinesAsReadKeyByKey) {
  const std::int64_t cases = test::random_cases(3000);
  std::int64_t good = 0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(cases); ++seed) {
    const std::string text = random_json(seed);
    const bool with_ids = seed % 3 != 0;
    const Result<Trace> quick = read_json(text, with_ids, JsonTable::OtherKeys::kSkipped);
    const Result<Trace> plain = read_json(text, with_ids, JsonTable::OtherKeys::kRead);
    ASSERT_EQ(outcome_of(quick), outcome_of(plain)) << "seed " << seed;
    if (!quick.ok()) continue;
    testing::expect_same(quick.value(), plain.value());
    ++good;
  }
  EXPECT_GT(good, cases / 10);
  EXPECT_LT(good, cases * 9 / 10);
}

/// A whole number in one of its forms.
std::string written(Random& random, std::int64_t value) {
  const std::string text = std::to_string(value);
  return random.chance(1, 20) ? text + ".0" : random.chance(1, 20) ? '"' + text + '"' : text;
}

/// Rows of known values, written in every form that JSON allows on one line, are read back with these values. They are
/// long enough for the buffer to be filled many times.
TEST(QuickRows, JsonLinesAreReadBackAsWhatWasWritten) {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(test::random_cases(60)); ++seed) {
    Random random(seed, "written json");
    const std::vector<std::string> names{"s1", "a longer name of a session", "\u00e9\"", "tab\tand \\ back"};
    const std::vector<std::string> as_json{"s1", "a longer name of a session", R"(\u00e9\")",
                                           R"(tab\tand \\ back)"};
    const auto maybe = [&](const char* one, const char* other) { return random.chance(1, 2) ? one : other; };
    const std::string colon = maybe(": ", ":");
    const std::string comma = maybe(", ", ",");
    const std::string end = maybe("\n", "\r\n");
    std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
    for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
    std::vector<std::int64_t> arrival_ns, input, output;
    std::vector<std::string> session;
    std::vector<std::vector<std::uint64_t>> ids;
    std::string text;
    for (std::uint64_t rows = 20'000; rows > 0; --rows) {
      const std::int64_t us = static_cast<std::int64_t>(random.below(10'000'000'000));
      char ms[32];
      std::snprintf(ms, sizeof ms, "%lld.%03d", static_cast<long long>(us / 1000),
                    static_cast<int>(us % 1000));
      arrival_ns.push_back(us * 1000);
      ids.emplace_back(random.below(random.chance(1, 50) ? 300 : 5));
      input.push_back(static_cast<std::int64_t>(4 * ids.back().size() + random.below(2'000'000'000)));
      output.push_back(static_cast<std::int64_t>(random.below(1'000)));
      const std::size_t name = random.below(names.size());
      session.push_back(names[name]);
      std::string list;
      for (std::uint64_t& id : ids.back()) {
        id = random.chance(1, 9) ? random.below(UINT64_MAX) : random.below(5000);
        list += (list.empty() ? "" : comma) + std::to_string(id);
      }
      const std::string values[]{
          ms,
          written(random, input.back()),
          written(random, output.back()),
          '"' + as_json[name] + '"',
          '[' + list + ']',
          random.chance(1, 9) ? R"({"t": [1, "\"}"]})" : R"("r)" + std::to_string(rows) + '"'};
      constexpr const char* kKeys[]{"t", "i", "o", "s", "h", "request"};
      std::string row;
      for (const std::size_t k : order)
        row += (row.empty() ? "{\"" : comma + '"') + kKeys[k] + '"' + colon + values[k];
      text += row + "}" + end;
    }
    if (seed % 2 == 0) text.resize(text.size() - end.size());
    const Result<Trace> result = read_json(text, true, JsonTable::OtherKeys::kSkipped);
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    const Trace& trace = result.value();
    ASSERT_EQ(trace.arrival_ns, arrival_ns);
    std::vector<std::uint64_t> dense_to_id(static_cast<std::size_t>(trace.prefix.distinct), 0);
    std::size_t reference = 0;
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < input.size(); ++i) {
      ASSERT_EQ(trace.input_tokens[i], input[i]);
      ASSERT_EQ(trace.output_tokens[i], output[i]);
      ASSERT_EQ(trace.session_names[static_cast<std::size_t>(trace.session[i])], session[i]);
      for (const std::uint64_t id : ids[i]) {
        const std::uint32_t dense = trace.prefix.ids[reference++];
        if (dense == next) dense_to_id[next++] = id;
        ASSERT_LT(dense, next);
        ASSERT_EQ(dense_to_id[dense], id);
      }
      ASSERT_EQ(trace.prefix.offsets[i + 1], reference);
    }
  }
}

/// Values that end with the file, at the end of the buffer, or where the buffer was filled again.
TEST(QuickRows, NothingIsReadBeyondTheEndOfTheText) {
  for (std::size_t rows = 1; rows < 40'000; rows = rows * 3 + 1) {
    std::string text = "arrival_ns,input_tokens,output_tokens\n";
    for (std::size_t i = 0; i < rows; ++i) text += std::to_string(i) + ",7,1234567\n";
    for (const char* last : {"5,6,1", "5,6,12345678", "5,6,1\n\n", "5,6,1\r"}) {
      const Trace trace = testing::imported(text + last);
      ASSERT_EQ(trace.size(), static_cast<std::int64_t>(rows) + 1);
      EXPECT_EQ(trace.output_tokens.back(), std::string_view(last).size() > 8 ? 12345678 : 1);
      EXPECT_EQ(trace.arrival_ns.back(), 5);
    }
    EXPECT_EQ(testing::import_error(text + "5,6,"),
              "t:" + std::to_string(rows + 2) +
                  ": output_tokens: expected a whole number from 0 to 2147483647, found \"\"");
  }
}

}  // namespace
}  // namespace kvplan::traces
