#include "simulator/io/kva_contents.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "proto/attention.pb.h"
#include "simulator/io/kva_header.h"
#include "simulator/io/kva_limits.h"

namespace kvplan::io {
namespace {

using attention::Part;
using attention::RecordingInfo;
using attention::SequenceInfo;

constexpr std::int64_t kMaxHeaderBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMaxSequenceBytes = std::int64_t{1} << 20;
constexpr auto kFirstFrame = static_cast<std::int64_t>(kKvaMagic.size());

/// Protobuf reports broken text to standard error by itself; our one line is enough.
template <class Message>
bool parse(Message& message, const std::string& payload) {
  const google::protobuf::LogSilencer silencer;
  return message.ParseFromString(payload);
}

Status below(std::string_view field, std::int64_t value, std::int64_t limit) {
  if (value < limit) return Done{};
  return bad_input("expected less than " + std::to_string(limit) + ", found " + std::to_string(value))
      .at_field(field);
}

/// A chunk's position in the file, before it is validated.
struct RawPlace {
  std::int64_t sequence, layer, head, part, first_token, tokens;
  std::uint64_t offset;
};

class Checker {
 public:
  explicit Checker(const RecordingInfo& info) : info_(info), shape_(info) {}

  /// `sequences`: the largest number of sequences that the file may have.
  Result<ChunkEntry> entry(const RawPlace& raw, std::int64_t sequences) const {
    KVPLAN_TRY_DO(below("sequence", raw.sequence, sequences));
    KVPLAN_TRY_DO(below("layer", raw.layer, info_.layers));
    if (raw.part < 1 || raw.part > attention::kLastPart) return no_part(raw.part);
    ChunkEntry entry{
        .sequence = static_cast<std::uint32_t>(raw.sequence),
        .layer = static_cast<std::uint32_t>(raw.layer),
        .head = static_cast<std::uint32_t>(raw.head),
        .part = static_cast<Part>(raw.part),
        .first_token = raw.first_token,
        .tokens = raw.tokens,
        .offset = static_cast<std::int64_t>(std::min<std::uint64_t>(raw.offset, std::uint64_t{1} << 62))};
    if (!shape_.element(entry.part)) return no_part(raw.part);
    KVPLAN_TRY_DO(check_place(entry));
    KVPLAN_TRY_DO(check_tokens(entry));
    const RawSize size = raw_size(shape_, entry);
    if (size.least > kMaxChunkBytes)
      return bad_input("a chunk of " + std::to_string(size.least) + " bytes, at most " +
                       std::to_string(kMaxChunkBytes) + " are allowed")
          .at_field("tokens");
    return entry;
  }

 private:
  static Error no_part(std::int64_t part) {
    return bad_input("a part that this version of the file cannot have: " + std::to_string(part))
        .at_field("part");
  }

  [[nodiscard]] Status check_place(const ChunkEntry& entry) const {
    if (of_sequence(entry.part)) {
      KVPLAN_TRY_DO(below("layer", entry.layer, 1));
      return below("head", entry.head, 1);
    }
    const attention::LayerInfo* layer = shape_.layer(entry.layer);
    if (layer == nullptr)
      return bad_input("expected a layer that the header lists, found " + std::to_string(entry.layer))
          .at_field("layer");
    if (shape_.version() > 1 && !layer->parts.has(entry.part))
      return bad_input("the header does not list " + std::string(attention::part_name(entry.part)) +
                       " for layer " + std::to_string(entry.layer))
          .at_field("part");
    KVPLAN_TRY_DO(below("head", entry.head, shape_.heads(entry.part, *layer)));
    if (shape_.has_head(entry.part, *layer, static_cast<std::int32_t>(entry.head))) return Done{};
    return bad_input("expected a head that the header lists, found " + std::to_string(entry.head))
        .at_field("head");
  }

