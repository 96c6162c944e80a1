// Headers of event logs, and the facts that they allow.
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
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

TEST(EventLog, HeadersOfMemoryInBytes) {
  const auto cases = test::small_cases();
  const auto pages =
      std::find_if(cases.begin(), cases.end(), [](const LogCase& c) { return c.name == "pages_mixed"; });
  ASSERT_NE(pages, cases.end());
  const auto log = test::read_log(test::log_of_run(test::random_trace(5), *pages, Stepping::kFast));
  EXPECT_EQ(log.header.table_form, event_log::TableForm::kPages);
  EXPECT_EQ(log.header.page_bytes, 65536);
  EXPECT_EQ(log.header.rows, (std::vector<event_log::TokenRow>{{6144, 2}, {8192, 1}}));
  const auto error_with = [&](auto change) {
    auto changed = log;
    change(changed.header);
    return error_of(test::write_log(changed));
  };
  using event_log::Header;
  EXPECT_EQ(error_with([](Header&) {}), "");
  EXPECT_EQ(error_with([](Header& h) { h.page_bytes = 0; }),
            "a.kve: byte 8: page_bytes: expected 1 to 4611686018427387904, found 0");
  EXPECT_NE(error_with([](Header& h) { h.rows.clear(); }).find("rows: expected 1 to 16384, found 0"),
            std::string::npos);
  EXPECT_NE(error_with([](Header& h) {
              ++h.rows.front().bytes;
            }).find("rows: expected tensor rows that add up to the bytes of a token"),
            std::string::npos);
  EXPECT_NE(error_with([](Header& h) { ++h.odd_alloc_unit_bytes; }).find("rows: expected tensor rows"),
            std::string::npos);
  EXPECT_NE(error_with([](Header& h) {
              h.returns_alloc_units = true;
            }).find("table_form: when memory is allocated in bytes, expected allocation units of 1 token"),
            std::string::npos);
  EXPECT_NE(error_with([](Header& h) {
              h.capacity_bytes = h.alloc_units * h.odd_alloc_unit_bytes - 1;
            }).find("capacity_bytes: expected room for all allocation units"),
            std::string::npos);
  // None of these fields may be set in a log of whole tokens.
  EXPECT_NE(error_with([](Header& h) {
              h.table_form = event_log::TableForm::kTokens;
            }).find("odd_quantum_bytes: expected 0 to 0"),
            std::string::npos);
}

/// The last of seven layers: a stage without layers of most groups.
TEST(EventLog, HeadersOfGroups) {
  const auto cases = test::small_cases();
  const auto stage =
      std::find_if(cases.begin(), cases.end(), [](const LogCase& c) { return c.name == "groups_stage"; });
  ASSERT_NE(stage, cases.end());
  const auto log = test::read_log(test::log_of_run(test::random_trace(5), *stage, Stepping::kFast));
  const auto error_with = [&](auto change) {
    auto changed = log;
    change(changed.header);
    return error_of(test::write_log(changed));
  };
  using event_log::Header;
  EXPECT_EQ(error_with([](Header&) {}), "");
  EXPECT_TRUE(std::any_of(log.header.groups.begin(), log.header.groups.end(),
                          [](const event_log::LayerGroup& group) { return group.layers == 0; }));
  EXPECT_EQ(error_with([](Header& h) {
              for (event_log::LayerGroup& group : h.groups) group.layers = 0;
            }),
            "a.kve: byte 8: groups: expected a group with layers");
  EXPECT_NE(error_with([](Header& h) { h.groups.front().layers = -1; }).find("groups.layers: expected 0 to "),
            std::string::npos);
  EXPECT_NE(
      error_with([](Header& h) { h.groups.front().layers = 1000; }).find("token_bytes: expected a multiple"),
      std::string::npos);
  EXPECT_NE(error_with([](Header& h) {
              h.returns_alloc_units = false;
            }).find("groups: expected blocks without retention schedules"),
            std::string::npos);
}

const LogCase& case_named(const std::vector<LogCase>& cases, const std::string& name) {
  const auto found =
      std::find_if(cases.begin(), cases.end(), [&](const LogCase& c) { return c.name == name; });
  KVPLAN_CHECK(found != cases.end());
  return *found;
}

/// The message of the first frame.
v1::EventLogHeader header_message(const std::string& bytes) {
  const std::string_view head = std::string_view(bytes).substr(event_log::kMagic.size(), frame::kHeadBytes);
  const frame::Head first = frame::parse_head(head);
  const std::string_view stored =
      std::string_view(bytes).substr(event_log::kMagic.size() + frame::kHeadBytes, first.stored_bytes);
  std::string message;
  v1::EventLogHeader header;
  EXPECT_TRUE(frame::unpack(first, stored, message).ok());
  EXPECT_TRUE(header.ParseFromString(message));
  return header;
}

