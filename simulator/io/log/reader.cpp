#include "simulator/io/log/reader.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>

#include "proto/event_log.pb.h"
#include "simulator/base/read_files.h"
#include "simulator/frame/frame.h"
#include "simulator/io/log/decode.h"
#include "simulator/io/log/frame.h"

namespace kvplan::event_log {
namespace {

namespace pb = ::kvplan::v1;

bool parse(google::protobuf::MessageLite& message, const std::string& bytes) {
  const google::protobuf::LogSilencer silencer;  // what is wrong is reported by this reader, in one line
  return message.ParseFromString(bytes);
}

}  // namespace

struct Reader::State {
  std::unique_ptr<std::istream> stream;
  std::string name;
  Header header;
  std::int64_t byte{0};        ///< of the next frame
  std::int64_t frame_byte{0};  ///< of the latest frame
  std::string type, message;
  pb::EventChunk chunk;
  int next_fact{0}, next_claim{0};
  std::int64_t facts{0}, claims{0};
  bool done{false};

  [[nodiscard]] Error wrong(std::string what) const {
    return bad_input(std::move(what)).at_file(name).at_byte(frame_byte);
  }
  [[nodiscard]] Error at_frame(Error error) const {
    return std::move(error).at_file(name).at_byte(frame_byte);
  }

  Status read_exactly(std::string& bytes, std::size_t count, const char* what) {
    // Reads in pieces, so that a frame head that promises more bytes than the file has costs no memory.
    constexpr std::size_t kPiece = std::size_t{1} << 16;
    bytes.clear();
    while (bytes.size() < count) {
      const std::size_t begin = bytes.size();
      bytes.resize(std::min(count, begin + kPiece));
      stream->read(bytes.data() + begin, static_cast<std::streamsize>(bytes.size() - begin));
      if (stream->gcount() != static_cast<std::streamsize>(bytes.size() - begin))
        return wrong(std::string("the file ends within ") + what);
    }
    return Done{};
  }

  Status read_frame() {
    frame_byte = byte;
    std::string head_bytes, stored;
    KVPLAN_TRY_DO(read_exactly(head_bytes, frame::kHeadBytes, "a frame; expected more frames up to TAIL"));
    const frame::Head head = frame::parse_head(head_bytes);
    if (head.type != kHead && head.type != kEvents && head.type != kTail)
      return wrong("expected a frame HEAD, EVTS or TAIL");
    auto good_size = frame::check_size(head, kMostFrameBytes);
    if (!good_size.ok()) return at_frame(std::move(good_size).error());
    KVPLAN_TRY_DO(read_exactly(stored, head.stored_bytes, "a frame"));
    if (!frame::checksum_holds(head_bytes, stored))
      return wrong("checksum does not match: the frame is damaged");
    auto unpacked = frame::unpack(head, stored, message);
    if (!unpacked.ok()) return at_frame(std::move(unpacked).error());
    type = head.type;
    byte += static_cast<std::int64_t>(frame::kHeadBytes + stored.size());
    return Done{};
  }

  Status read_header() {
    std::string magic;
    KVPLAN_TRY_DO(read_exactly(magic, kMagic.size(), "its first 8 bytes; expected an event log"));
    if (magic != kMagic) return wrong("expected an event log (.kve), found other first bytes");
    byte = static_cast<std::int64_t>(kMagic.size());
    KVPLAN_TRY_DO(read_frame());
    pb::EventLogHeader m;
    if (type != kHead || !parse(m, message)) return wrong("expected a frame HEAD with a header");
    auto decoded = decode_header(m);
    if (!decoded.ok()) return at_frame(std::move(decoded).error());
    header = std::move(decoded).value();
    return Done{};
  }

  /// The next chunk with facts, or `done`.
  Status read_chunk() {
    if (next_claim != chunk.claims_size())
      return wrong("a prediction refers to event " + std::to_string(chunk.claims(next_claim).fact()) +
                   ", which is out of order");
    KVPLAN_TRY_DO(read_frame());
    next_fact = next_claim = 0;
    chunk.Clear();
    if (type == kEvents) {
      if (!parse(chunk, message)) return wrong("expected events and predictions, found another message");
      return Done{};
    }
    pb::EventLogTail tail;
    if (type != kTail || !parse(tail, message)) return wrong("expected a frame EVTS or TAIL");
    if (tail.facts() != facts || tail.claims() != claims)
      return wrong("expected " + std::to_string(tail.facts()) + " facts and " +
                   std::to_string(tail.claims()) + " predictions, found " + std::to_string(facts) + " and " +
                   std::to_string(claims));
    frame_byte = byte;
    if (stream->peek() != std::istream::traits_type::eof())
      return wrong("there are bytes after the frame TAIL");
    done = true;
    return Done{};
  }
};

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::~Reader() = default;

Result<std::unique_ptr<Reader>> Reader::open(const std::string& path) {
  errno = 0;
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!file->is_open() && errno == EINTR) return interrupted_error();
  if (!file->is_open())
    return bad_input(std::string("cannot read: ") + std::strerror(errno == 0 ? EIO : errno)).at_file(path);
  note_read(path);
  return open(std::move(file), path);
}

Result<std::unique_ptr<Reader>> Reader::open(std::unique_ptr<std::istream> stream, std::string name) {
  auto state = std::make_unique<State>();
  state->stream = std::move(stream);
  state->name = std::move(name);
  KVPLAN_TRY_DO(state->read_header());
  return std::unique_ptr<Reader>(new Reader(std::move(state)));
}

const Header& Reader::header() const {
  return state_->header;
}

Result<std::optional<Record>> Reader::next() {
  State& s = *state_;
  while (!s.done && s.next_fact == s.chunk.facts_size()) KVPLAN_TRY_DO(s.read_chunk());
  if (s.done) return std::optional<Record>{};
  const int index = s.next_fact++;
  const pb::Claim* claim = nullptr;
  if (s.next_claim < s.chunk.claims_size() &&
      s.chunk.claims(s.next_claim).fact() == static_cast<std::uint32_t>(index)) {
    claim = &s.chunk.claims(s.next_claim++);
    ++s.claims;
  }
  ++s.facts;
  auto record = decode_record(s.chunk.facts(index), claim, s.header.replicas);
  if (!record.ok()) {
    Error error = std::move(record).error();
    error.field = "facts[" + std::to_string(index) + "]." + error.field;
    return s.at_frame(std::move(error));
  }
  return std::optional<Record>(std::move(record).value());
}

}  // namespace kvplan::event_log