  [[nodiscard]] Status check_tokens(const ChunkEntry& entry) const {
    std::int64_t tokens = kMaxTokens;
    if (entry.part == Part::kOutputWeights) {
      KVPLAN_TRY_DO(below("sequence", entry.sequence, 1));
      tokens = shape_.layer(entry.layer)->value_size;
    } else if (entry.sequence < info_.sequences.size() && info_.sequences[entry.sequence].complete) {
      tokens = info_.sequences[entry.sequence].tokens;
    }
    if (entry.tokens > 0 && entry.first_token < tokens && entry.tokens <= tokens - entry.first_token)
      return Done{};
    return bad_input("expected tokens within the sequence's " + std::to_string(tokens) + ", found " +
                     std::to_string(entry.tokens) + " from " + std::to_string(entry.first_token))
        .at_field("tokens");
  }

  const RecordingInfo& info_;
  KvaShape shape_;
};

bool follows(const ChunkEntry& before, const ChunkEntry& entry) {
  return before.stream() < entry.stream() ||
         (before.stream() == entry.stream() && before.first_token + before.tokens <= entry.first_token);
}

Result<std::vector<ChunkEntry>> entries_from(const v1::AttentionIndex& index, const RecordingInfo& info) {
  const int count = index.sequence_size();
  for (const int other : {index.layer_size(), index.head_size(), index.part_size(), index.first_token_size(),
                          index.tokens_size(), index.offset_size()})
    if (other != count)
      return bad_input("columns of different lengths: " + std::to_string(count) + " and " +
                       std::to_string(other));
  const Checker checker(info);
  std::vector<ChunkEntry> entries;
  entries.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const std::string field = "index[" + std::to_string(i) + "]";
    const auto entry = checker.entry({.sequence = index.sequence(i),
                                      .layer = index.layer(i),
                                      .head = index.head(i),
                                      .part = index.part(i),
                                      .first_token = index.first_token(i),
                                      .tokens = index.tokens(i),
                                      .offset = index.offset(i)},
                                     static_cast<std::int64_t>(info.sequences.size()));
    if (!entry.ok()) return bad_input(entry.error().message).at_field(field + "." + entry.error().field);
    if (!entries.empty() && !follows(entries.back(), entry.value()))
      return bad_input("out of order or overlapping the entry before it").at_field(field);
    entries.push_back(entry.value());
  }
  return entries;
}

Status add_sequences(const v1::AttentionIndex& index, RecordingInfo& info) {
  for (int i = 0; i < index.sequences_size(); ++i) {
    const auto& message = index.sequences(i);
    if (message.sequence() != static_cast<std::uint32_t>(i))
      return bad_input("expected sequence " + std::to_string(i) + ", found " +
                       std::to_string(message.sequence()))
          .at_field("sequences");
    KVPLAN_TRY(SequenceInfo sequence, sequence_of(message));
    info.sequences.push_back(std::move(sequence));
  }
  if (info.sequences.empty()) return bad_input("expected at least one").at_field("sequences");
  return Done{};
}

/// Collects what the frames of a file say, up to the last complete frame.
class Walk {
 public:
  Walk(const RandomAccess& file, bool check_sums, RecordingInfo& info)
      : file_(file), check_sums_(check_sums), info_(info), checker_(info) {}

  Result<std::vector<ChunkEntry>> all() {
    for (;;) {
      KVPLAN_TRY(const auto frame, read_whole_frame(file_, at_, file_.size(), check_sums_));
      if (!frame) break;
      auto taken = take(*frame);
      if (!taken.ok()) return std::move(taken).error().at_file(file_.name()).at_byte(at_);
      at_ += frame->bytes;
    }
    info_.sequences = std::move(sequences_);
    return sorted();
  }
  /// The byte where the file ends or was cut off.
  [[nodiscard]] std::int64_t end() const { return at_; }

 private:
  Status take(const AnyFrame& frame) {
    if (frame.kind == letters(FrameKind::kSequence)) return take_sequence(frame);
    if (frame.kind == letters(FrameKind::kChunk)) return take_chunk(frame);
    return Done{};
  }