TEST(EventLog, AVersionIsTheFirstThatHasWhatTheLogSays) {
  const auto cases = test::small_cases();
  for (const auto& [name, version] : std::vector<std::pair<const char*, std::uint32_t>>{
           {"paged_cached", 1},  {"window", 1},          {"courses_reuse", 1},  {"growing", 1},
           {"pages", 2},         {"tensors", 2},         {"nothing", 3},        {"groups", 4},
           {"counted", 5},       {"moved_layers", 5},    {"tables_holes", 6},   {"tables_reuse", 6},
           {"tables_alike", 6},  {"tables_moved", 6},    {"sglang", 7},         {"sglang_without_tree", 7},
           {"priority", 9},      {"groups_found", 10},   {"courses_found", 11}, {"ranks_holes", 12},
           {"ranks_tables", 12}, {"sglang_answers", 13}, {"groups_states", 14}}) {
    const std::string bytes =
        test::log_of_run(test::random_trace(5), case_named(cases, name), Stepping::kFast);
    v1::EventLogHeader header = header_message(bytes);
    EXPECT_EQ(header.version(), version) << name;
    header.set_version(event_log::kVersion + 1);
    const std::string later =
        std::string(event_log::kMagic) + frame::make(event_log::kHead, header.SerializeAsString());
    EXPECT_EQ(error_of(later), "a.kve: byte 8: version: expected 1 to 14, found 15");
  }
}

TEST(EventLog, HeadersAndFactsOfSurvivorsThatMove) {
  const auto cases = test::small_cases();
  const auto log = test::read_log(
      test::log_of_run(test::random_trace(5), case_named(cases, "counted_layers"), Stepping::kFast));
  EXPECT_TRUE(log.header.compacts && log.header.counted);
  EXPECT_EQ(log.header.track_units, (std::vector<std::int32_t>{1, 1, 1, 1, 1}));
  const auto error_with = [&](auto change) {
    auto changed = log;
    change(changed);
    return error_of(test::write_log(changed));
  };
  using test::WholeLog;
  EXPECT_EQ(error_with([](WholeLog&) {}), "");
  const std::string refused =
      "a.kve: byte 8: compacts: expected retention schedules in blocks, without slot reuse, when compaction "
      "is on";
  EXPECT_EQ(error_with([](WholeLog& l) { l.header.reuse = true; }), refused);
  EXPECT_EQ(error_with([](WholeLog& l) { l.header.track_units.clear(); }), refused);
  EXPECT_EQ(error_with([](WholeLog& l) { l.header.compacts = false; }), refused);
  const auto with_counts = [&](event_log::AlikeTracks alike) {
    return error_with([&](WholeLog& l) { l.records[0].fact = event_log::Counts{0_r, {std::move(alike)}}; });
  };
  EXPECT_EQ(with_counts({1, {0, 1}}), "");
  const auto refuses = [](const std::string& error, const std::string& why) {
    EXPECT_NE(error.find("facts[0].counts.alike." + why), std::string::npos) << error;
  };
  refuses(with_counts({0, {0, 1}}), "tracks: expected 1 to 16384, found 0");
  refuses(with_counts({1, {0, 1, 5}}), "runs: expected 0 to 0, found 1");
  refuses(with_counts({1, {0, 0}}), "runs: expected 1 to 2147483647, found 0");
  refuses(with_counts({1, {-1, 3}}), "runs: expected 0 to 2147483647, found -1");
  EXPECT_NE(error_with([&](WholeLog& l) {
              l.records[0].fact = event_log::Compact{0_r, -1, 0, 0};
            }).find("facts[0].compact.slots: expected 0 to 2147483648, found -1"),
            std::string::npos);
}

TEST(EventLog, HeadersOfCoursesThatFindPrefixes) {
  const auto cases = test::small_cases();
  const std::string bytes =
      test::log_of_run(test::random_trace(5), case_named(cases, "courses_found"), Stepping::kFast);
  const auto error_with = [&](const std::function<void(v1::EventLogHeader&)>& change) {
    v1::EventLogHeader header = header_message(bytes);
    change(header);
    return error_of(std::string(event_log::kMagic) +
                    frame::make(event_log::kHead, header.SerializeAsString()));
  };
  const std::string expected =
      "a.kve: byte 8: prefix_cache: expected no prefix cache with retention schedules, unless they leave "
      "holes in blocks of one table";
  EXPECT_EQ(error_with([](v1::EventLogHeader& header) { header.set_reuse(true); }), expected);
  EXPECT_EQ(error_with([](v1::EventLogHeader& header) { header.set_compacts(true); }), expected);
  EXPECT_EQ(error_with([](v1::EventLogHeader& header) { header.set_returns_quanta(false); }), expected);
  EXPECT_NE(error_with([](v1::EventLogHeader&) {}), expected);
}

