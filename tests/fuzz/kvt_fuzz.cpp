// Hostile .kvt files. Checksums would reject nearly every mutation at once, so the first byte of the input is a
// choice: 0 = the rest is a file as it is; otherwise the rest is the messages of a file, around which correct frames
// are built.
#include <cstdlib>

#include "proto/trace.pb.h"
#include "simulator/frame/frame.h"
#include "tests/fuzz/fuzz.h"
#include "traces/io/kvt.h"
#include "traces/io/kvt_frame.h"

namespace {

using namespace kvplan;
using namespace kvplan::traces;

/// Frames around messages that follow each other, each after its length in two bytes: header, chunks, index.
std::string framed(std::string_view bytes) {
  std::vector<std::string_view> messages;
  while (bytes.size() >= 2) {
    std::size_t length = static_cast<unsigned char>(bytes[0]) + 256U * static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(2);
    length = std::min(length, bytes.size());
    messages.push_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  std::string out(kvt::kMagic);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    last = out.size();
    out += frame::make(i == 0                    ? kvt::kHead
                       : i + 1 < messages.size() ? kvt::kChunk
                                                 : kvt::kIndex,
                       messages[i]);
  }
  frame::put_u64(out, last);
  return out + std::string(kvt::kEndMagic);
}

std::string with_length(const std::string& message) {
  std::string out;
  out += static_cast<char>(message.size() & 255);
  out += static_cast<char>(message.size() >> 8);
  return out + message;
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  v1::TraceHeader header;
  header.set_version(1);
  header.set_block_tokens(16);
  header.set_format("f");
  v1::TraceChunk chunk;
  for (const int step : {5, 3, -2}) chunk.add_arrival_step_ns(step);
  for (const unsigned tokens : {33U, 16U, 0U}) chunk.add_input_tokens(tokens);
  for (const unsigned tokens : {1U, 2U, 300U}) chunk.add_output_tokens(tokens);
  for (const unsigned count : {3U, 1U, 0U}) chunk.add_hash_count(count);
  for (const int step : {0, 1, 1, -2}) chunk.add_hash_id_step(step);
  for (const int session : {0, -1, 1}) chunk.add_session(session);
  chunk.add_new_session_bytes(1);
  chunk.add_new_session_bytes(2);
  chunk.set_new_session_text("abc");
  for (const int limit : {-1, 5, 6}) chunk.add_max_tokens(limit);
  for (const int priority : {0, -1, 2}) chunk.add_priority(priority);
  v1::TraceIndex index;
  index.add_chunk_requests(3);
  index.set_requests(3);
  index.set_references(4);
  index.set_distinct(3);
  index.set_digest("0000000000000000");
  const std::string messages = with_length(header.SerializeAsString()) +
                               with_length(chunk.SerializeAsString()) +
                               with_length(index.SerializeAsString());
  return {std::string("\x01") + messages, std::string(1, '\0') + framed(messages)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string bytes = data[0] == 0 ? std::string(rest) : framed(rest);
  Result<std::unique_ptr<ByteSource>> source = open_memory(bytes, "fuzz");
  if (!source.ok()) return 0;
  Result<std::unique_ptr<TraceStream>> stream =
      open_kvt(std::make_unique<Input>(std::move(source).value(), "fuzz"));
  if (!stream.ok()) return stream.error().to_string().find('\n') == std::string::npos ? 0 : (std::abort(), 0);
  Trace piece;
  for (;;) {
    const Result<bool> more = stream.value()->next(piece);
    if (!more.ok()) return more.error().to_string().find('\n') == std::string::npos ? 0 : (std::abort(), 0);
    if (!more.value()) return 0;
    for (const std::uint32_t id : piece.prefix.ids)
      if (id >= stream.value()->summary().distinct) std::abort();
    if (piece.input_tokens.size() != piece.arrival_ns.size()) std::abort();
  }
}
