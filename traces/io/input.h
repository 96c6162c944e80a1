// The bytes of a file, plain or compressed with gzip or zstd (the first bytes tell which), read forwards in bounded
// memory: a decompression bomb costs time, never memory. Text importers read it line by line, the .kvt reader byte by
// byte. Pipes work: nothing is read twice.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::traces {

/// A source of bytes. `read` gives up to `room` bytes at `to`; 0 means the end.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;
  virtual Result<std::size_t> read(char* to, std::size_t room) = 0;
  /// How many bytes it gives in all; 0 if that is not known (pipes, compressed data). A file may still grow or
  /// shrink.
  [[nodiscard]] virtual std::int64_t total_bytes() const { return 0; }
};

/// Called for every read of the file itself, before decompression, with the number of bytes read. An error ends the
/// reading. For progress, and for ending early.
using ReadHook = std::function<Status(std::size_t bytes)>;

/// The file's content, decompressed. Errors name the path.
Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path, ReadHook on_read = {});
/// Bytes in memory, which outlive the source, decompressed in the same way; for tests and fuzzing. `name`
/// stands for the path in errors.
Result<std::unique_ptr<ByteSource>> open_memory(std::string_view bytes, const std::string& name);

/// A buffer over a source: it can look ahead, take lines, and take exact numbers of bytes.
///
/// Views stay valid until the next call. After a failed call `error()` has the reason. Functions that return bool
/// return false both at the end and on an error (`failed()` distinguishes them), so that the loop over lines makes no
/// error objects.
class Input {
 public:
  /// A single line or block may have at most 64 MiB.
  static constexpr std::size_t kMaxLine = std::size_t{1} << 26;
  /// This many bytes behind every view may be read; their content is undefined.
  static constexpr std::size_t kPadding = 8;

  static Result<std::unique_ptr<Input>> open(const std::string& path, ReadHook on_read = {});
  Input(std::unique_ptr<ByteSource> source, std::string path);

  /// The next `count` bytes without consuming them; fewer only at the end of the input.
  std::string_view peek(std::size_t count);
  /// The next `count` bytes, consumed; fewer only at the end of the input.
  std::string_view take(std::size_t count);
  /// The next line without its line feed and carriage return. A byte-order mark before the first line is
  /// skipped.
  bool next_line(std::string_view& line) {
    const char* const from = buffer_.get() + begin_;
    const void* const hit = first_line_ || failed_ ? nullptr : std::memchr(from, '\n', end_ - begin_);
    if (hit == nullptr) return next_line_after_reading(line);
    auto size = static_cast<std::size_t>(static_cast<const char*>(hit) - from);
    line_begin_ = begin_;
    begin_ += size + 1;
    line_number_ = ++lines_;
    if (size > 0 && from[size - 1] == '\r') --size;
    line = {from, size};
    return true;
  }
  /// Bytes that were read but not consumed, from the beginning of a line, for a reader that finds line ends itself. It
  /// then calls `consume_line`, or `next_line` if it found none. Empty before the first line.
  [[nodiscard]] std::string_view held() const {
    return first_line_ || failed_ ? std::string_view()
                                  : std::string_view(buffer_.get() + begin_, end_ - begin_);
  }
  /// Consumes the first `bytes` of `held`, which end with its first line feed, as the latest line. Views stay valid.
  void consume_line(std::size_t bytes) {
    line_begin_ = begin_;
    begin_ += bytes;
    line_number_ = ++lines_;
  }
  /// Extends `line`, the latest one, by the line after it (a quoted field may contain a line feed). If none follows,
  /// it stays unchanged and valid.
  bool extend_line(std::string_view& line);

  [[nodiscard]] bool failed() const { return failed_; }
  /// REQUIRES: failed().
  [[nodiscard]] const Error& error() const { return error_; }
  /// Number of the latest line, from 1; if the line was extended, of its first line.
  [[nodiscard]] std::int64_t line_number() const { return line_number_; }
  /// Bytes consumed so far, after decompression.
  [[nodiscard]] std::int64_t position() const { return consumed_ + static_cast<std::int64_t>(begin_); }
  /// Share of the source that has been consumed, at most 1; 0 if that is not known.
  [[nodiscard]] double share_consumed() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  bool next_line_after_reading(std::string_view& line);
  bool fill();
  /// Index of the next line feed at or after `from`, or of the end; false if there are no more bytes.
  bool find_line_end(std::size_t from, std::size_t& end);
  std::string_view trimmed(std::size_t end) const;
  void fail(Error error);

  std::unique_ptr<ByteSource> source_;
  std::string path_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_{0};
  std::size_t begin_{0};       ///< first byte not consumed
  std::size_t end_{0};         ///< one past the last byte read
  std::size_t line_begin_{0};  ///< index at which the latest line starts
  bool at_end_{false};
  bool failed_{false};
  bool first_line_{true};
  std::int64_t consumed_{0};  ///< bytes dropped from the front of the buffer
  std::int64_t line_number_{0};
  std::int64_t lines_{0};
  Error error_{};
};

}  // namespace kvplan::traces
