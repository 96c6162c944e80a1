#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <type_traits>

#include "proto/trace.pb.h"
#include "simulator/frame/frame.h"
#include "traces/io/kvt.h"
#include "traces/io/kvt_frame.h"
#include "traces/io/packed_column.h"

namespace kvplan::traces {
namespace {

/// A running sum of differences, in 64 bits with wrap-around: the writer's differences may wrap.
class Sum {
 public:
  std::int64_t add(std::int64_t step) {
    value_ += static_cast<std::uint64_t>(step);
    return static_cast<std::int64_t>(value_);
  }

 private:
  std::uint64_t value_{0};
};

/// Calls `take` with each number of a column; if the column was not extracted, Protobuf has read it. Returns false if
/// the column is broken.
template <class Field, class Take>
bool each_number(const kvt::Column& column, const Field& field, Take&& take) {
  if (!column.taken) {
    for (const auto number : field) take(number);
    return true;
  }
  if constexpr (std::is_signed_v<typename Field::value_type>) {
    return kvt::each_sint64(column.varints, take);
  } else {
    return kvt::each_varint(
        column.varints, [&](std::uint64_t number) { take(static_cast<typename Field::value_type>(number)); });
  }
}
template <class Field>
std::int64_t numbers_in(const kvt::Column& column, const Field& field) {
  return column.taken ? static_cast<std::int64_t>(kvt::count_varints(column.varints)) : field.size();
}

class KvtReader final : public TraceStream {
 public:
  explicit KvtReader(std::unique_ptr<Input> input) : input_(std::move(input)) {}
  Status read_head();
  Result<bool> next(Trace& piece) override;
  [[nodiscard]] const StreamSummary& summary() const override { return summary_; }
  [[nodiscard]] double share_read() const override { return input_->share_consumed(); }

 private:
  enum Taken : std::size_t { kArrivals, kInputs, kOutputs, kCounts, kIds };  ///< in columns_
  /// Reads the next frame: its type into `head_`, its message into `message_`.
  Status read_frame();
  Status read_chunk(Trace& piece);
  Status read_index();
  Status read_tail();
  Status take_arrivals(Trace& piece);
  Status take_tokens(Trace& piece);
  template <class Field>
  Status take_tokens(Taken which, const Field& field, std::string_view name,
                     std::vector<std::int32_t>& column);
  Status take_prefix(Trace& piece);
  /// The error for the first invalid id of the chunk. `distinct`: number of ids before the chunk.
  [[nodiscard]] Error wrong_id(std::uint64_t distinct) const;
  /// The error for the first count of ids that is too large.
  [[nodiscard]] Error wrong_count(const Trace& piece) const;
  [[nodiscard]] Error no_chunk() const { return wrong("expected a TraceChunk message"); }
  Status take_names(const google::protobuf::RepeatedField<std::uint32_t>& bytes, const std::string& text,
                    std::string_view field, std::int64_t& known, std::vector<std::string>& names);
  Status take_waits(Trace& piece);
  template <class Field, class T>
  Status take_optional(const Field& field, std::string_view name, std::int64_t limit, std::vector<T>& column);

  [[nodiscard]] Error wrong(std::string message) const {
    return bad_input(std::move(message)).at_file(input_->path()).at_byte(frame_offset_);
  }
  [[nodiscard]] Error wrong(std::string_view field, std::string message) const {
    return wrong(std::move(message)).at_field(field);
  }
  [[nodiscard]] Error truncated() const;

