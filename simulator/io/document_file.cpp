#include "simulator/io/document_file.h"

#include <algorithm>

#include "proto/document.pb.h"
#include "simulator/base/version.h"
#include "simulator/frame/frame.h"

namespace kvplan::io {
namespace {

constexpr std::size_t kMagicBytes = 8;
constexpr std::uint32_t kMostMessageBytes = std::uint32_t{4} << 20;  // the largest message

bool is_small(char letter) {
  return letter >= 'a' && letter <= 'z';
}

}  // namespace

std::string_view document_magic(DocumentKind kind) {
  using namespace std::string_view_literals;
  switch (kind) {
    case DocumentKind::kScenario:
      return "\x89KVS\r\n\x1A\n"sv;
    case DocumentKind::kReport:
      return "\x89KVR\r\n\x1A\n"sv;
    case DocumentKind::kValidation:
      return "\x89KVV\r\n\x1A\n"sv;
  }
  return {};
}

std::optional<DocumentKind> document_kind(std::string_view begin) {
  for (const DocumentKind kind : {DocumentKind::kScenario, DocumentKind::kReport, DocumentKind::kValidation})
    if (begin.substr(0, kMagicBytes) == document_magic(kind)) return kind;
  return std::nullopt;
}

bool is_named(std::string_view path, std::string_view ending) {
  for (const std::string_view packed : {".gz", ".zst"})
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  return path.ends_with(ending);
}

Status DocumentWriter::begin(DocumentKind kind, std::string_view body) {
  if (body.size() > kMostMessageBytes)
    return bad_input("is too long for the binary form: " + std::to_string(body.size()) + " bytes, at most " +
                     std::to_string(kMostMessageBytes) + " are read");
  v1::DocumentHeader header;
  header.set_version(kDocumentVersion);
  header.set_writer("kvplan " + std::string(kVersion));
  KVPLAN_TRY_DO(sink_(document_magic(kind)));
  KVPLAN_TRY_DO(sink_(frame::make(kHeadFrame, header.SerializeAsString())));
  KVPLAN_TRY_DO(sink_(frame::make(kBodyFrame, body)));
  frames_ = 2;
  return Done{};
}

Status DocumentWriter::add(std::string_view type, std::string_view message) {
  KVPLAN_CHECK(type.size() == 4 && is_small(type[0]) && message.size() <= kMostMessageBytes);
  ++frames_;
  return sink_(frame::make(type, message));
}

Status DocumentWriter::finish() {
  v1::DocumentTail tail;
  tail.set_frames(frames_);
  return sink_(frame::make(kTailFrame, tail.SerializeAsString()));
}

Error DocumentReader::wrong(std::string message) const {
  return bad_input(std::move(message)).at_file(input_.path()).at_byte(frame_byte_);
}

Result<DocumentReader::Frame> DocumentReader::read_frame() {
  const auto truncated = [this] {
    return input_.failed() ? input_.error()
                           : wrong("the file is truncated: it ends in the middle of a frame");
  };
  frame_byte_ = input_.position();
  const std::string head_bytes(input_.take(frame::kHeadBytes));
  if (head_bytes.size() < frame::kHeadBytes) return truncated();
  const frame::Head head = frame::parse_head(head_bytes);
  const bool known = head.type == kHeadFrame || head.type == kBodyFrame || head.type == kTailFrame;
  if (!known && !is_small(head.type[0]))
    return wrong("expected a frame HEAD, BODY or TAIL, found other bytes");
  const Status good_size = frame::check_size(head, kMostMessageBytes);
  if (!good_size.ok()) return wrong(good_size.error().message);
  const std::string_view stored = input_.take(head.stored_bytes);
  if (stored.size() < head.stored_bytes) return truncated();
  if (!frame::checksum_holds(head_bytes, stored))
    return wrong("checksum does not match: the file is damaged");
  Frame frame{head.type, {}};
  if (const Status unpacked = frame::unpack(head, stored, frame.message); !unpacked.ok())
    return wrong(unpacked.error().message);
  return frame;
}

Result<DocumentReader::Frame> DocumentReader::expect(std::string_view type) {
  KVPLAN_TRY(Frame frame, read_frame());
  if (frame.type != type) return wrong("expected a frame " + std::string(type) + ", found " + frame.type);
  ++frames_;
  return frame;
}

Result<std::string> DocumentReader::body(DocumentKind kind) {
  if (input_.take(kMagicBytes) != document_magic(kind)) {
    if (input_.failed()) return input_.error();
    return wrong(kind == DocumentKind::kScenario ? "expected a scenario file (.kvs)"
                 : kind == DocumentKind::kReport ? "expected a report file (.kvr)"
                                                 : "expected a validation (.kvv)");
  }
  KVPLAN_TRY(const Frame head, expect(kHeadFrame));
  v1::DocumentHeader header;
  if (!header.ParseFromString(head.message)) return wrong("expected a DocumentHeader message");
  if (header.version() != kDocumentVersion)
    return wrong("expected " + std::to_string(kDocumentVersion) + ", found " +
                 std::to_string(header.version()) +
                 (header.version() > kDocumentVersion ? ": written by a later version of kvplan" : ""))
        .at_field("version");
  KVPLAN_TRY(Frame frame, expect(kBodyFrame));
  return std::move(frame.message);
}

Result<std::optional<DocumentReader::Frame>> DocumentReader::next() {
  KVPLAN_TRY(Frame frame, read_frame());
  if (frame.type != kTailFrame) {
    if (!is_small(frame.type[0])) return wrong("expected a frame TAIL, found " + frame.type);
    ++frames_;
    return std::optional<Frame>(std::move(frame));
  }
  v1::DocumentTail tail;
  if (!tail.ParseFromString(frame.message)) return wrong("expected a DocumentTail message");
  if (tail.frames() != frames_)
    return wrong("expected " + std::to_string(tail.frames()) + " frames, found " + std::to_string(frames_));
  frame_byte_ = input_.position();
  if (!input_.peek(1).empty()) return wrong("expected nothing after the frame TAIL");
  if (input_.failed()) return input_.error();
  return std::optional<Frame>{};
}

}  // namespace kvplan::io
