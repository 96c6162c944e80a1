// .kvt: a written trace is read back unchanged, every damaged byte is noticed, and a reader written from the page alone
// agrees.
#include "traces/io/kvt.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "proto/trace.pb.h"
#include "simulator/base/random.h"
#include "simulator/frame/frame.h"
#include "tests/unit/traces/support.h"
#include "traces/io/kvt_frame.h"
#include "traces/record/memory_stream.h"
#include "traces/record/turns.h"

namespace kvplan::traces {
namespace {

bool never() {
  return false;
}

Result<Trace> read_bytes(const std::string& bytes) {
  KVPLAN_TRY(std::unique_ptr<ByteSource> source, open_memory(bytes, "t"));
  KVPLAN_TRY(const std::unique_ptr<TraceStream> stream,
             open_kvt(std::make_unique<Input>(std::move(source), "t")));
  return collect(*stream);
}

std::string error_of(const std::string& bytes) {
  const Result<Trace> trace = read_bytes(bytes);
  return trace.ok() ? "no error" : trace.error().to_string();
}

/// The trace as .kvt bytes.
std::string written(const Trace& trace) {
  const testing::TemporaryFolder folder;
  MemoryStream stream(trace);
  const Result<WrittenTrace> result = write_kvt(stream, folder.file("x.kvt"), never);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(folder.listing(), "x.kvt");
  return testing::read_file(folder.file("x.kvt"));
}

template <class T>
std::vector<T> optional_column(Random& random, std::size_t rows, std::int64_t most) {
  std::vector<T> out;
  if (random.chance(1, 2)) return out;
  for (std::size_t i = 0; i < rows; ++i) out.push_back(static_cast<T>(random.between(-1, most)));
  return out;
}

/// Names numbered by first appearance, some rows without.
void name_column(Random& random, std::size_t rows, std::vector<std::int32_t>& column,
                 std::vector<std::string>& names) {
  if (random.chance(1, 3)) return;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto number =
        static_cast<std::int32_t>(random.between(-1, static_cast<std::int64_t>(names.size())));
    if (number == static_cast<std::int32_t>(names.size()))
      names.push_back("n" + std::to_string(random.below(1000)) + "\xC3\xA9");
    column.push_back(number);
  }
}

Trace random_trace(std::uint64_t seed) {
  Random random(seed, "kvt");
  Trace trace;
  const std::size_t rows = 1 + random.below(50);
  const bool wild = random.chance(1, 4);  // times over the whole 64-bit range
  trace.prefix.block_tokens = random.chance(1, 2) ? random.between(1, 64) : 0;
  if (trace.prefix.present()) trace.prefix.offsets.push_back(0);
  for (std::size_t i = 0; i < rows; ++i) {
    trace.arrival_ns.push_back(wild ? static_cast<std::int64_t>(random.next())
                                    : random.between(0, 1'000'000'000));
    trace.input_tokens.push_back(
        static_cast<std::int32_t>(random.between(0, random.chance(1, 9) ? INT32_MAX : 500)));
    trace.output_tokens.push_back(static_cast<std::int32_t>(random.between(0, 500)));
    if (!trace.prefix.present()) continue;
    const std::int64_t most =
        std::min<std::int64_t>(20, ceil_div(trace.input_tokens.back(), trace.prefix.block_tokens));
    for (std::int64_t k = random.between(0, most); k > 0; --k) {
      const std::int64_t id = random.between(0, trace.prefix.distinct);
      trace.prefix.distinct += id == trace.prefix.distinct ? 1 : 0;
      trace.prefix.ids.push_back(static_cast<std::uint32_t>(id));
    }
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
  }
  trace.prefix.last_may_be_partial = random.chance(1, 2);
  trace.shares_clock = random.chance(1, 2);
  name_column(random, rows, trace.session, trace.session_names);
  name_column(random, rows, trace.tenant, trace.tenant_names);
  trace.max_tokens = optional_column<std::int32_t>(random, rows, INT32_MAX);
  trace.priority = optional_column<std::int32_t>(random, rows, INT32_MAX);
  trace.ttft_ns = optional_column<std::int64_t>(random, rows, INT64_MAX);
  trace.e2e_ns = optional_column<std::int64_t>(random, rows, 5);
  trace.think_ns = optional_column<std::int64_t>(random, rows, INT64_MAX);
  if (random.chance(1, 2)) {  // cycles too, which a file may contain
    for (std::uint64_t k = random.below(2 * rows); k > 0; --k) {
      trace.waits.request.push_back(static_cast<std::int32_t>(random.below(rows)));
      trace.waits.before.push_back(static_cast<std::int32_t>(random.below(rows)));
    }
    sort_waits(trace.waits);
  }
  trace.provenance = {"test", {"a.csv", "b.csv"}, {"block=16"}, {"Three of four are odd."}};
  return trace;
}

TEST(Kvt, WhatIsWrittenIsRead) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trace trace = random_trace(seed);
    MemoryStream stream(trace);
    TraceDigest digest;
    digest.add(trace);
    trace.digest = digest.finish(stream.summary());
    const Result<Trace> read = read_bytes(written(trace));
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    testing::expect_same(trace, read.value());
    EXPECT_EQ(read.value().provenance.format, "test");
    EXPECT_EQ(read.value().provenance.sources, trace.provenance.sources);
    EXPECT_EQ(read.value().provenance.options, trace.provenance.options);
    EXPECT_EQ(read.value().provenance.warnings, trace.provenance.warnings);
    if (HasFailure()) break;
  }
}

TEST(Kvt, ManyChunksGiveTheSameTraceAndDigest) {
  Trace trace;
  Random random(7, "chunks");
  trace.prefix.block_tokens = 16;
  trace.prefix.offsets.push_back(0);
  for (int i = 0; i < 150'000; ++i) {
    trace.arrival_ns.push_back(random.between(0, 1'000'000));
    trace.input_tokens.push_back(160);
    trace.output_tokens.push_back(static_cast<std::int32_t>(random.between(0, 9)));
    trace.session.push_back(static_cast<std::int32_t>(trace.session_names.size()));
    trace.session_names.push_back("s" + std::to_string(i));
    for (int k = 0; k < 10; ++k) {
      const std::int64_t id =
          random.chance(1, 5) ? trace.prefix.distinct : random.between(0, trace.prefix.distinct);
      trace.prefix.distinct += id == trace.prefix.distinct ? 1 : 0;
      trace.prefix.ids.push_back(static_cast<std::uint32_t>(id));
    }
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
    if (i > 10) {  // of the chunk before too, and of the whole file
      trace.waits.request.insert(trace.waits.request.end(), {i, i});
      trace.waits.before.insert(trace.waits.before.end(),
                                {static_cast<std::int32_t>(random.below(10)), i - 1});
    }
  }
  MemoryStream stream(trace);
  TraceDigest digest;
  digest.add(trace);
  trace.digest = digest.finish(stream.summary());
  const Result<Trace> read = read_bytes(written(trace));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  testing::expect_same(trace, read.value());
}

TEST(Kvt, TheDigestSeesEveryColumn) {
  const Trace base = random_trace(2);
  const auto digest_of = [](const Trace& trace) {
    MemoryStream stream(trace);
    TraceDigest digest;
    digest.add(trace);
    return digest.finish(stream.summary());
  };
  std::set<std::string> digests{digest_of(base)};
  const auto expect_new = [&](auto change) {
    Trace other = base;
    change(other);
    EXPECT_TRUE(digests.insert(digest_of(other)).second);
  };
  expect_new([](Trace& t) { ++t.arrival_ns[0]; });
  expect_new([](Trace& t) { ++t.input_tokens[0]; });
  expect_new([](Trace& t) { ++t.output_tokens[0]; });
  expect_new([](Trace& t) { t.max_tokens.assign(t.arrival_ns.size(), 3); });
  expect_new([](Trace& t) { t.priority.assign(t.arrival_ns.size(), 3); });
  expect_new([](Trace& t) { t.ttft_ns.assign(t.arrival_ns.size(), 3); });
  expect_new([](Trace& t) { t.e2e_ns.assign(t.arrival_ns.size(), 3); });
  expect_new([](Trace& t) { t.think_ns.assign(t.arrival_ns.size(), 3); });
  expect_new([](Trace& t) { t.waits = {{1}, {0}}; });
  expect_new([](Trace& t) { t.waits = {{0}, {1}}; });
  expect_new([](Trace& t) { t.shares_clock = !t.shares_clock; });
  expect_new([](Trace& t) { t.session_names.push_back("x"); });
  expect_new([](Trace& t) { t.tenant_names.push_back("x"); });
  expect_new([](Trace& t) { t.prefix.block_tokens += 1; });
  // A column without a stated value counts as absent.
  Trace unstated = base;
  if (unstated.max_tokens.empty()) unstated.max_tokens.assign(unstated.arrival_ns.size(), -1);
  EXPECT_EQ(digest_of(unstated), digest_of(base));
}

TEST(Kvt, AColumnThatComesLaterLeavesDigestsOfTracesWithoutIt) {
  std::vector<std::uint64_t> lanes;
  for (std::uint64_t lane = 0; lane < kFirstLanes; ++lane) lanes.push_back(lane % 3 * 7);  // some are empty
  const auto mixed = [](const std::vector<std::uint64_t>& all) { return mix_lanes(1, all); };
  const std::uint64_t before = mixed(lanes);
  lanes.resize(kFirstLanes + 2, 0);
  EXPECT_EQ(mixed(lanes), before);
  std::set<std::uint64_t> digests{before};
  for (std::size_t i = 0; i < lanes.size(); ++i) {  // both the stated values and their positions count
    std::vector<std::uint64_t> other = lanes;
    other[i] = 1000;
    EXPECT_TRUE(digests.insert(mixed(other)).second) << i;
  }
}

TEST(Kvt, TheSampleKeepsItsDigest) {
  const Result<Trace> sample = open_trace(KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt");
  ASSERT_TRUE(sample.ok()) << sample.error().to_string();
  EXPECT_EQ(sample.value().digest, "d655028aef04c3c7");
}

TEST(Kvt, EveryFlippedBitIsNoticed) {
  const std::string good = written(random_trace(5));
  ASSERT_EQ(error_of(good), "no error");
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      const std::string error = error_of(bad);
      ASSERT_NE(error, "no error") << "byte " << i << " bit " << bit;
      ASSERT_EQ(error.find('\n'), error.npos);
      ASSERT_EQ(error.substr(0, 8), "t: byte ") << error;
    }
  }
}

