#include "gui/views/requests/requests_data.h"

#include <QCoreApplication>
#include <array>

#include "gui/viewmodel/formatting.h"

namespace kvplan::gui {
namespace {

using observe::RequestRecord;
using observe::RequestStatus;

/// The context of these texts for translators.
struct Requests {
  Q_DECLARE_TR_FUNCTIONS(Requests)
};

double since(SimTime time) {
  return seconds(time.since_start);
}

TableValue times(bool known, double value) {
  return known ? TableValue(value) : TableValue();
}

/// e2e less TTFT over the further tokens, as in reports.
TableValue tpot(const RequestRecord& r, std::int64_t output) {
  const bool known = r.status == RequestStatus::kCompleted && output > 1;
  return times(known, known ? seconds(r.finish - r.first_token) / static_cast<double>(output - 1) : 0);
}

TableValue value_of(const Inspection& inspection, std::size_t i, RequestColumn column) {
  const runs::RunResult& run = inspection.run;
  const RequestRecord& r = run.records[i];
  switch (column) {
    case RequestColumn::kRequest:
      return static_cast<std::int64_t>(i);
    case RequestColumn::kStatus:
      return status_text(r.status);
    case RequestColumn::kArrival:
      return times(r.status != RequestStatus::kNotArrived, since(r.arrival));
    case RequestColumn::kQueue:
      return times(r.scheduled, seconds(r.first_scheduled - r.arrival));
    case RequestColumn::kTtft:
      return times(r.has_first_token, seconds(r.first_token - r.arrival));
    case RequestColumn::kTpot:
      return tpot(r, run.output[i]);
    case RequestColumn::kE2e:
      return times(r.status == RequestStatus::kCompleted, seconds(r.finish - r.arrival));
    case RequestColumn::kInput:
      return std::int64_t{run.input[i]};
    case RequestColumn::kOutput:
      return std::int64_t{run.output[i]};
    case RequestColumn::kTokens:
      return std::int64_t{run.input[i]} + run.output[i];
    case RequestColumn::kPreemptions:
      return std::int64_t{r.preemptions};
    case RequestColumn::kComputed:
      return r.computed_tokens;
    case RequestColumn::kPrefixHit:
      return std::int64_t{r.prefix_hit_tokens};
    case RequestColumn::kPeakHeld:
      return static_cast<std::int64_t>(run.held[i].most_alloc_units *
                                       run.details.front().layout.alloc_unit_bytes());
    case RequestColumn::kHeld:
      return static_cast<double>(run.held[i].alloc_unit_ticks *
                                 run.details.front().layout.alloc_unit_bytes()) /
             (static_cast<double>(kTicksPerNs) * static_cast<double>(kNsPerSecond));
    case RequestColumn::kReplica:
      return run.replica_of[i] < 0 ? TableValue() : TableValue(std::int64_t{run.replica_of[i]});
  }
  return {};
}

}  // namespace

QString status_text(RequestStatus status) {
  switch (status) {
    case RequestStatus::kNotArrived:
      return Requests::tr("not arrived");
    case RequestStatus::kRejected:
      return Requests::tr("rejected");
    case RequestStatus::kUnfinished:
      return Requests::tr("unfinished");
    case RequestStatus::kCompleted:
      break;
  }
  return Requests::tr("completed");
}

TableContent requests_table(const InspectionPtr& inspection) {
  TableContent content;
  const auto column = [&](const char* name, CellKind kind, const QString& title, const QString& explanation) {
    content.columns.push_back({title, QString::fromLatin1(name), kind, explanation});
  };
  using K = CellKind;
  column("request", K::kCount, Requests::tr("Request"), Requests::tr("Position in the trace, from 0"));
  column("status", K::kText, Requests::tr("Status"), {});
  column("arrival_s", K::kSeconds, Requests::tr("Arrival"), Requests::tr("Time since the first arrival"));
  column("queue_s", K::kSeconds, Requests::tr("Queue"),
         Requests::tr("From arrival to the first step with it"));
  column("ttft_s", K::kSeconds, Requests::tr("TTFT"), Requests::tr("From arrival to the first token"));
  column("tpot_s", K::kSeconds, Requests::tr("TPOT"), Requests::tr("Time per further output token"));
  column("e2e_s", K::kSeconds, Requests::tr("End to end"), Requests::tr("From arrival to the last token"));
  column("input_tokens", K::kCount, Requests::tr("Input"), Requests::tr("Prompt tokens"));
  column("output_tokens", K::kCount, Requests::tr("Output"), Requests::tr("Output tokens"));
  column("tokens", K::kCount, Requests::tr("Tokens"), Requests::tr("Prompt and output tokens"));
  column("preemptions", K::kCount, Requests::tr("Preemptions"), {});
  column("computed_tokens", K::kCount, Requests::tr("Computed"),
         Requests::tr("Tokens computed, those computed again included"));
  column("prefix_hit_tokens", K::kCount, Requests::tr("Prefix hit"),
         Requests::tr("Prompt tokens found in the cache at first admission"));
  column("peak_held_bytes", K::kBytes, Requests::tr("Most held"),
         Requests::tr("Most memory that it held at one moment"));
  column("held_byte_s", K::kNumber, Requests::tr("Held (byte s)"), Requests::tr("Held memory times time"));
  column("replica", K::kCount, Requests::tr("Replica"), {});
  if (!inspection) return content;
  content.rows = static_cast<int>(inspection->run.records.size());
  content.value = [inspection](int row, int at) {
    return value_of(*inspection, static_cast<std::size_t>(row), static_cast<RequestColumn>(at));
  };
  return content;
}

bool present(const Inspection& inspection, std::size_t request, std::int64_t begin, std::int64_t end) {
  const RequestRecord& r = inspection.run.records[request];
  if (r.status == RequestStatus::kNotArrived || r.arrival.since_start.count > end) return false;
  if (r.status == RequestStatus::kRejected) return r.arrival.since_start.count >= begin;
  return r.status != RequestStatus::kCompleted || r.finish.since_start.count >= begin;
}

QString life_name(LifePart::Kind kind) {
  switch (kind) {
    case LifePart::Kind::kQueue:
      return Requests::tr("queue");
    case LifePart::Kind::kPrefill:
      return Requests::tr("prefill");
    case LifePart::Kind::kDecode:
      return Requests::tr("decode");
    case LifePart::Kind::kPreempted:
      return Requests::tr("preempted");
    case LifePart::Kind::kRecompute:
      break;
  }
  return Requests::tr("recompute");
}

QString life_text(const std::vector<LifePart>& life) {
  struct Sum {
    std::int64_t ticks{0}, tokens{0};
    int parts{0};
  };
  std::array<Sum, 5> sums{};
  for (const LifePart& part : life) {
    Sum& sum = sums.at(static_cast<std::size_t>(part.kind));
    sum.ticks += part.end - part.begin;
    sum.tokens += part.tokens;
    ++sum.parts;
  }
  QStringList words;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].parts == 0) continue;
    const auto kind = static_cast<LifePart::Kind>(i);
    const QString time = format_seconds(seconds(Ticks{sums[i].ticks}));
    const QString tokens = format_number(static_cast<double>(sums[i].tokens));
    if (kind == LifePart::Kind::kPreempted) {
      words << Requests::tr("preempted %1 times for %2, which lost %3 tokens")
                   .arg(QString::number(sums[i].parts), time, tokens);
    } else if (sums[i].tokens > 0) {
      words << Requests::tr("%1 %2 (%3 tokens)").arg(life_name(kind), time, tokens);
    } else {
      words << Requests::tr("%1 %2").arg(life_name(kind), time);
    }
  }
  return words.join(QStringLiteral("; "));
}

}  // namespace kvplan::gui