  Status take_sequence(const AnyFrame& frame) {
    v1::AttentionSequence message;
    if (static_cast<std::int64_t>(frame.payload.size()) > kMaxSequenceBytes || !parse(message, frame.payload))
      return bad_input("the frame is not an AttentionSequence message");
    KVPLAN_TRY_DO(below("sequence", message.sequence(), kMaxSequences));
    KVPLAN_TRY(sequence(message.sequence()), sequence_of(message));
    return Done{};
  }

  Status take_chunk(const AnyFrame& frame) {
    v1::AttentionChunk chunk;
    if (!parse(chunk, frame.payload)) return bad_input("the chunk is not an AttentionChunk message");
    KVPLAN_TRY(const ChunkEntry entry, checker_.entry({.sequence = chunk.sequence(),
                                                       .layer = chunk.layer(),
                                                       .head = chunk.head(),
                                                       .part = chunk.part(),
                                                       .first_token = chunk.first_token(),
                                                       .tokens = chunk.tokens(),
                                                       .offset = static_cast<std::uint64_t>(at_)},
                                                      kMaxSequences));
    sequence(entry.sequence);
    entries_.push_back(entry);
    return Done{};
  }

  SequenceInfo& sequence(std::uint32_t number) {
    while (sequences_.size() <= number) {
      sequences_.emplace_back();
      sequences_.back().complete = false;
    }
    return sequences_[number];
  }

  /// Frames may come in any order; chunks of a complete sequence are inside it.
  Result<std::vector<ChunkEntry>> sorted() {
    std::sort(entries_.begin(), entries_.end(), [](const ChunkEntry& a, const ChunkEntry& b) {
      return std::tuple(a.stream(), a.first_token) < std::tuple(b.stream(), b.first_token);
    });
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const ChunkEntry& entry = entries_[i];
      const auto wrong = [&](std::string message) {
        return bad_input(std::move(message)).at_file(file_.name()).at_byte(entry.offset);
      };
      if (i > 0 && !follows(entries_[i - 1], entry)) return wrong("overlaps another chunk");
      const SequenceInfo& of = info_.sequences[entry.sequence];
      if (of.complete && entry.part != Part::kOutputWeights && entry.first_token + entry.tokens > of.tokens)
        return wrong("expected tokens within the sequence's " + std::to_string(of.tokens));
    }
    return std::move(entries_);
  }

  const RandomAccess& file_;
  bool check_sums_;
  RecordingInfo& info_;
  Checker checker_;
  std::int64_t at_{kFirstFrame};
  std::vector<SequenceInfo> sequences_;
  std::vector<ChunkEntry> entries_;
};

/// If only some output weights exist, drops them all: code that needs them then reports them as missing.
void leave_out_broken_weights(KvaContents& contents) {
  const KvaShape shape(contents.info);
  for (attention::LayerInfo& layer : contents.info.recorded_layers) {
    if (!layer.parts.has(Part::kOutputWeights)) continue;
    const auto entries = entries_of(contents.entries, 0, static_cast<std::uint32_t>(layer.layer));
    const auto heads = shape.recorded_heads(Part::kOutputWeights, layer);
    const bool whole = std::all_of(heads.begin(), heads.end(), [&](std::int32_t head) {
      std::int64_t rows = 0;
      for (const ChunkEntry& entry :
           stream_of(entries, Part::kOutputWeights, static_cast<std::uint32_t>(head)))
        rows += entry.tokens;
      return rows == layer.value_size;
    });
    if (!whole) layer.parts.remove(Part::kOutputWeights);
  }
}

