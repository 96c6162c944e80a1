// Hostile event logs, through the reader into a replay. Checksums would reject nearly every mutation at once, so the
// first byte of the input is a choice: 0 = the rest is a file as it is; otherwise the rest is the messages of a file,
// each after its length in three bytes, around which correct frames are built.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "simulator/frame/frame.h"
#include "simulator/io/log/encoder.h"
#include "simulator/io/log/frame.h"
#include "simulator/io/log/reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/validator/hand_log.h"
#include "tests/validator/hand_log_courses.h"
#include "validator/replay/fleet_replay.h"

namespace {

using namespace kvplan;
namespace log = event_log;

std::string framed(std::string_view bytes) {
  std::vector<std::string_view> messages;
  while (bytes.size() >= 3) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 3; ++i)
      length |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    bytes.remove_prefix(3);
    length = std::min<std::size_t>({length, bytes.size(), log::kMostFrameBytes});
    messages.push_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  std::string out(log::kMagic);
  for (std::size_t i = 0; i < messages.size(); ++i)
    out += frame::make(i == 0                    ? log::kHead
                       : i + 1 < messages.size() ? log::kEvents
                                                 : log::kTail,
                       messages[i]);
  return out;
}

/// The messages of a file, in the form that `framed` takes.
std::string messages_of(std::string_view file) {
  std::string out, message;
  file.remove_prefix(log::kMagic.size());
  while (!file.empty()) {
    const frame::Head head = frame::parse_head(file.substr(0, frame::kHeadBytes));
    if (!frame::unpack(head, file.substr(frame::kHeadBytes, head.stored_bytes), message).ok()) std::abort();
    for (int shift = 0; shift < 24; shift += 8) out += static_cast<char>(message.size() >> shift & 0xFF);
    out += message;
    file.remove_prefix(frame::kHeadBytes + head.stored_bytes);
  }
  return out;
}

/// `replay`: a replay of one replica or of several.
template <class Created>
void read_into(log::Reader& reader, const Created& replay) {
  while (true) {
    auto record = reader.next();
    if (!record.ok()) return;
    if (!record.value()) break;
    if (replay.ok() && !replay.value()->apply(*record.value()).ok()) std::abort();
  }
  if (!replay.ok()) return;
  const auto report = replay.value()->finish();
  if (!report.ok()) std::abort();
  const validator::Report& r = report.value();
  // Every problem has a sentence, and every sentence a problem.
  const bool wrong = r.contradiction || r.byte_mismatches + r.place_mismatches + r.count_mismatches > 0;
  if (wrong == r.clean()) std::abort();
}

void read_and_replay(const std::string& bytes) {
  const auto reader = log::Reader::open(std::make_unique<std::istringstream>(bytes), "fuzz");
  if (!reader.ok()) return;
  const log::Header& header = reader.value()->header();
  const validator::ReplayOptions options{.full_scan_every = 16, .most_cells = 4096};
  if (header.replicas > 1) {
    const auto make = [] {
      return Result<std::unique_ptr<validator::Backend>>(validator::make_host_backend());
    };
    return read_into(*reader.value(), validator::FleetReplay::create(header, make, options));
  }
  const auto host = validator::make_host_backend();
  read_into(*reader.value(), validator::Replay::create(header, *host, options));
}

std::string file_of(const log::Header& header, const std::vector<log::Record>& records) {
  std::string bytes;
  log::Encoder encoder([&](std::string_view more) -> Status {
    bytes += more;
    return Done{};
  });
  if (!encoder.begin(header).ok()) std::abort();
  for (const log::Record& record : records)
    if (!encoder.add(record).ok()) std::abort();
  if (!encoder.finish().ok()) std::abort();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  read_and_replay(data[0] == 0 ? std::string(rest) : framed(rest));
  return 0;
}

std::vector<std::string> fuzz_seeds() {
  std::vector<std::string> seeds;
  for (const auto make :
       {test::hand_made_log, test::hand_made_course_log, test::hand_made_move_log, test::hand_made_tree_log,
        test::hand_made_priority_log, test::hand_made_groups_log, test::hand_made_fleet_log}) {
    const auto [header, records] = make();
    const std::string file = file_of(header, records);
    seeds.push_back(std::string(1, '\0') + file);
    seeds.push_back('\1' + messages_of(file));
  }
  return seeds;
}