TEST(EventLog, HeadersAndFactsOfTrees) {
  const auto cases = test::small_cases();
  const auto log = test::read_log(
      test::log_of_run(test::random_trace(5), case_named(cases, "sglang_pages"), Stepping::kFast));
  EXPECT_TRUE(log.header.rules.prefills_apart && log.header.tree && log.header.unnumbered);
  EXPECT_FALSE(log.header.prefix_cache);
  EXPECT_EQ(log.header.id_tokens, 32);
  const auto error_with = [&](auto change) {
    auto changed = log;
    change(changed);
    return error_of(test::write_log(changed));
  };
  using test::WholeLog;
  EXPECT_EQ(error_with([](WholeLog&) {}), "");
  EXPECT_EQ(error_with([](WholeLog& l) { l.header.prefix_cache = true; }),
            "a.kve: byte 8: prefills_apart: expected blocks that are not inserted into the prefix cache, "
            "without retention schedules or layer groups, when prefill batches are separate");
  EXPECT_EQ(error_with([](WholeLog& l) { l.header.rules.prefills_apart = l.header.unnumbered = false; }),
            "a.kve: byte 8: tree: expected a radix tree only when prefill batches are separate");
  EXPECT_EQ(error_with([](WholeLog& l) { l.header.tree = false; }),
            "a.kve: byte 8: id_tokens: expected 0 without a radix tree, found 32");
  EXPECT_EQ(error_with([](WholeLog& l) { l.header.id_tokens = -1; }),
            "a.kve: byte 8: id_tokens: expected 0 to 2147483648, found -1");
  const auto refuses = [&](event_log::Fact fact, const std::string& why) {
    const std::string error = error_with([&](WholeLog& l) { l.records[0].fact = std::move(fact); });
    EXPECT_NE(error.find(why), std::string::npos) << error;
  };
  refuses(event_log::Settle{0_r, -1}, "facts[0].settle.tokens: expected 0 to 2147483648, found -1");
  refuses(event_log::Reclaim{0, -1}, "facts[0].reclaim.pages: expected 0 to 2147483648, found -1");
  refuses(event_log::Admit{0_r, {}, {}, -1},
          "facts[0].admit.found_pages: expected 0 to 2147483648, found -1");
  refuses(event_log::Admit{0_r, {}, {}, 0, -1},
          "facts[0].admit.found_blocks: expected 0 to 2147483648, found -1");
  refuses(event_log::Arrival{0, 0_r, 1, 1, true, -1},
          "facts[0].arrival.prefix_ids: expected 0 to 2147483647, found -1");
  refuses(event_log::PrefixIds{0_r, std::vector<std::uint32_t>(32769)},
          "facts[0].prefix_ids.ids: expected 0 to 32768, found 32769");
}

TEST(EventLog, HeadersOfSeveralTables) {
  const auto cases = test::small_cases();
  const auto log = test::read_log(
      test::log_of_run(test::random_trace(5), case_named(cases, "tables_counted"), Stepping::kFast));
  EXPECT_EQ(log.header.tables, 5);
  EXPECT_EQ(log.header.entry_bytes, 4);
  const auto error_with = [&](auto change) {
    auto changed = log;
    change(changed.header);
    return error_of(test::write_log(changed));
  };
  using event_log::Header;
  EXPECT_EQ(error_with([](Header&) {}), "");
  const std::string refused =
      "a.kve: byte 8: tables: expected retention schedules in blocks, and the same number of token groups in "
      "each of the ";
  EXPECT_EQ(error_with([](Header& h) { h.tables = 3; }), refused + "3 tables");
  EXPECT_EQ(error_with([](Header& h) {
              h.track_units.back() = 2;
              h.token_bytes *= 6;
              h.capacity_bytes *= 6;
            }),
            refused + "5 tables");
  EXPECT_EQ(
      error_with([](Header& h) { h.tables = 1; }),
      "a.kve: byte 8: tables: expected blocks with ids and no other memory when a request has one table");
  EXPECT_NE(error_with([](Header& h) { h.entry_bytes = 1 << 20; }).find("capacity_bytes: expected room"),
            std::string::npos);
}

TEST(EventLog, HeadersByPriority) {
  const auto [header, records] = test::hand_made_priority_log();
  const std::string bytes = test::write_log({header, records});
  EXPECT_EQ(header_message(bytes).version(), 9U);
  EXPECT_TRUE(test::write_log(test::read_log(bytes)) == bytes);
  event_log::Header courses = header;
  courses.track_units = {1};
  EXPECT_EQ(error_of(test::write_log({courses, records})),
            "a.kve: byte 8: by_priority: expected no retention schedules, no layer groups, and prefills "
            "mixed with decodes, with policy=priority");
}