/// Sets the lengths of sequences that were cut off, and adds a line about them.
void measure_sequences(KvaContents& contents) {
  RecordingInfo& info = contents.info;
  const KvaShape shape(info);
  constexpr std::size_t kShown = 3;
  std::vector<std::string> parts;
  std::size_t broken = 0;
  for (std::size_t s = 0; s < info.sequences.size(); ++s) {
    SequenceInfo& sequence = info.sequences[s];
    if (sequence.complete) continue;
    std::int64_t least = INT64_MAX;
    for (const attention::LayerInfo& layer : info.recorded_layers) {
      const std::int64_t tokens = whole_tokens(shape, contents.entries, static_cast<std::uint32_t>(s), layer);
      least = std::min(least, tokens);
      sequence.tokens = std::max(sequence.tokens, tokens);
    }
    if (++broken > kShown) continue;
    parts.push_back("of sequence " + std::to_string(s) + " " + std::to_string(least) +
                    (least == sequence.tokens ? "" : " to " + std::to_string(sequence.tokens)) +
                    (sequence.tokens == 1 ? " token is complete" : " tokens are complete") +
                    (least == sequence.tokens ? "" : ", by layer"));
  }
  if (broken == 0 && info.cut.empty()) return;
  std::string text = info.cut.empty() ? "the recording is incomplete" : info.cut;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? ": " : "; ") + parts[i];
  if (broken > kShown) text += "; and so on for " + std::to_string(broken - kShown) + " more";
  const std::size_t whole = info.sequences.size() - broken;
  if (whole > 0)
    text += (parts.empty() ? ": " : "; ") + (broken == 0 ? "all of its" : std::to_string(whole) + " other") +
            (broken > 0 && whole == 1 ? " sequence is complete" : " sequences are complete");
  info.cut = text;
}

Result<KvaContents> read_finished(const RandomAccess& file, bool check_sums) {
  KVPLAN_TRY(const std::int64_t index_at, read_trailer(file, check_sums));
  KVPLAN_TRY(const std::string head,
             read_frame(file, FrameKind::kHeader, kFirstFrame, index_at, kMaxHeaderBytes, check_sums));
  const auto located = [&](Error error, std::int64_t at) -> Error {
    return std::move(error).at_file(file.name()).at_byte(at);
  };
  v1::AttentionHeader header;
  if (!parse(header, head))
    return located(bad_input("the header is not an AttentionHeader message"), kFirstFrame);
  auto info = info_of(header);
  if (!info.ok()) return located(std::move(info).error(), kFirstFrame);
  KvaContents out{.info = std::move(info).value(), .entries = {}, .end = index_at};
  KVPLAN_TRY(const std::string columns,
             read_frame(file, FrameKind::kIndex, index_at, file.size() - kTrailerBytes, kMaxPayloadBytes,
                        check_sums));
  v1::AttentionIndex index;
  if (!parse(index, columns))
    return located(bad_input("the index is not an AttentionIndex message"), index_at);
  if (out.info.version > 1) {
    auto added = add_sequences(index, out.info);
    if (!added.ok()) return located(std::move(added).error(), index_at);
  }
  auto entries = entries_from(index, out.info);
  if (!entries.ok()) return located(std::move(entries).error(), index_at);
  out.entries = std::move(entries).value();
  return out;
}

/// Returns nothing if the file has no complete header, or its version does not allow files that are cut off.
Result<std::optional<KvaContents>> read_broken(const RandomAccess& file, bool check_sums) {
  std::optional<KvaContents> none;
  KVPLAN_TRY(const auto head, read_whole_frame(file, kFirstFrame, file.size(), check_sums));
  if (!head || head->kind != letters(FrameKind::kHeader)) return none;
  v1::AttentionHeader header;
  if (!parse(header, head->payload) || header.version() == 1) return none;
  auto info = info_of(header);
  if (!info.ok()) return std::move(info).error().at_file(file.name()).at_byte(kFirstFrame);
  KvaContents out{.info = std::move(info).value(), .entries = {}, .end = 0};
  Walk walk(file, check_sums, out.info);
  KVPLAN_TRY(out.entries, walk.all());
  out.end = walk.end();
  out.info.cut = "the file was truncated at byte " + std::to_string(out.end) + " or is unfinished";
  if (out.info.sequences.empty())
    return bad_input(out.info.cut + ": it holds no data of any sequence")
        .at_file(file.name())
        .at_byte(out.end);
  return std::optional(std::move(out));
}