  std::unique_ptr<Input> input_;
  std::int64_t frame_offset_{0};
  frame::Head head_{};
  std::string message_;
  /// The chunk's largest columns, read from their bytes in `message_`.
  std::array<kvt::Column, 5> columns_{};
  std::string rest_;  ///< the rest of the chunk, without these columns
  v1::TraceChunk chunk_;
  StreamSummary summary_;
  TraceDigest digest_;
  bool ended_{false};
  std::int64_t rows_{0};  ///< in the current chunk
  std::int64_t sessions_{0};
  std::int64_t tenants_{0};
  std::uint64_t requests_{0};
  std::uint64_t references_{0};
  std::vector<std::uint64_t> chunk_offsets_;
  std::vector<std::uint32_t> chunk_requests_;
};

Error KvtReader::truncated() const {
  if (input_->failed()) return input_->error();
  return wrong("the file is truncated: it ends in the middle of this part");
}

Status KvtReader::read_frame() {
  for (;;) {
    frame_offset_ = input_->position();
    const std::string head_bytes(input_->take(frame::kHeadBytes));
    if (head_bytes.size() < frame::kHeadBytes) return truncated();
    head_ = frame::parse_head(head_bytes);
    const bool known = head_.type == kvt::kHead || head_.type == kvt::kChunk || head_.type == kvt::kIndex;
    // Parts added by a later version that older readers may skip begin with a small letter.
    const bool may_skip = !known && head_.type[0] >= 'a' && head_.type[0] <= 'z';
    if (!known && !may_skip) return wrong("expected a part HEAD, CHNK or INDX, found other bytes");
    const Status good_size = frame::check_size(head_, kvt::most_bytes(head_.type));
    if (!good_size.ok()) return wrong(good_size.error().message);
    const std::string_view stored = input_->take(head_.stored_bytes);
    if (stored.size() < head_.stored_bytes) return truncated();
    if (!frame::checksum_holds(head_bytes, stored))
      return wrong("checksum does not match: the file is damaged");
    if (may_skip) continue;
    const Status unpacked = frame::unpack(head_, stored, message_);
    if (!unpacked.ok()) return wrong(unpacked.error().message);
    return Done{};
  }
}

Status KvtReader::read_head() {
  if (input_->take(kvt::kMagic.size()) != kvt::kMagic) return wrong("expected a .kvt file");
  KVPLAN_TRY_DO(read_frame());
  v1::TraceHeader header;
  if (head_.type != kvt::kHead || !header.ParseFromString(message_))
    return wrong("expected the header of a .kvt file");
  if (header.version() != kvt::kVersion)
    return wrong("version",
                 "expected " + std::to_string(kvt::kVersion) + ", found " + std::to_string(header.version()) +
                     (header.version() > kvt::kVersion ? ": written by a later version of kvplan" : ""));
  if (header.block_tokens() > (1U << 30)) return wrong("block_tokens", "expected at most 2^30");
  summary_.block_tokens = header.block_tokens();
  summary_.shares_clock = !header.times_per_session();
  summary_.provenance.format = header.format();
  summary_.provenance.sources.assign(header.sources().begin(), header.sources().end());
  summary_.provenance.options.assign(header.options().begin(), header.options().end());
  return Done{};
}

Result<bool> KvtReader::next(Trace& piece) {
  // The vector is reused, not cleared: new elements would be filled with zeros first.
  std::vector<std::uint32_t> ids = std::move(piece.prefix.ids);
  clear_columns(piece);
  if (summary_.block_tokens > 0 && !ended_) piece.prefix.ids = std::move(ids);
  piece.prefix.block_tokens = summary_.block_tokens;
  if (ended_) return false;
  KVPLAN_TRY_DO(read_frame());
  if (head_.type == kvt::kChunk) {
    KVPLAN_TRY_DO(read_chunk(piece));
    return true;
  }
  if (head_.type != kvt::kIndex) return wrong("expected one header, found a second");
  KVPLAN_TRY_DO(read_index());
  KVPLAN_TRY_DO(read_tail());
  ended_ = true;
  return false;
}

Status KvtReader::read_chunk(Trace& piece) {
  columns_ = {{{v1::TraceChunk::kArrivalStepNsFieldNumber},
               {v1::TraceChunk::kInputTokensFieldNumber},
               {v1::TraceChunk::kOutputTokensFieldNumber},
               {v1::TraceChunk::kHashCountFieldNumber},
               {v1::TraceChunk::kHashIdStepFieldNumber}}};
  if (!kvt::take_columns(message_, columns_, rest_) || !chunk_.ParseFromString(rest_)) return no_chunk();
  if (chunk_.hash_id_step_size() != 0) return no_chunk();  // the column was split into several parts
  rows_ = numbers_in(columns_[kArrivals], chunk_.arrival_step_ns());
  if (rows_ == 0) return wrong("arrival_step_ns", "a chunk without requests");
  KVPLAN_TRY_DO(take_arrivals(piece));
  KVPLAN_TRY_DO(take_tokens(piece));
  KVPLAN_TRY_DO(take_prefix(piece));
  KVPLAN_TRY_DO(take_names(chunk_.new_session_bytes(), chunk_.new_session_text(), "new_session_bytes",
                           sessions_, piece.session_names));
  KVPLAN_TRY_DO(take_names(chunk_.new_tenant_bytes(), chunk_.new_tenant_text(), "new_tenant_bytes", tenants_,
                           piece.tenant_names));
  constexpr std::int64_t kInt32 = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kInt64 = std::numeric_limits<std::int64_t>::max();
  KVPLAN_TRY_DO(take_optional(chunk_.session(), "session", sessions_ - 1, piece.session));
  KVPLAN_TRY_DO(take_optional(chunk_.tenant(), "tenant", tenants_ - 1, piece.tenant));
  KVPLAN_TRY_DO(take_optional(chunk_.max_tokens(), "max_tokens", kInt32, piece.max_tokens));
  KVPLAN_TRY_DO(take_optional(chunk_.priority(), "priority", kInt32, piece.priority));
  KVPLAN_TRY_DO(take_optional(chunk_.ttft_ns(), "ttft_ns", kInt64, piece.ttft_ns));
  KVPLAN_TRY_DO(take_optional(chunk_.e2e_ns(), "e2e_ns", kInt64, piece.e2e_ns));
  KVPLAN_TRY_DO(take_optional(chunk_.think_ns(), "think_ns", kInt64, piece.think_ns));
  KVPLAN_TRY_DO(take_waits(piece));
  digest_.add(piece);
  chunk_offsets_.push_back(static_cast<std::uint64_t>(frame_offset_));
  chunk_requests_.push_back(static_cast<std::uint32_t>(rows_));
  requests_ += static_cast<std::uint64_t>(rows_);
  references_ += piece.prefix.ids.size();
  return Done{};
}

Status KvtReader::take_arrivals(Trace& piece) {
  piece.arrival_ns.resize(static_cast<std::size_t>(rows_));
  std::int64_t* out = piece.arrival_ns.data();
  Sum time;
  const bool whole = each_number(columns_[kArrivals], chunk_.arrival_step_ns(),
                                 [&](std::int64_t step) { *out++ = time.add(step); });
  return whole ? Status(Done{}) : no_chunk();
}

template <class Field>
Status KvtReader::take_tokens(Taken which, const Field& field, std::string_view name,
                              std::vector<std::int32_t>& column) {
  column.resize(static_cast<std::size_t>(rows_));
  std::int32_t* out = column.data();
  const std::int32_t* const end = out + rows_;
  std::int64_t found = 0;
  std::int32_t all = 0;
  const bool whole = each_number(columns_[which], field, [&](std::uint32_t tokens) {
    ++found;
    if (out == end) return;
    *out = static_cast<std::int32_t>(tokens);
    all |= *out++;
  });
  if (found != rows_)
    return wrong(name, "expected " + std::to_string(rows_) + " entries, found " + std::to_string(found));
  if (!whole) return no_chunk();
  if (all >= 0) return Done{};
  const auto wrong_one =
      std::find_if(column.begin(), column.end(), [](std::int32_t tokens) { return tokens < 0; });
  return wrong(name, "expected at most 2147483647 tokens, found " +
                         std::to_string(static_cast<std::uint32_t>(*wrong_one)));
}

Status KvtReader::take_tokens(Trace& piece) {
  KVPLAN_TRY_DO(take_tokens(kInputs, chunk_.input_tokens(), "input_tokens", piece.input_tokens));
  return take_tokens(kOutputs, chunk_.output_tokens(), "output_tokens", piece.output_tokens);
}

Status KvtReader::take_prefix(Trace& piece) {
  const std::int64_t block = summary_.block_tokens;
  const std::string_view id_steps = columns_[kIds].varints;
  if (block == 0) {
    if (numbers_in(columns_[kCounts], chunk_.hash_count()) != 0 || !id_steps.empty())
      return wrong("hash_count", "prefix ids in a trace without a block size");
    return Done{};
  }
  piece.prefix.offsets.resize(static_cast<std::size_t>(rows_) + 1);
  std::uint64_t* const offsets = piece.prefix.offsets.data();
  const std::int32_t* const input = piece.input_tokens.data();
  std::int64_t found = 0;
  std::uint64_t end = 0;
  bool good = true;
  const bool whole = each_number(columns_[kCounts], chunk_.hash_count(), [&](std::uint32_t count) {
    if (found++ >= rows_) return;
    // There are at most as many ids as the prompt has blocks: count - 1 full blocks are shorter than the prompt.
    good = good && count <= kMaxIdsPerRequest && (std::int64_t{count} - 1) * block < input[found - 1];
    end += count;
    offsets[found] = end;
  });
  if (found != rows_)
    return wrong("hash_count",
                 "expected " + std::to_string(rows_) + " entries, found " + std::to_string(found));
  if (!whole) return no_chunk();
  if (!good) return wrong_count(piece);
  piece.prefix.ids.resize(end);
  const auto before = static_cast<std::uint64_t>(summary_.distinct);
  const kvt::DecodedIds ids = kvt::decode_ids(id_steps, before, piece.prefix.ids.data(), end);
  if (!ids.whole || ids.count != end) {
    const std::size_t steps = kvt::count_varints(id_steps);
    if (end == steps) return no_chunk();
    return wrong("hash_id_step", "expected " + std::to_string(end) + " ids as hash_count says, found " +
                                     std::to_string(steps));
  }
  // First checks without branches whether any id is wrong; which one matters only for the error.
  if (!ids.dense || ids.distinct > UINT32_MAX) return wrong_id(before);
  summary_.distinct = static_cast<std::int64_t>(ids.distinct);
  return Done{};
}

Error KvtReader::wrong_count(const Trace& piece) const {
  const std::vector<std::uint64_t>& offsets = piece.prefix.offsets;
  for (std::size_t i = 0;; ++i) {
    const auto count = static_cast<std::int64_t>(offsets[i + 1] - offsets[i]);
    const std::int64_t most =
        std::min(ceil_div(piece.input_tokens[i], summary_.block_tokens), kMaxIdsPerRequest);
    if (count > most)
      return wrong("hash_count", "expected at most " + std::to_string(most) + " ids for this prompt, found " +
                                     std::to_string(count));
  }
}

Error KvtReader::wrong_id(std::uint64_t distinct) const {
  std::uint64_t id = 0;
  std::uint64_t first = 0;
  bool known = false;
  kvt::each_sint64(columns_[kIds].varints, [&](std::int64_t step) {
    id += static_cast<std::uint64_t>(step);
    if (known) return;
    known = id > distinct || id >= UINT32_MAX;
    first = id;
    if (id == distinct && !known) ++distinct;
  });
  return wrong("hash_id_step", "expected an id from 0 to " + std::to_string(distinct) + ", found " +
                                   std::to_string(static_cast<std::int64_t>(first)));
}

Status KvtReader::take_names(const google::protobuf::RepeatedField<std::uint32_t>& bytes,
                             const std::string& text, std::string_view field, std::int64_t& known,
                             std::vector<std::string>& names) {
  if (bytes.size() > rows_) return wrong(field, "more new names than requests");
  std::size_t at = 0;
  for (const std::uint32_t length : bytes) {
    if (length == 0 || length > kMaxNameBytes || length > text.size() - at)
      return wrong(field, "expected names of 1 to " + std::to_string(kMaxNameBytes) +
                              " bytes within the text, found " + std::to_string(length));
    names.push_back(text.substr(at, length));
    at += length;
  }
  if (at != text.size()) return wrong(field, "text after the last name");
  known += bytes.size();
  return Done{};
}

template <class Field, class T>
Status KvtReader::take_optional(const Field& field, std::string_view name, std::int64_t limit,
                                std::vector<T>& column) {
  if (field.empty()) return Done{};
  if (field.size() != rows_)
    return wrong(name, "expected " + std::to_string(rows_) + " entries or none, found " +
                           std::to_string(field.size()));
  column.reserve(static_cast<std::size_t>(rows_));
  for (const T value : field) {
    if (value < -1 || value > limit)
      return wrong(name, "expected -1 to " + std::to_string(limit) + ", found " + std::to_string(value));
    column.push_back(value);
  }
  return Done{};
}

Status KvtReader::take_waits(Trace& piece) {
  if (chunk_.wait_back_size() != chunk_.wait_request_step_size())
    return wrong("wait_back", "expected " + std::to_string(chunk_.wait_request_step_size()) +
                                  " entries as in wait_request_step, found " +
                                  std::to_string(chunk_.wait_back_size()));
  const auto first = static_cast<std::int64_t>(requests_);
  const std::int64_t end = first + rows_;
  Sum request;
  request.add(first);
  std::array<std::int64_t, 3> last{-1, -1, -1};
  for (int k = 0; k < chunk_.wait_back_size(); ++k) {
    const std::int64_t waiting = request.add(chunk_.wait_request_step(k));
    const auto before = static_cast<std::int64_t>(static_cast<std::uint64_t>(waiting) -
                                                  static_cast<std::uint64_t>(chunk_.wait_back(k)));
    const std::array<std::int64_t, 3> now{std::max(waiting, before), waiting, before};
    if (waiting < 0 || before < 0 || now[0] < first || now[0] >= end || end > kMostRequestsWithWaits)
      return wrong("wait_back", "expected waits with a later request from " + std::to_string(first) + " to " +
                                    std::to_string(end - 1) + ", found request " + std::to_string(waiting) +
                                    " after " + std::to_string(before));
    if (now <= last)
      return wrong("wait_request_step", "expected waits in order, each once, found request " +
                                            std::to_string(waiting) + " after " + std::to_string(before));
    last = now;
    piece.waits.request.push_back(static_cast<std::int32_t>(waiting));
    piece.waits.before.push_back(static_cast<std::int32_t>(before));
  }
  return Done{};
}

Status KvtReader::read_index() {
  v1::TraceIndex index;
  if (!index.ParseFromString(message_)) return wrong("expected a TraceIndex message");
  if (requests_ == 0) return wrong("a trace without requests");
  if (!std::equal(index.chunk_offset().begin(), index.chunk_offset().end(), chunk_offsets_.begin(),
                  chunk_offsets_.end()) ||
      !std::equal(index.chunk_requests().begin(), index.chunk_requests().end(), chunk_requests_.begin(),
                  chunk_requests_.end()))
    return wrong("the index does not match the chunks of this file");
  const auto same = [&](std::string_view field, std::uint64_t said, std::uint64_t found) -> Status {
    if (said == found) return Done{};
    return wrong(field,
                 "the index says " + std::to_string(said) + ", the chunks have " + std::to_string(found));
  };
  KVPLAN_TRY_DO(same("requests", index.requests(), requests_));
  KVPLAN_TRY_DO(same("references", index.references(), references_));
  KVPLAN_TRY_DO(same("distinct", index.distinct(), static_cast<std::uint64_t>(summary_.distinct)));
  summary_.last_may_be_partial = index.last_may_be_partial();
  summary_.provenance.warnings.assign(index.warnings().begin(), index.warnings().end());
  summary_.digest = digest_.finish(summary_);
  if (index.digest() != summary_.digest)
    return wrong("digest", "the columns give " + summary_.digest + ", the index has a different digest");
  return Done{};
}

Status KvtReader::read_tail() {
  const auto index_offset = static_cast<std::uint64_t>(frame_offset_);
  frame_offset_ = input_->position();
  const std::string tail(input_->take(16));
  if (tail.size() < 16) return truncated();
  if (frame::get_u64(tail) != index_offset || std::string_view(tail).substr(8) != kvt::kEndMagic)
    return wrong("expected the offset of the index and the end mark");
  if (!input_->peek(1).empty()) return wrong("bytes after the end mark");
  if (input_->failed()) return input_->error();
  return Done{};
}

}  // namespace

bool looks_like_kvt(Input& input) {
  return input.peek(kvt::kMagic.size()) == kvt::kMagic;
}

Result<std::unique_ptr<TraceStream>> open_kvt(std::unique_ptr<Input> input) {
  auto reader = std::make_unique<KvtReader>(std::move(input));
  KVPLAN_TRY_DO(reader->read_head());
  return std::unique_ptr<TraceStream>(std::move(reader));
}

}  // namespace kvplan::traces