TEST(Kvt, EveryTruncationAndEveryAdditionIsNoticed) {
  const std::string good = written(random_trace(5));
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_NE(error_of(good.substr(0, size)), "no error") << size;
  EXPECT_EQ(error_of(good + "x"),
            "t: byte " + std::to_string(good.size() - 16) + ": bytes after the end mark");
}

// ---- files that kvplan's writers do not make: right checksums around wrong content ----

struct Parts {
  v1::TraceHeader header;
  v1::TraceChunk chunk;
  v1::TraceIndex index;
};

/// One request with two prefix ids; the caller sets the digest.
Parts small_parts() {
  Parts parts;
  parts.header.set_version(1);
  parts.header.set_block_tokens(16);
  parts.chunk.add_arrival_step_ns(5);
  parts.chunk.add_input_tokens(32);
  parts.chunk.add_output_tokens(1);
  parts.chunk.add_hash_count(2);
  parts.chunk.add_hash_id_step(0);
  parts.chunk.add_hash_id_step(1);
  parts.index.set_requests(1);
  parts.index.set_references(2);
  parts.index.set_distinct(2);
  parts.index.add_chunk_requests(1);
  return parts;
}

/// `chunk`: bytes that replace the chunk.
std::string assembled(Parts parts, const std::string& between = "",
                      const std::optional<std::string>& chunk = std::nullopt) {
  std::string out(kvt::kMagic);
  out += frame::make(kvt::kHead, parts.header.SerializeAsString());
  out += between;
  if (parts.index.chunk_offset_size() == 0) parts.index.add_chunk_offset(out.size());
  out += frame::make(kvt::kChunk, chunk.value_or(parts.chunk.SerializeAsString()));
  const std::uint64_t index_offset = out.size();
  out += frame::make(kvt::kIndex, parts.index.SerializeAsString());
  frame::put_u64(out, index_offset);
  return out + std::string(kvt::kEndMagic);
}