Result<KvaContents> read_any(const RandomAccess& file, bool check_sums) {
  KVPLAN_TRY(const bool finished, has_trailer(file));
  if (!finished) {
    KVPLAN_TRY(auto broken, read_broken(file, check_sums));
    if (broken) return std::move(*broken);
  }
  return read_finished(file, check_sums);
}

}  // namespace

std::span<const ChunkEntry> entries_of(std::span<const ChunkEntry> entries, std::uint32_t sequence,
                                       std::uint32_t layer) {
  const auto place = std::pair(sequence, layer);
  const auto of_layer = [](const ChunkEntry& entry) { return std::pair(entry.sequence, entry.layer); };
  const auto begin =
      std::lower_bound(entries.begin(), entries.end(), place,
                       [&](const auto& entry, const auto& at) { return of_layer(entry) < at; });
  const auto end = std::upper_bound(begin, entries.end(), place,
                                    [&](const auto& at, const auto& entry) { return at < of_layer(entry); });
  return {begin, end};
}

std::span<const ChunkEntry> stream_of(std::span<const ChunkEntry> entries, Part part, std::uint32_t head) {
  const auto place = std::pair(part, head);
  const auto of_stream = [](const ChunkEntry& entry) { return std::pair(entry.part, entry.head); };
  const auto begin =
      std::lower_bound(entries.begin(), entries.end(), place,
                       [&](const auto& entry, const auto& at) { return of_stream(entry) < at; });
  const auto end = std::upper_bound(begin, entries.end(), place,
                                    [&](const auto& at, const auto& entry) { return at < of_stream(entry); });
  return {begin, end};
}

namespace {

/// Tokens of one stream from token 0 on without a gap; for rows, gaps are allowed, up to the last row.
std::int64_t stream_tokens(std::span<const ChunkEntry> entries, Part part, std::int32_t head) {
  std::int64_t out = 0;
  for (const ChunkEntry& entry : stream_of(entries, part, static_cast<std::uint32_t>(head))) {
    if (entry.first_token != out && !is_rows(part)) break;
    out = entry.first_token + entry.tokens;
  }
  return out;
}

}  // namespace

std::int64_t whole_tokens(const KvaShape& shape, std::span<const ChunkEntry> entries, std::uint32_t sequence,
                          const attention::LayerInfo& layer) {
  constexpr std::int64_t kNone = kMaxTokens + 1;
  std::int64_t out = kNone;
  const auto mine = entries_of(entries, sequence, static_cast<std::uint32_t>(layer.layer));
  for (std::uint32_t p = 1; p <= attention::kLastPart; ++p) {
    const auto part = static_cast<Part>(p);
    if (!of_tokens(part) || !layer.parts.has(part)) continue;
    for (const std::int32_t head : shape.recorded_heads(part, layer))
      out = std::min(out, stream_tokens(mine, part, head));
  }
  if (out == kNone) return 0;
  for (const Part part : {Part::kTokenClasses, Part::kPositions})
    if (shape.element(part)) out = std::min(out, stream_tokens(entries_of(entries, sequence, 0), part, 0));
  return out;
}

Result<KvaContents> read_contents(const std::shared_ptr<const RandomAccess>& file, bool check_sums) {
  std::string magic(kKvaMagic.size(), '\0');
  if (file->size() == 0) return bad_input("the file is empty").at_file(file->name());
  if (file->size() >= kFirstFrame) KVPLAN_TRY_DO(file->read(0, magic.data(), kFirstFrame));
  if (magic != kKvaMagic)
    return bad_input("not an attention recording: the first 8 bytes are not those of a .kva file")
        .at_file(file->name())
        .at_byte(0);
  KVPLAN_TRY(KvaContents out, read_any(*file, check_sums));
  if (out.info.version > 1) {
    measure_sequences(out);
    leave_out_broken_weights(out);
  }
  assume_sizes(out.info);
  return out;
}

}  // namespace kvplan::io
