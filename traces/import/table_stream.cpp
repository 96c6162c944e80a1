#include "traces/import/table_stream.h"

#include <algorithm>

#include "traces/import/input_lines.h"

namespace kvplan::traces {
namespace {

SourceTraits with_ids(SourceTraits traits, bool content_ids) {
  traits.content_ids = content_ids;
  return traits;
}

}  // namespace

TableStream::TableStream(Inputs inputs, ColumnMap map, std::string_view format, SourceTraits traits)
    : map_(std::move(map)),
      names_waits_(!map_.at(Role::kId).names.empty() || !map_.at(Role::kAfter).names.empty()),
      input_(std::move(inputs.first)),
      rest_(std::move(inputs.rest)),
      on_read_(std::move(inputs.on_read)),
      builder_(map_.block_tokens, with_ids(traits, map_.content_ids)) {
  summary_.block_tokens = map_.block_tokens;
  summary_.shares_clock = !map_.at(Role::kArrival).names.empty();
  summary_.provenance.format = format;
  summary_.provenance.sources.push_back(file_name(input_->path()));
  for (const std::string& path : rest_) summary_.provenance.sources.push_back(file_name(path));
  summary_.provenance.options.push_back("map=" + to_text(map_));
  for (std::size_t r = 0; r < kRoles; ++r) {
    const TimeUnit unit = map_.columns[r].unit;
    exponent_[r] = unit == TimeUnit::kIso ? -1 : exponent_of(unit);
  }
}

Result<bool> TableStream::next_file() {
  if (next_file_ == rest_.size()) return false;
  KVPLAN_TRY(input_, Input::open(rest_[next_file_++], on_read_));
  top_pending_ = true;
  return true;
}

void TableStream::finish() {
  builder_.finish(summary_);
  std::vector<std::string>& warnings = summary_.provenance.warnings;
  if (const std::int64_t unknown = ids_.unknown(); unknown > 0)
    warnings.push_back(std::to_string(unknown) +
                       " waits refer to requests that the file does not have; they were left out.");
  if (!summary_.shares_clock)
    warnings.insert(warnings.begin(), "The file has no arrival times: all requests arrive at the same time.");
  if (map_.recognised)
    warnings.push_back("The columns were recognised by their names and values: --map " +
                       quoted_name(to_text(map_)) + ".");
  if (!map_.where.empty())
    warnings.push_back(std::to_string(other_rows_) + " rows have other values than --where asks for.");
  if (left_out_ > 0) warnings.push_back(left_out_text());
}

std::string TableStream::left_out_text() const {
  std::string out = std::to_string(left_out_) + " rows could not be read and were left out: ";
  const char* separator = "";
  for (const auto& [kind, count] : kinds_) {
    out += separator + std::to_string(count) + " x " + kind;
    separator = ", ";
  }
  out += ". The first are ";
  for (std::size_t i = 0; i < examples_.size(); ++i) out += (i == 0 ? "" : "; ") + examples_[i];
  return out + ".";
}

Status TableStream::leave_out() {
  if (!map_.skips_bad || input_->failed()) return error_here();
  ++left_out_;
  // Its kind is the sentence without what was found.
  std::string kind = problem_.substr(0, problem_.find(", found "));
  if (!problem_field_.empty()) kind = problem_field_ + ": " + kind;
  constexpr std::size_t kMostKinds = 12, kExamples = 3;
  if (!kinds_.contains(kind) && kinds_.size() >= kMostKinds) kind = "other kinds";
  ++kinds_[kind];
  if (examples_.size() < kExamples)
    examples_.push_back("line " + std::to_string(input_->line_number()) + ", " +
                        (problem_field_.empty() ? "" : problem_field_ + ": ") + problem_);
  return Done{};
}

Result<bool> TableStream::next(Trace& piece) {
  builder_.begin(piece);
  if (ended_) return false;
  std::string_view line;
  while (!builder_.full()) {
    if (top_pending_) {
      top_pending_ = false;
      if (!read_top()) return error_here();
    }
    const bool every = map_.where.empty();
    const std::string_view held = quick_ && every ? input_->held() : std::string_view();
    if (const std::size_t bytes = held.empty() ? 0 : read_held_row(held); bytes > 0) {
      input_->consume_line(bytes);
    } else if (input_->next_line(line)) {
      if (line.empty()) continue;
      if (!every && !matches(line)) {
        ++other_rows_;
        continue;
      }
      if (!read_row(line)) {
        KVPLAN_TRY_DO(leave_out());
        continue;
      }
    } else {
      if (input_->failed()) return input_->error();
      KVPLAN_TRY(const bool more, next_file());
      if (more) continue;
      if (builder_.rows() == 0)
        return bad_input("a trace without requests" + (left_out_ > 0 ? ": " + left_out_text() : ""))
            .at_file(input_->path());
      ended_ = true;
      finish();
      break;
    }
    if (names_waits_ && !ids_.resolve(builder_.rows(), row_)) {
      fail(name_of(Role::kId), "an earlier request has the same id: " + shown(row_.id));
      return error_here();
    }
    if (!builder_.add(row_)) {
      const PieceBuilder::Problem& problem = builder_.problem();
      const Role role = problem.field == "session"  ? Role::kSession
                        : problem.field == "tenant" ? Role::kTenant
                        : problem.field == "after"  ? Role::kAfter
                                                    : Role::kHashes;
      fail(name_of(role), problem.message);
      return error_here();
    }
  }
  return piece.size() > 0;
}

std::string_view TableStream::name_of(Role role) const {
  const Column& column = map_.at(role);
  return column.names.empty() ? role_name(role) : std::string_view(column.names.front());
}

bool TableStream::fail(std::string_view field, std::string message) {
  problem_field_ = field;
  problem_ = std::move(message);
  return false;
}

bool TableStream::fail_expected(Role role, std::string_view expected, std::string_view found) {
  return fail(name_of(role), "expected " + std::string(expected) + ", found " + shown(found));
}

Error TableStream::error_here() const {
  if (input_->failed()) return input_->error();
  return bad_input(problem_).at_file(input_->path()).at_line(input_->line_number()).at_field(problem_field_);
}

bool TableStream::set_time(Role role, std::string_view text, std::int64_t& value) {
  const TimeUnit unit = map_.at(role).unit;
  const std::optional<std::int64_t> time =
      unit == TimeUnit::kIso ? iso_.parse(text) : parse_time_number(text, unit);
  if (!time) {
    return fail_expected(
        role,
        unit == TimeUnit::kIso
            ? IsoTimeParser::is_out_of_range(text)
                  ? "a time of the years 1678 to 2261"
                  : "a time such as 2023-11-16 18:15:46.68 or 2024-05-10T00:00:00Z"
            : "a time of at least 0 in " + std::string(time_unit_name(unit)) + " within 292 years",
        text);
  }
  value = *time;
  return true;
}

bool TableStream::set_count(Role role, std::string_view text, std::int32_t& value) {
  const std::optional<std::int32_t> count = parse_count(text);
  if (!count) return fail_expected(role, "a whole number from 0 to 2147483647", text);
  value = *count;
  return true;
}

bool TableStream::set(Role role, std::string_view text) {
  if (text.empty() && !map_.at(role).required) return true;
  switch (role) {
    case Role::kArrival:
      return set_time(role, text, row_.arrival_ns);
    case Role::kInput:
      return set_count(role, text, row_.input_tokens);
    case Role::kOutput:
      return set_count(role, text, row_.output_tokens);
    case Role::kMaxTokens:
      return set_count(role, text, row_.max_tokens);
    case Role::kPriority:
      return set_count(role, text, row_.priority);
    case Role::kTtft:
      return set_time(role, text, row_.ttft_ns);
    case Role::kE2e:
      return set_time(role, text, row_.e2e_ns);
    case Role::kSession:
      row_.session = text;
      return true;
    case Role::kTenant:
      row_.tenant = text;
      return true;
    case Role::kThink:
    case Role::kToolWait: {
      std::int64_t pause_ns = 0;
      if (!set_time(role, text, pause_ns)) return false;
      row_.think_ns = std::max<std::int64_t>(row_.think_ns, 0);
      return !__builtin_add_overflow(row_.think_ns, pause_ns, &row_.think_ns) ||
             fail(name_of(role), "more than 292 years, together with the pause before it");
    }
    case Role::kId:
      row_.id = text;
      return true;
    case Role::kAfter:
      row_.states_after = true;
      row_.after_ids.emplace_back(text);
      return true;
    case Role::kHashes:
      return true;  // lists are read by the subclasses
  }
  return true;
}

}  // namespace kvplan::traces
