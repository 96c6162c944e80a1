#include <algorithm>
#include <limits>
#include <string>

#include "proto/trace.pb.h"
#include "simulator/frame/frame.h"
#include "traces/io/kvt.h"
#include "traces/io/kvt_frame.h"

namespace kvplan::traces {
namespace {

constexpr std::string_view kWriterName = "kvplan";

template <class Column, class Field>
void put_steps(const Column& column, Field& field) {
  std::int64_t before = 0;
  field.Reserve(static_cast<int>(column.size()));
  for (const auto value : column) {
    const auto now = static_cast<std::int64_t>(value);
    // Unsigned, so that a difference larger than the range wraps; the reader's sum wraps back.
    field.AddAlreadyReserved(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(before)));
    before = now;
  }
}

template <class T, class Field>
void put_column(const std::vector<T>& column, Field& field) {
  field.Reserve(static_cast<int>(column.size()));
  using Value = typename std::remove_reference_t<Field>::value_type;
  for (const T value : column) field.AddAlreadyReserved(static_cast<Value>(value));
}

template <class Field>
void put_names(const std::vector<std::string>& names, Field& bytes, std::string& text) {
  for (const std::string& name : names) {
    bytes.Add(static_cast<std::uint32_t>(name.size()));
    text += name;
  }
}

void put_waits(const Waits& waits, std::int64_t first_request, v1::TraceChunk& chunk) {
  std::int64_t before = first_request;
  for (std::size_t k = 0; k < waits.size(); ++k) {
    chunk.add_wait_request_step(waits.request[k] - before);
    chunk.add_wait_back(std::int64_t{waits.request[k]} - waits.before[k]);
    before = waits.request[k];
  }
}

}  // namespace

Status KvtWriter::put(std::string_view bytes) {
  position_ += bytes.size();
  return output_.write(bytes);
}

Status KvtWriter::begin(const StreamSummary& summary) {
  v1::TraceHeader header;
  header.set_version(kvt::kVersion);
  header.set_writer(std::string(kWriterName));
  header.set_block_tokens(static_cast<std::uint32_t>(summary.block_tokens));
  header.set_times_per_session(!summary.shares_clock);
  header.set_format(summary.provenance.format);
  for (const std::string& source : summary.provenance.sources) header.add_sources(source);
  for (const std::string& option : summary.provenance.options) header.add_options(option);
  std::string message = header.SerializeAsString();
  if (message.size() > kvt::kMostOtherBytes) {
    // With too many input files (say, a hundred thousand) their names are left out, and only their number is stored.
    header.clear_sources();
    header.add_sources(std::to_string(summary.provenance.sources.size()) + " files");
    message = header.SerializeAsString();
  }
  KVPLAN_TRY_DO(put(kvt::kMagic));
  return put(frame::make(kvt::kHead, message));
}

Status KvtWriter::add(const Trace& piece) {
  if (piece.size() == 0) return Done{};
  if (!piece.waits.empty() && static_cast<std::int64_t>(requests_) + piece.size() > most_with_waits_)
    return bad_input("a trace with waits has at most " + std::to_string(most_with_waits_) + " requests");
  v1::TraceChunk chunk;
  put_steps(piece.arrival_ns, *chunk.mutable_arrival_step_ns());
  put_column(piece.input_tokens, *chunk.mutable_input_tokens());
  put_column(piece.output_tokens, *chunk.mutable_output_tokens());
  if (piece.prefix.present()) {
    for (std::size_t i = 1; i < piece.prefix.offsets.size(); ++i)
      chunk.add_hash_count(static_cast<std::uint32_t>(piece.prefix.offsets[i] - piece.prefix.offsets[i - 1]));
    put_steps(piece.prefix.ids, *chunk.mutable_hash_id_step());
  }
  put_column(piece.session, *chunk.mutable_session());
  put_names(piece.session_names, *chunk.mutable_new_session_bytes(), *chunk.mutable_new_session_text());
  put_column(piece.tenant, *chunk.mutable_tenant());
  put_names(piece.tenant_names, *chunk.mutable_new_tenant_bytes(), *chunk.mutable_new_tenant_text());
  put_column(piece.max_tokens, *chunk.mutable_max_tokens());
  put_column(piece.priority, *chunk.mutable_priority());
  put_column(piece.ttft_ns, *chunk.mutable_ttft_ns());
  put_column(piece.e2e_ns, *chunk.mutable_e2e_ns());
  put_column(piece.think_ns, *chunk.mutable_think_ns());
  put_waits(piece.waits, static_cast<std::int64_t>(requests_), chunk);
  digest_.add(piece);
  chunk_offsets_.push_back(position_);
  chunk_requests_.push_back(static_cast<std::uint32_t>(piece.size()));
  requests_ += static_cast<std::uint64_t>(piece.size());
  references_ += piece.prefix.ids.size();
  const std::string message = chunk.SerializeAsString();
  KVPLAN_CHECK(message.size() <= kvt::kMostChunkBytes);
  return put(frame::make(kvt::kChunk, message));
}

Status KvtWriter::finish(const StreamSummary& summary) {
  digest_text_ = digest_.finish(summary);
  v1::TraceIndex index;
  put_column(chunk_offsets_, *index.mutable_chunk_offset());
  put_column(chunk_requests_, *index.mutable_chunk_requests());
  index.set_requests(requests_);
  index.set_references(references_);
  index.set_distinct(static_cast<std::uint64_t>(summary.distinct));
  index.set_last_may_be_partial(summary.last_may_be_partial);
  index.set_digest(digest_text_);
  for (const std::string& warning : summary.provenance.warnings) index.add_warnings(warning);
  const std::string message = index.SerializeAsString();
  if (message.size() > kvt::kMostOtherBytes) return bad_input("too many requests for one .kvt file");
  const std::uint64_t index_offset = position_;
  KVPLAN_TRY_DO(put(frame::make(kvt::kIndex, message)));
  std::string tail;
  frame::put_u64(tail, index_offset);
  tail += kvt::kEndMagic;
  return put(tail);
}

Result<WrittenTrace> write_kvt(TraceStream& stream, const std::string& path, bool (*stop)()) {
  KVPLAN_TRY(const std::unique_ptr<Output> output, create_output(path));
  KvtWriter writer(*output);
  KVPLAN_TRY_DO(writer.begin(stream.summary()));
  WrittenTrace written;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  Trace piece;
  for (;;) {
    if (stop()) return interrupted_error();
    KVPLAN_TRY(const bool more, stream.next(piece));
    if (!more) break;
    KVPLAN_TRY_DO(writer.add(piece));
    const auto [least, most] = std::minmax_element(piece.arrival_ns.begin(), piece.arrival_ns.end());
    first = std::min(first, *least);
    last = std::max(last, *most);
    written.requests += piece.size();
  }
  KVPLAN_TRY_DO(writer.finish(stream.summary()));
  KVPLAN_TRY_DO(output->commit());
  written.summary = stream.summary();
  written.summary.digest = writer.digest();
  if (written.requests > 0)
    written.span_ns = static_cast<std::int64_t>(
        std::min(Wide{last} - Wide{first}, Wide{std::numeric_limits<std::int64_t>::max()}));
  return written;
}

}  // namespace kvplan::traces
