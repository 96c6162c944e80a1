#include "simulator/report/target_words.h"

#include "simulator/report/number_text.h"

namespace kvplan::report {
namespace {

void join(std::string& text, const std::string& more) {
  text += (text.empty() ? "" : ", ") + more;
}

}  // namespace

std::string percentile_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  std::string latency(name.substr(0, dot));
  if (latency != "queue")  // "queue" is a word, the other names are abbreviations
    for (char& c : latency) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return dot == std::string_view::npos ? latency : latency + " " + std::string(name.substr(dot + 1));
}

std::string have_text(const runs::PercentileOutcome& outcome) {
  if (outcome.have_s) return seconds_text(*outcome.have_s);
  return outcome.holds.value_or(true) ? "of no request" : "of a request that did not complete";
}

std::string targets_text(const runs::RunSummary& r) {
  std::string out;
  if (r.slo_met_fraction || r.percentiles.empty())
    out = "at least " + fraction_text(r.scenario.target_fraction) + " of the requests meet all targets";
  for (const runs::PercentileOutcome& each : r.percentiles)
    join(out, percentile_name(each.name) + " is at most " + seconds_text(each.need_s));
  return out;
}

std::string came_to_text(const runs::RunSummary& r) {
  std::string out;
  if (r.slo_met_fraction) out = percent(*r.slo_met_fraction) + " of the requests meet all targets";
  for (const runs::PercentileOutcome& each : r.percentiles)
    join(out, percentile_name(each.name) + " is " + have_text(each));
  return out;
}

}  // namespace kvplan::report
