#include "traces/import/document_stream.h"

#include "traces/import/input_lines.h"

namespace kvplan::traces {

DocumentStream::DocumentStream(Inputs inputs, std::string_view format, SourceTraits traits)
    : input_(std::move(inputs.first)),
      rest_(std::move(inputs.rest)),
      on_read_(std::move(inputs.on_read)),
      builder_(0, traits) {
  json_.emplace(*input_);
  summary_.provenance.format = format;
  summary_.provenance.sources.push_back(file_name(input_->path()));
  for (const std::string& path : rest_) summary_.provenance.sources.push_back(file_name(path));
}

Error DocumentStream::wrong(std::int64_t byte, std::string_view field, std::string message) const {
  return bad_input(std::move(message)).at_file(path()).at_byte(byte).at_field(field);
}

Result<bool> DocumentStream::next_file() {
  if (next_file_ == rest_.size()) return false;
  json_.reset();
  KVPLAN_TRY(input_, Input::open(rest_[next_file_++], on_read_));
  json_.emplace(*input_);
  return true;
}

Result<bool> DocumentStream::next(Trace& piece) {
  builder_.begin(piece);
  if (ended_) return false;
  while (!builder_.full()) {
    KVPLAN_TRY(const bool row, read_row());
    if (!row) {
      KVPLAN_TRY(const bool more, next_file());
      if (more) continue;
      ended_ = true;
      KVPLAN_TRY_DO(finish(builder_.rows()));
      builder_.finish(summary_);
      break;
    }
    if (!builder_.add(row_)) {
      const PieceBuilder::Problem& problem = builder_.problem();
      return wrong(row_begin_, problem.field, problem.message);
    }
  }
  return piece.size() > 0;
}

}  // namespace kvplan::traces
