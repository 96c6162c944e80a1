#include "simulator/io/report_timeline.h"

#include <algorithm>

#include "proto/report.pb.h"
#include "simulator/results/report.h"

namespace kvplan::io {
namespace {

/// A sum of steps, in 64 bits with wrap-around: the numbers of a damaged file may overflow.
class Sum {
 public:
  std::int64_t add(std::int64_t step) {
    value_ += static_cast<std::uint64_t>(step);
    return static_cast<std::int64_t>(value_);
  }

 private:
  std::uint64_t value_{0};
};

bool is_row_name(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

constexpr int kMostRows = 64;

}  // namespace

void fill_message(const runs::RunResult& result, std::size_t replica, std::size_t begin, std::size_t end,
                  v1::TimelineChunk& message) {
  const runs::ReplicaDetails& from = result.details[replica];
  KVPLAN_CHECK(begin < end && end <= from.timeline.size());
  message.set_replica(static_cast<std::int32_t>(replica));
  for (std::size_t row = 0; row < observe::kTimelineRows; ++row)
    message.add_rows()->set_name(std::string(runs::timeline_row_name(row)));
  runs::BinNumbers before{};
  for (std::size_t i = begin; i < end; ++i) {
    const runs::BinNumbers bin = runs::bin_numbers(from, from.timeline[i]);
    if (i == begin) message.set_begin_ns(bin.begin_ns);
    KVPLAN_CHECK(i == begin || bin.begin_ns == before.end_ns);
    message.add_length_ns(bin.end_ns - bin.begin_ns);
    for (std::size_t row = 0; row < observe::kTimelineRows; ++row) {
      v1::TimelineRow& out = *message.mutable_rows(static_cast<int>(row));
      out.add_mean(bin.mean[row]);
      out.add_least_step(bin.least[row] - before.least[row]);
      out.add_greatest_step(bin.greatest[row] - before.greatest[row]);
    }
    before = bin;
  }
}

Status TimelineBins::check_place(const v1::TimelineChunk& message) {
  const bool first = names_.empty();
  const auto& rows = message.rows();
  if (rows.empty() || rows.size() > kMostRows)
    return bad_input("expected 1 to " + std::to_string(kMostRows) + " rows, found " +
                     std::to_string(rows.size()));
  std::vector<std::string> names;
  for (const v1::TimelineRow& row : rows) {
    if (!is_row_name(row.name())) return bad_input("expected a row name in lower case");
    if (row.mean_size() != message.length_ns_size() || row.least_step_size() != message.length_ns_size() ||
        row.greatest_step_size() != message.length_ns_size())
      return bad_input("expected " + std::to_string(message.length_ns_size()) + " entries in each row");
    names.push_back(row.name());
  }
  if (!first && names != names_) return bad_input("expected the same rows in every part of the timeline");
  if (message.length_ns_size() == 0) return bad_input("expected a bin");
  const std::int64_t next = first ? 0 : replica_;
  if (message.replica() < next || (!first && message.replica() == replica_ && message.begin_ns() != end_ns_))
    return bad_input("expected bins of replica " + std::to_string(next) + " from " + std::to_string(end_ns_) +
                     " ns, or of a later replica");
  names_ = std::move(names);
  replica_ = message.replica();
  return Done{};
}

Status TimelineBins::add(const v1::TimelineChunk& message, const Visitor& visit) {
  KVPLAN_TRY_DO(check_place(message));
  NamedBin bin;
  bin.replica = replica_;
  bin.mean.resize(names_.size());
  bin.least.resize(names_.size());
  bin.greatest.resize(names_.size());
  std::vector<Sum> least(names_.size()), greatest(names_.size());
  bin.begin_ns = message.begin_ns();
  for (int i = 0; i < message.length_ns_size(); ++i) {
    if (message.length_ns(i) < 0 || __builtin_add_overflow(bin.begin_ns, message.length_ns(i), &bin.end_ns))
      return bad_input("expected the length of a bin, found " + std::to_string(message.length_ns(i)));
    for (std::size_t row = 0; row < names_.size(); ++row) {
      const v1::TimelineRow& from = message.rows(static_cast<int>(row));
      bin.mean[row] = from.mean(i);
      bin.least[row] = least[row].add(from.least_step(i));
      bin.greatest[row] = greatest[row].add(from.greatest_step(i));
    }
    KVPLAN_TRY_DO(visit(bin));
    bin.begin_ns = bin.end_ns;
  }
  end_ns_ = bin.begin_ns;
  return Done{};
}

Result<std::string> TimelineLines::add(const v1::TimelineChunk& message) {
  const bool first = bins_.names().empty();
  std::string lines;
  KVPLAN_TRY_DO(bins_.add(message, [&](const NamedBin& bin) -> Status {
    lines.append(std::to_string(bin.replica)).append(",").append(std::to_string(bin.begin_ns)).append(",");
    lines.append(std::to_string(bin.end_ns));
    for (std::size_t row = 0; row < bin.mean.size(); ++row) {
      (lines += ',') += shortest(bin.mean[row]);
      (lines += ',') += std::to_string(bin.least[row]);
      (lines += ',') += std::to_string(bin.greatest[row]);
    }
    lines += '\n';
    return Done{};
  }));
  if (!first) return lines;
  std::string header = "replica,begin_ns,end_ns";
  for (const std::string& name : bins_.names())
    for (const auto* what : {"_mean", "_min", "_max"}) header.append(",").append(name).append(what);
  return (header += '\n') + lines;
}

}  // namespace kvplan::io
