#include "simulator/io/kva_chunks.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <utility>

#include "proto/attention.pb.h"
#include "simulator/io/kva_limits.h"

namespace kvplan::io {

RawSize raw_size(const KvaShape& shape, const ChunkEntry& entry) {
  const std::int64_t element = shape.element_bytes(entry.part);
  if (!is_rows(entry.part)) {
    const std::int64_t bytes = entry.tokens * shape.numbers(entry.part, entry.layer) * element;
    return {bytes, bytes};
  }
  const std::int64_t weights = weights_in_rows(entry.first_token, entry.tokens);
  if (!shape.lists_top(entry.part)) return {weights * element, weights * element};
  const std::int64_t empty = entry.tokens * (4 + element);
  return {empty, std::min(kMaxChunkBytes, empty + weights * (4 + element))};
}

Result<std::string> read_chunk(const ChunkSource& source, const KvaShape& shape, const ChunkEntry& entry) {
  // A compressed payload may be a little larger than its data; 1 MiB covers every codec's worst case.
  constexpr std::int64_t kMostPayload = kMaxChunkBytes + (std::int64_t{1} << 20);
  KVPLAN_TRY(const std::string payload, read_frame(*source.file, FrameKind::kChunk, entry.offset, source.end,
                                                   kMostPayload, source.check_sums));
  const auto wrong = [&](std::string message) {
    return bad_input(std::move(message)).at_file(source.file->name()).at_byte(entry.offset);
  };
  v1::AttentionChunk chunk;
  {
    const google::protobuf::LogSilencer silencer;
    if (!chunk.ParseFromString(payload)) return wrong("the chunk is not an AttentionChunk message");
  }
  const bool same = chunk.sequence() == entry.sequence && chunk.layer() == entry.layer &&
                    chunk.head() == entry.head &&
                    static_cast<std::uint32_t>(chunk.part()) == static_cast<std::uint32_t>(entry.part) &&
                    chunk.first_token() == entry.first_token && chunk.tokens() == entry.tokens;
  if (!same) return wrong("the chunk does not match its index entry");
  const RawSize size = raw_size(shape, entry);
  if (chunk.raw_bytes() < static_cast<std::uint64_t>(size.least) ||
      chunk.raw_bytes() > static_cast<std::uint64_t>(size.most))
    return wrong("raw_bytes: expected " + std::to_string(size.least) +
                 (size.most > size.least ? " to " + std::to_string(size.most) : "") + " for " +
                 std::to_string(entry.tokens) + " tokens, found " + std::to_string(chunk.raw_bytes()));
  auto raw = decompress(chunk.data(), static_cast<Codec>(chunk.codec()),
                        static_cast<std::int64_t>(chunk.raw_bytes()),
                        shape.version() == 1 ? 0 : shape.element_bytes(entry.part));
  if (!raw.ok()) return wrong(raw.error().message);
  return raw;
}

}  // namespace kvplan::io
