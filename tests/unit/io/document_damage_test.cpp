// Files that are cut off, damaged, of another version or hostile: one error line, and bounded memory.
#include <gtest/gtest.h>

#include "proto/document.pb.h"
#include "proto/report.pb.h"
#include "simulator/frame/frame.h"
#include "simulator/io/report_message.h"
#include "tests/unit/io/document_support.h"
#include "tests/unit/report/cases.h"

namespace kvplan::io {
namespace {

struct Sample {
  DocumentKind kind;
  std::string bytes;
};

std::vector<Sample> samples() {
  const runs::RunResult result =
      report::testing::result_of(report::testing::small_settings(), report::testing::small_trace(), 3);
  return {{DocumentKind::kScenario, testing::scenario_bytes(result.scenario)},
          {DocumentKind::kReport, testing::report_bytes(result, true)}};
}

void expect_error(const Sample& sample, std::string_view bytes) {
  const std::string error = testing::error_of(sample.kind, bytes);
  EXPECT_EQ(error.substr(0, 4), "file") << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

TEST(DocumentDamage, EveryTruncationIsAnError) {
  for (const Sample& sample : samples()) {
    EXPECT_EQ(testing::error_of(sample.kind, sample.bytes), "no error");
    for (std::size_t size = 0; size < sample.bytes.size(); ++size)
      expect_error(sample, std::string_view(sample.bytes).substr(0, size));
    expect_error(sample, sample.bytes + '\0');
  }
}

TEST(DocumentDamage, EveryFlippedBitIsAnError) {
  for (const Sample& sample : samples()) {
    std::string bytes = sample.bytes;
    for (char& byte : bytes) {
      for (unsigned bit = 1; bit < 256; bit *= 2) {
        byte = static_cast<char>(static_cast<unsigned char>(byte) ^ bit);
        expect_error(sample, bytes);
        byte = static_cast<char>(static_cast<unsigned char>(byte) ^ bit);
      }
    }
  }
}

TEST(DocumentDamage, OneKindIsNotTheOther) {
  const auto all = samples();
  // A request for one kind does not return the other, and JSON is neither.
  expect_error({DocumentKind::kReport, {}}, all[0].bytes);
  expect_error({DocumentKind::kScenario, {}}, all[1].bytes);
  EXPECT_EQ(document_kind(all[0].bytes), DocumentKind::kScenario);
  EXPECT_EQ(document_kind(all[1].bytes), DocumentKind::kReport);
  EXPECT_EQ(document_kind(all[1].bytes.substr(0, 7)), std::nullopt);
}

TEST(DocumentDamage, AHigherVersionIsRefused) {
  for (const DocumentKind kind : {DocumentKind::kScenario, DocumentKind::kReport}) {
    EXPECT_EQ(testing::error_of(kind, testing::document(kind, "", kDocumentVersion + 1)),
              "file: byte 8: version: expected 1, found 2: written by a later version of kvplan");
    EXPECT_EQ(testing::error_of(kind, testing::document(kind, "", 0)),
              "file: byte 8: version: expected 1, found 0");
  }
}

std::string with_frames(const std::vector<std::pair<std::string, std::string>>& between) {
  v1::DocumentHeader header;
  header.set_version(kDocumentVersion);
  v1::DocumentTail tail;
  tail.set_frames(static_cast<std::uint32_t>(2 + between.size()));
  std::vector<std::pair<std::string, std::string>> frames{{"HEAD", header.SerializeAsString()}, {"BODY", ""}};
  frames.insert(frames.end(), between.begin(), between.end());
  frames.emplace_back("TAIL", tail.SerializeAsString());
  return testing::framed(DocumentKind::kReport, frames);
}

std::string report_error(const std::string& bytes) {
  return testing::error_of(DocumentKind::kReport, bytes);
}

TEST(DocumentDamage, OtherFramesAreLeftOutOrRefused) {
  EXPECT_EQ(report_error(with_frames({})), "no error");
  EXPECT_EQ(report_error(with_frames({{"more", "anything"}, {"else", ""}})), "no error");
  EXPECT_EQ(report_error(with_frames({{"MORE", "anything"}})),
            "file: byte 60: expected a frame HEAD, BODY or TAIL, found other bytes");
  EXPECT_EQ(report_error(with_frames({{"BODY", ""}})), "file: byte 60: expected a frame TAIL, found BODY");
  EXPECT_EQ(report_error(testing::framed(DocumentKind::kReport, {{"BODY", ""}})),
            "file: byte 8: expected a frame HEAD, found BODY");
  v1::DocumentTail tail;
  tail.set_frames(5);
  EXPECT_EQ(
      report_error(testing::framed(DocumentKind::kReport,
                                   {{"HEAD", "\x08\x01"}, {"BODY", ""}, {"TAIL", tail.SerializeAsString()}})),
      "file: byte 60: expected 5 frames, found 2");
  EXPECT_EQ(report_error(testing::framed(DocumentKind::kReport, {{"HEAD", "\x08\x01"}, {"BODY", "\x0A"}})),
            "file: byte 35: expected a Report message");
}

TEST(DocumentDamage, CountsAreBounded) {
  // A frame that claims more bytes than allowed, with no data.
  std::string huge(document_magic(DocumentKind::kReport));
  huge += frame::make("HEAD", "\x08\x01") + "BODY" + std::string(12, '\xFF');
  EXPECT_EQ(report_error(huge),
            "file: byte 35: a frame of 4294967295 bytes (4294967295 stored); at most 4194304 are read");
  // Two bytes are enough for one replica.
  v1::Report message;
  for (int i = 0; i <= kMostReplicas; ++i) message.add_replicas();
  EXPECT_EQ(report_error(testing::document(DocumentKind::kReport, message.SerializeAsString())),
            "file: expected at most 4096 replicas, found 4097");
  message.mutable_replicas()->RemoveLast();
  EXPECT_EQ(report_error(testing::document(DocumentKind::kReport, message.SerializeAsString())), "no error");
  const std::string most(std::size_t{4} << 20, '\0');
  std::string sunk;
  DocumentWriter writer([&](std::string_view bytes) -> Status {
    sunk += bytes;
    return Done{};
  });
  EXPECT_FALSE(writer.begin(DocumentKind::kReport, most + '\0').ok());
  EXPECT_EQ(sunk, "");
  EXPECT_TRUE(writer.begin(DocumentKind::kReport, most).ok());
}

std::string timeline_error(const std::vector<v1::TimelineChunk>& chunks) {
  std::vector<std::pair<std::string, std::string>> frames;
  for (const v1::TimelineChunk& chunk : chunks)
    frames.emplace_back(std::string(kTimelineFrame), chunk.SerializeAsString());
  const std::string error = report_error(with_frames(frames));
  return error.substr(error.rfind(": ") == std::string::npos ? 0 : error.rfind(": ") + 2);
}

TEST(DocumentDamage, ATimelineThatIsNone) {
  v1::TimelineChunk good;
  good.set_begin_ns(5);
  good.add_length_ns(7);
  v1::TimelineRow& row = *good.add_rows();
  row.set_name("live");
  row.add_mean(0.5);
  row.add_least_step(1);
  row.add_greatest_step(-2);
  EXPECT_EQ(timeline_error({good}), "no error");
  v1::TimelineChunk next = good;
  next.set_begin_ns(12);
  EXPECT_EQ(timeline_error({good, next}), "no error");
  next.set_replica(3);
  EXPECT_EQ(timeline_error({good, next}), "no error");
  EXPECT_EQ(timeline_error({next, good}), "expected bins of replica 3 from 19 ns, or of a later replica");
  EXPECT_EQ(timeline_error({good, good}), "expected bins of replica 0 from 12 ns, or of a later replica");
  next.mutable_rows(0)->set_name("hole");
  EXPECT_EQ(timeline_error({good, next}), "expected the same rows in every part of the timeline");
  next.mutable_rows(0)->set_name("a,b");
  EXPECT_EQ(timeline_error({next}), "expected a row name in lower case");
  next = good;
  next.add_length_ns(1);
  EXPECT_EQ(timeline_error({next}), "expected 2 entries in each row");
  next = good;
  next.set_length_ns(0, -1);
  EXPECT_EQ(timeline_error({next}), "expected the length of a bin, found -1");
  next.set_length_ns(0, INT64_MAX);
  EXPECT_EQ(timeline_error({next}), "expected the length of a bin, found 9223372036854775807");
  next = good;
  next.set_replica(-1);
  EXPECT_EQ(timeline_error({next}), "expected bins of replica 0 from 0 ns, or of a later replica");
  next = good;
  next.clear_rows();
  EXPECT_EQ(timeline_error({next}), "expected 1 to 64 rows, found 0");
  next.clear_length_ns();
  for (int i = 0; i < 65; ++i) next.add_rows()->set_name("x");
  EXPECT_EQ(timeline_error({next}), "expected 1 to 64 rows, found 65");
  next.mutable_rows()->RemoveLast();
  EXPECT_EQ(timeline_error({next}), "expected a bin");
}

}  // namespace
}  // namespace kvplan::io