TEST(EventLog, HeadersAndFactsOfSeveralReplicas) {
  const auto [header, records] = test::hand_made_fleet_log();
  const test::WholeLog log{header, records};
  const std::string bytes = test::write_log(log);
  EXPECT_EQ(header_message(bytes).version(), 8U);
  EXPECT_TRUE(test::write_log(test::read_log(bytes)) == bytes);
  const auto error_with = [&, &from = log](auto change) {
    auto changed = from;
    change(changed);
    return error_of(test::write_log(changed));
  };
  using test::WholeLog;
  EXPECT_EQ(error_with([](WholeLog&) {}), "");
  EXPECT_EQ(error_with([](WholeLog& l) { l.header.replicas = 20'000; }),
            "a.kve: byte 8: replicas: expected 0 to 16384, found 20000");
  EXPECT_EQ(error_with([](WholeLog& l) { l.header.capacity_bytes = event_log::kMostBytes; }),
            "a.kve: byte 8: replicas: expected replicas with at most 4611686018427387904 bytes in total, "
            "found 4611686018427387904 bytes of each of 2");
  const auto refuses = [&](auto change, const std::string& why) {
    const std::string error = error_with(change);
    EXPECT_NE(error.find(why), std::string::npos) << error;
  };
  refuses([](WholeLog& l) { l.records[2].replica = 2; }, "facts[2].replica: expected 0 to 1, found 2");
  refuses([](WholeLog& l) { l.records[2].replica = -1; }, "facts[2].replica: expected 0 to 1, found -1");
  refuses([](WholeLog& l) { l.records.back().replica = 1; }, ".replica: expected 0 to 0, found 1");
  refuses([](WholeLog& l) { l.records[0].fact = event_log::TickEnd{-1}; },
          "facts[0].tick_end.time: expected 0 to ");
  refuses([](WholeLog& l) { l.records[0].fact = event_log::FleetEnd{-1}; },
          "facts[0].fleet_end.time: expected 0 to ");
  refuses([](WholeLog& l) { l.records.back().claims.joint_peak.time = -1; },
          ".claim.joint_peak.time: expected 0 to ");
  refuses([](WholeLog& l) { l.records.back().claims.joint_peak.hole_bytes = -1; },
          ".claim.joint_peak.hole_bytes: expected 0 to ");
  refuses([](WholeLog& l) { l.records[0].fact = event_log::HoldBack{kNoRequest}; },
          "facts[0].hold_back.request: expected 0 to ");
  // A log of one replica must have none of these.
  refuses([](WholeLog& l) { l.header.replicas = 1; }, "facts[1].replica: expected 0 to 0, found 1");
  auto alone = test::hand_made_log();
  alone.second.insert(alone.second.begin(), {event_log::TickEnd{0}, {}});
  EXPECT_NE(error_of(test::write_log({alone.first, alone.second}))
                .find("facts[0].kind: expected no events for all replicas when there is only one"),
            std::string::npos);
}

TEST(EventLog, HeadersWhereNothingIsKept) {
  const auto cases = test::small_cases();
  const auto nothing =
      std::find_if(cases.begin(), cases.end(), [](const LogCase& c) { return c.name == "nothing"; });
  ASSERT_NE(nothing, cases.end());
  const auto log = test::read_log(test::log_of_run(test::random_trace(5), *nothing, Stepping::kFast));
  EXPECT_EQ(log.header.table_form, event_log::TableForm::kNothing);
  EXPECT_EQ(log.header.alloc_units * log.header.odd_alloc_unit_bytes, 900 * 7);
  EXPECT_TRUE(log.header.rows.empty());
  for (const auto& record : log.records) {
    EXPECT_FALSE(std::holds_alternative<event_log::Grant>(record.fact));
    if (record.claims.has_totals) {
      EXPECT_EQ(record.claims.totals, (event_log::Totals{0, 0, 0, 0, 0, 0, 0, 0, 0, 6300}));
    }
  }
  const auto error_with = [&](auto change) {
    auto changed = log;
    change(changed.header);
    return error_of(test::write_log(changed));
  };
  using event_log::Header;
  EXPECT_EQ(error_with([](Header&) {}), "");
  EXPECT_EQ(error_with([](Header& h) { ++h.capacity_bytes; }),
            "a.kve: byte 8: quanta: expected an allocation unit of the whole pool without a KV cache");
  EXPECT_NE(error_with([](Header& h) {
              h.rows = {{7, 1}};
            }).find("rows: expected 0 to 0, found 1"),
            std::string::npos);
  EXPECT_NE(error_with([](Header& h) {
              h.returns_alloc_units = true;
            }).find("table_form: when memory is allocated in bytes, expected allocation units of 1"),
            std::string::npos);
}

}  // namespace
}  // namespace kvplan
