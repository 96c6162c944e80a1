// The outer layer of scenario files (.kvs), report files (.kvr) and validations (.kvv): magic, frames with checksums,
// version. DOCUMENT_FORMAT.md has the bytes; scenario_file.h and report_file.h the content of the frames.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "traces/io/input.h"

namespace kvplan::io {

enum class DocumentKind : std::uint8_t { kScenario, kReport, kValidation };

/// First bytes of a file: a byte that no text has, the name, and line ends that a text conversion would change.
std::string_view document_magic(DocumentKind kind);
/// The kind of a file from its first bytes (8 are enough); nothing if it is none of them.
std::optional<DocumentKind> document_kind(std::string_view begin);

/// True: the name ends so, ignoring .gz or .zst.
bool is_named(std::string_view path, std::string_view ending);

inline constexpr std::uint32_t kDocumentVersion = 1;
inline constexpr std::string_view kHeadFrame{"HEAD"};
inline constexpr std::string_view kBodyFrame{"BODY"};
inline constexpr std::string_view kTailFrame{"TAIL"};
/// Frame of a report's timeline. A type that begins with a small letter may be skipped by readers.
inline constexpr std::string_view kTimelineFrame{"time"};

/// Life cycle: `begin`, `add` any number of times, `finish`; errors of the sink are returned.
class DocumentWriter {
 public:
  using Sink = std::function<Status(std::string_view)>;
  explicit DocumentWriter(Sink sink) : sink_(std::move(sink)) {}

  /// Error: a body longer than readers accept.
  Status begin(DocumentKind kind, std::string_view body);
  /// REQUIRES: a type that begins with a small letter; a message of at most 4 MiB.
  Status add(std::string_view type, std::string_view message);
  Status finish();

 private:
  Sink sink_;
  std::uint32_t frames_{0};
};

/// Life cycle: `body` once, then `next` until it returns nothing; then the file was complete.
class DocumentReader {
 public:
  explicit DocumentReader(traces::Input& input) : input_(input) {}

  struct Frame {
    std::string type, message;
  };
  /// Errors: another kind of file, a higher version, damaged bytes.
  Result<std::string> body(DocumentKind kind);
  /// The next frame that a reader may skip.
  Result<std::optional<Frame>> next();

  /// An error at the latest frame.
  [[nodiscard]] Error wrong(std::string message) const;

 private:
  Result<Frame> read_frame();
  Result<Frame> expect(std::string_view type);

  traces::Input& input_;
  std::int64_t frame_byte_{0};
  std::uint32_t frames_{0};
};

}  // namespace kvplan::io