/// The reader's message, without the position, which is a byte offset.
std::string complaint(const Parts& parts, const std::optional<std::string>& chunk = std::nullopt) {
  const std::string error = error_of(assembled(parts, "", chunk));
  const std::size_t place = error.find(": ", 3);
  return place == error.npos ? error : error.substr(place + 2);
}

template <class Change>
std::string complaint_after(Change change) {
  Parts parts = small_parts();
  change(parts);
  return complaint(parts);
}

/// The forms of a column that Protobuf allows: the digest shows what was read, and is the only error.
TEST(KvtContent, ColumnsInPiecesAndAsSingleNumbers) {
  Parts parts = small_parts();
  v1::TraceChunk second;
  second.add_arrival_step_ns(-3);
  second.add_input_tokens(300'000);
  second.add_output_tokens(70);
  second.add_hash_count(1);
  v1::TraceChunk ids;
  for (const int step : {0, 1, 1}) ids.add_hash_id_step(step);
  v1::TraceChunk first = parts.chunk;
  first.clear_hash_id_step();
  parts.chunk.MergeFrom(second);
  parts.chunk.add_hash_id_step(1);
  parts.index.set_requests(2);
  parts.index.set_references(3);
  parts.index.set_distinct(3);
  parts.index.set_chunk_requests(0, 2);
  const std::string expected = complaint(parts);
  EXPECT_EQ(expected.substr(0, 6), "digest");

  const std::string pieces = first.SerializeAsString() + second.SerializeAsString();
  EXPECT_EQ(complaint(parts, pieces + ids.SerializeAsString()), expected);
  // 5 and -3; 32 and 300,000; 1 and 70; 2 and 1
  const std::string single = "\x08\x0A\x08\x05\x10\x20\x10\xE0\xA7\x12\x18\x01\x18\x46\x20\x02\x20\x01";
  EXPECT_EQ(complaint(parts, single + ids.SerializeAsString()), expected);
  EXPECT_EQ(complaint(parts, ids.SerializeAsString() + single), expected);
  const std::string no_chunk = "expected a TraceChunk message";
  EXPECT_EQ(complaint(parts, pieces + ids.SerializeAsString() + ids.SerializeAsString()), no_chunk);
  // Each column cut off inside its last number; the size before it is changed accordingly.
  for (const char key : {'\x0A', '\x12', '\x1A', '\x22', '\x2A'}) {
    std::string chunk = parts.chunk.SerializeAsString();
    const std::size_t at = chunk.find(key);
    const auto size = static_cast<std::size_t>(chunk[at + 1]);
    chunk[at + 1 + size] = '\x80';
    EXPECT_NE(complaint(parts, chunk).substr(0, 6), "digest") << static_cast<int>(key);
  }
}

TEST(KvtContent, WrongCountsAndRangesAreNamed) {
  EXPECT_EQ(complaint(small_parts()).substr(0, 6), "digest");  // everything else is right
  EXPECT_EQ(complaint_after([](Parts& p) { p.header.set_version(2); }),
            "version: expected 1, found 2: written by a later version of kvplan");
  EXPECT_EQ(complaint_after([](Parts& p) { p.header.set_version(0); }), "version: expected 1, found 0");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.clear_arrival_step_ns(); }),
            "arrival_step_ns: a chunk without requests");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.add_input_tokens(3); }),
            "input_tokens: expected 1 entries, found 2");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.set_output_tokens(0, 1U << 31); }),
            "output_tokens: expected at most 2147483647 tokens, found 2147483648");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.set_hash_count(0, 3); }),
            "hash_count: expected at most 2 ids for this prompt, found 3");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.set_hash_count(0, 1); }),
            "hash_id_step: expected 1 ids as hash_count says, found 2");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.set_hash_id_step(1, 2); }),
            "hash_id_step: expected an id from 0 to 1, found 2");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.set_hash_id_step(1, -1); }),
            "hash_id_step: expected an id from 0 to 1, found -1");
  // The first wrong value is named; later ones make no difference.
  EXPECT_EQ(complaint_after([](Parts& p) {
              p.chunk.set_input_tokens(0, 64);
              p.chunk.set_hash_count(0, 4);
              p.chunk.set_hash_id_step(1, 5);
              p.chunk.add_hash_id_step(-4);
              p.chunk.add_hash_id_step(1);
            }),
            "hash_id_step: expected an id from 0 to 1, found 5");
  EXPECT_EQ(complaint_after([](Parts& p) { p.header.set_block_tokens(0); }),
            "hash_count: prefix ids in a trace without a block size");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.add_session(0); }), "session: expected -1 to -1, found 0");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.add_session(-2); }),
            "session: expected -1 to -1, found -2");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.add_new_session_bytes(5); }),
            "new_session_bytes: expected names of 1 to 1024 bytes within the text, found 5");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.set_new_tenant_text("x"); }),
            "new_tenant_bytes: text after the last name");
  EXPECT_EQ(complaint_after([](Parts& p) { p.chunk.add_ttft_ns(-2); }),
            "ttft_ns: expected -1 to 9223372036854775807, found -2");
  EXPECT_EQ(complaint_after([](Parts& p) { p.index.set_requests(2); }),
            "requests: the index says 2, the chunks have 1");
  EXPECT_EQ(complaint_after([](Parts& p) { p.index.add_chunk_offset(1); }),
            "the index does not match the chunks of this file");
}

TEST(KvtContent, PartsOfLaterVersionsAreSkippedWhereTheyMayBe) {
  const std::string error = error_of(assembled(small_parts()));
  Parts parts = small_parts();
  const std::string digest_known = error.substr(error.find("columns give ") + 13, 16);
  parts.index.set_digest(digest_known);
  EXPECT_EQ(error_of(assembled(parts)), "no error");
  EXPECT_EQ(error_of(assembled(parts, frame::make("note", "whatever"))), "no error");
  EXPECT_NE(
      error_of(assembled(parts, frame::make("NOTE", "whatever"))).find("expected a part HEAD, CHNK or INDX"),
      std::string::npos);
}

TEST(KvtContent, SizesBeyondTheLimitsAreRefusedBeforeTheyAreAllocated) {
  std::string bytes(kvt::kMagic);
  bytes += "CHNK\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x02\x03\x04";
  EXPECT_EQ(error_of(bytes),
            "t: byte 8: a frame of 4294967295 bytes (4294967295 stored); at most 25165824 are read");
}

}  // namespace
}  // namespace kvplan::traces
