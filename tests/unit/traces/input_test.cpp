// Input and output of bytes: compression recognised by content, lines, bounded memory, outputs complete or absent.
#include "traces/io/input.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <csignal>
#include <fstream>

#include "simulator/base/random.h"
#include "tests/unit/traces/support.h"
#include "traces/io/output.h"

namespace kvplan::traces {
namespace {

std::string gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// The bytes must outlive the input.
Input input_of(std::string_view bytes) {
  return Input(std::move(open_memory(bytes, "t")).value(), "t");
}

/// All lines, then the error if any.
std::vector<std::string> lines_of(const std::string& bytes) {
  Input input = input_of(bytes);
  std::vector<std::string> out;
  std::string_view line;
  while (input.next_line(line)) out.emplace_back(line);
  if (input.failed()) out.push_back(input.error().to_string());
  return out;
}

using Lines = std::vector<std::string>;

TEST(Lines, EndsInEveryForm) {
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("a"), Lines{"a"});
  EXPECT_EQ(lines_of("a\n"), Lines{"a"});
  EXPECT_EQ(lines_of("a\r\n\r\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("\xEF\xBB\xBF"
                     "a\nb\r"),
            (Lines{"a", "b"}));
  EXPECT_EQ(lines_of("\n\n"), (Lines{"", ""}));
}

TEST(Lines, CompressedIsReadAsItIs) {
  const std::string text = "first\nsecond\n";
  const Lines lines{"first", "second"};
  EXPECT_EQ(lines_of(gzip(text)), lines);
  EXPECT_EQ(lines_of(zstd(text)), lines);
  EXPECT_EQ(lines_of(gzip("first\nsec") + gzip("ond\n")), lines);
  EXPECT_EQ(lines_of(zstd("first\nsec") + zstd("") + zstd("ond\n")), lines);
}

TEST(Lines, ManyLinesOfAllLengthsAcrossTheBuffer) {
  Random random(3, "lines");
  Lines lines;
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    lines.push_back(
        std::string(random.below(random.chance(1, 100) ? 700'000 : 300), static_cast<char>('a' + i % 26)));
    text += lines.back() + (i % 2 == 0 ? "\n" : "\r\n");
  }
  EXPECT_TRUE(lines_of(text) == lines);
  EXPECT_TRUE(lines_of(zstd(text)) == lines);
}

TEST(Lines, DamagedCompressionSaysWhere) {
  const std::string text(100'000, 'x');
  for (const std::string& packed : {gzip(text), zstd(text)}) {
    EXPECT_NE(lines_of(packed.substr(0, packed.size() / 2)).back().find("truncated"), std::string::npos);
    EXPECT_NE(lines_of(packed.substr(0, packed.size() - 1)).back().find("truncated"), std::string::npos);
    std::string bad = packed;
    bad[packed.size() / 2] = static_cast<char>(~bad[packed.size() / 2]);
    EXPECT_EQ(lines_of(bad).back().substr(0, 8), "t: byte ");
    EXPECT_NE(lines_of(packed + "trailing").back().find("damaged"), std::string::npos);
  }
}

TEST(Lines, AWindowBeyondTheLimitIsRefused) {
  // A zstd frame header without content size that asks for a window of 2^31 bytes, then one raw block.
  const std::string frame("\x28\xB5\x2F\xFD\x00\xA8\x01\x00\x00", 9);
  ASSERT_FALSE(lines_of(frame).empty());
  EXPECT_NE(lines_of(frame).back().find("damaged zstd data"), std::string::npos);
}

TEST(Lines, PeekTakeAndPosition) {
  Input input = input_of("abcdef\nrest");
  EXPECT_EQ(input.peek(3), "abc");
  EXPECT_EQ(input.take(2), "ab");
  EXPECT_EQ(input.position(), 2);
  std::string_view line;
  EXPECT_TRUE(input.next_line(line));
  EXPECT_EQ(line, "cdef");
  EXPECT_EQ(input.take(100), "rest");
  EXPECT_EQ(input.position(), 11);
  EXPECT_FALSE(input.failed());
}

TEST(Lines, HowMuchHasBeenConsumedIsKnownOfWhatIsNotCompressed) {
  const std::string text = "abcd\nefgh\nij";
  Input input = input_of(text);
  EXPECT_EQ(input.share_consumed(), 0);
  std::string_view line;
  for (const double share : {5.0 / 12, 10.0 / 12, 1.0}) {
    EXPECT_TRUE(input.next_line(line));
    EXPECT_EQ(input.share_consumed(), share);
  }
  const testing::TemporaryFolder folder;
  const auto after_a_line = [&](const std::string& bytes) {
    testing::write_file(folder.file("t"), bytes);
    auto file = Input::open(folder.file("t"));
    EXPECT_TRUE(file.value()->next_line(line));
    // Of a file that grows, at most its original length is read.
    std::ofstream(folder.file("t"), std::ios::app) << text;
    while (file.value()->next_line(line)) EXPECT_LE(file.value()->share_consumed(), 1);
    return file.value()->share_consumed();
  };
  EXPECT_EQ(after_a_line(text), 1);
  EXPECT_EQ(after_a_line(gzip(text)), 0);
  EXPECT_EQ(after_a_line(zstd(text)), 0);
}

TEST(Lines, AnExtendedLineHoldsItsLineFeeds) {
  Input input = input_of("a\nb\r\nc\nd");
  std::string_view line;
  ASSERT_TRUE(input.next_line(line));
  ASSERT_TRUE(input.extend_line(line));
  EXPECT_EQ(line, "a\nb");
  ASSERT_TRUE(input.extend_line(line));
  EXPECT_EQ(line, "a\nb\r\nc");
  EXPECT_EQ(input.line_number(), 1);
  ASSERT_TRUE(input.next_line(line));
  EXPECT_EQ(line, "d");
  EXPECT_EQ(input.line_number(), 4);
  EXPECT_FALSE(input.extend_line(line));
}

/// Lines that end within the buffer are the lines that `next_line` gives, with the same numbers.
TEST(Lines, TakenFromWhatIsHeld) {
  Random random(4, "held lines");
  Lines lines;
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    lines.push_back(std::string(random.below(random.chance(1, 1000) ? 700'000 : 60), 'x'));
    text += lines.back() + "\n";
  }
  Input input = input_of(text);
  EXPECT_EQ(input.held(), "");
  int from_held = 0;
  std::string_view line;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view held = input.held();
    const std::size_t end = random.chance(1, 9) ? held.npos : held.find('\n');
    if (end == held.npos) {
      ASSERT_TRUE(input.next_line(line));
    } else {
      line = held.substr(0, end);
      input.consume_line(end + 1);
      ++from_held;
    }
    ASSERT_TRUE(line == lines[i]);
    ASSERT_EQ(input.line_number(), static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_EQ(input.position(), static_cast<std::int64_t>(text.size()));
  EXPECT_FALSE(input.next_line(line));
  EXPECT_GT(from_held, 15'000);
}

TEST(Open, WhatCannotBeOpened) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(Input::open(folder.file("none")).error().to_string(),
            folder.file("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(Input::open(folder.path()).error().to_string(),
            folder.path() + ": expected a file, found a folder");
}

TEST(Output, EndingsDecideTheCompressionAndBytesRepeat) {
  const testing::TemporaryFolder folder;
  Random random(4, "out");
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(random.below(1000)) + "\n";
  for (const char* name : {"a.txt", "a.gz", "a.zst"}) {
    std::string first;
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto output = std::move(create_output(folder.file(name))).value();
      for (std::size_t at = 0; at < text.size(); at += 1000)
        ASSERT_TRUE(output->write(text.substr(at, 1000)).ok());
      ASSERT_TRUE(output->commit().ok());
      if (repeat == 0) first = testing::read_file(folder.file(name));
    }
    EXPECT_TRUE(testing::read_file(folder.file(name)) == first);
    EXPECT_EQ(first.size() < text.size(), std::string(name) != "a.txt");
    const auto input = std::move(Input::open(folder.file(name))).value();
    EXPECT_TRUE(input->take(text.size() + 1) == text);
  }
}

TEST(Output, LinksStayLinksAndModesStay) {
  for (const Temporary kind : {Temporary::kUnnamed, Temporary::kNamed}) {
    const testing::TemporaryFolder folder;
    testing::write_file(folder.file("real"), "old");
    ASSERT_EQ(::chmod(folder.file("real").c_str(), 0640), 0);
    ASSERT_EQ(::symlink("real", folder.file("link").c_str()), 0);
    const auto output = std::move(create_output(folder.file("link"), kind)).value();
    ASSERT_TRUE(output->write("new").ok() && output->commit().ok());
    struct stat status {};
    ASSERT_EQ(::lstat(folder.file("link").c_str(), &status), 0);
    EXPECT_TRUE(S_ISLNK(status.st_mode));
    EXPECT_EQ(testing::read_file(folder.file("real")), "new");
    ASSERT_EQ(::stat(folder.file("real").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640u);
  }
}

TEST(Output, AFileSystemThatRefusesLeavesNothing) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(create_output(folder.file("no/such")).error().to_string(),
            folder.file("no/such") + ": cannot write: No such file or directory");
  EXPECT_EQ(create_output(folder.path()).error().to_string(),
            folder.path() + ": cannot write: it is a folder");
  const auto full = std::move(create_output("/dev/full")).value();
  ASSERT_TRUE(full->write("x").ok());  // still in the buffer
  EXPECT_EQ(full->commit().error().to_string(), "/dev/full: cannot write: No space left on device");
  // A file that may not grow beyond 64 KiB, like a full disk.
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small{65536, old.rlim_max};
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (const Temporary kind : {Temporary::kUnnamed, Temporary::kNamed}) {
    const auto output = std::move(create_output(folder.file("big"), kind)).value();
    Status status = output->write(std::string(1 << 20, 'x'));
    EXPECT_FALSE(status.ok());
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(folder.listing(), "");
}

}  // namespace
}  // namespace kvplan::traces
