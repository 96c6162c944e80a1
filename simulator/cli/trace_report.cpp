#include "simulator/cli/trace_report.h"

#include <algorithm>

#include "simulator/base/json_writer.h"
#include "simulator/base/utf8.h"
#include "simulator/report/number_text.h"

namespace kvplan::cli {
namespace {

using report::fixed;
using report::grouped;
using report::percent;

constexpr int kIdsShown = 6;

void write_tokens(JsonWriter& json, std::string_view key, const traces::TokenStatistics& tokens) {
  json.key(key).begin_object();
  json.member("mean", tokens.mean).member("p50", tokens.p50).member("p95", tokens.p95);
  json.member("p99", tokens.p99).member("max", tokens.max).end_object();
}

std::string tokens_text(const traces::TokenStatistics& tokens) {
  if (!tokens.mean) return "none";
  return "mean " + fixed(*tokens.mean, 1) + ", p50 " + grouped(*tokens.p50) + ", p95 " +
         grouped(*tokens.p95) + ", p99 " + grouped(*tokens.p99) + ", max " + grouped(*tokens.max);
}

std::string arrivals_text(const traces::Trace& trace, const traces::Statistics& statistics) {
  if (!trace.shares_clock)
    return "no common clock (times are relative to each session, or missing), so there is no arrival rate";
  if (!statistics.span_s) return "none";
  std::string out = fixed(*statistics.span_s, 3) + " s from the first to the last arrival";
  if (statistics.rate_per_s) out += ", " + fixed(*statistics.rate_per_s, 3) + " per second";
  if (statistics.interarrival_cv)
    out += ", interarrival times have a standard deviation of " + fixed(*statistics.interarrival_cv, 3) +
           " times their mean (1 = Poisson, more = bursts)";
  return out;
}

/// Requests in each slice of the trace's time span, as a row of bars that shows where the bursts are.
std::string rate_bars(const traces::Trace& trace) {
  constexpr std::size_t kSlices = 60;
  static constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto [first, last] = std::minmax_element(trace.arrival_ns.begin(), trace.arrival_ns.end());
  const Wide span = Wide{*last} - Wide{*first};
  std::vector<std::int64_t> counts(kSlices, 0);
  for (const std::int64_t time : trace.arrival_ns) {
    const auto slice = static_cast<std::size_t>((Wide{time} - Wide{*first}) * Wide{kSlices} / (span + 1));
    ++counts[slice];
  }
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  std::string out;
  for (const std::int64_t count : counts) out += kBars[(count * 8 + most - 1) / most];
  return out + "  (busiest of 60 slices: " + grouped(most) + ")";
}

std::string prefix_text(const traces::Statistics& statistics) {
  if (!statistics.prefix) return "no block hashes: prompts count as different from each other";
  const traces::PrefixStatistics& prefix = *statistics.prefix;
  std::string out = grouped(prefix.references) + " blocks of " + grouped(prefix.block_tokens) + " tokens, " +
                    grouped(prefix.distinct) + " distinct";
  if (prefix.infinite_hit_blocks && prefix.infinite_hit_tokens)
    out += "; an unlimited cache would hit " + percent(*prefix.infinite_hit_blocks) + " of blocks, " +
           percent(*prefix.infinite_hit_tokens) + " of prompt tokens";
  return out;
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

}  // namespace

std::string info_json(const traces::Trace& trace, const traces::Statistics& statistics) {
  JsonWriter json;
  json.begin_object();
  json.member("requests", statistics.requests).member("sessions", statistics.sessions);
  json.member("span_s", statistics.span_s).member("rate_per_s", statistics.rate_per_s);
  json.member("interarrival_cv", statistics.interarrival_cv);
  write_tokens(json, "input_tokens", statistics.input);
  write_tokens(json, "output_tokens", statistics.output);
  json.key("prefix");
  if (statistics.prefix) {
    const traces::PrefixStatistics& prefix = *statistics.prefix;
    json.begin_object().member("block_tokens", prefix.block_tokens).member("references", prefix.references);
    json.member("distinct", prefix.distinct).member("infinite_hit_blocks", prefix.infinite_hit_blocks);
    json.member("infinite_hit_tokens", prefix.infinite_hit_tokens).end_object();
  } else {
    json.null();
  }
  const auto list = [&json](std::string_view key, const std::vector<std::string>& texts) {
    json.key(key).begin_array();
    for (const std::string& text : texts) json.value(text);
    json.end_array();
  };
  json.key("turns");
  if (statistics.turns) {
    json.begin_object().member("waiting", statistics.turns->waiting).member("waits", statistics.turns->waits);
    json.member("longest_chain", statistics.turns->longest_chain).end_object();
  } else {
    json.null();
  }
  list("warnings", trace.provenance.warnings);
  json.member("digest", trace.digest).member("format", trace.provenance.format);
  list("sources", trace.provenance.sources);
  list("options", trace.provenance.options);
  json.end_object();
  return json.take();
}

std::string info_text(const std::string& path, const traces::Trace& trace,
                      const traces::Statistics& statistics) {
  std::string out =
      printable(path + " (" + trace.provenance.format + ", digest " + trace.digest + ")") + "\n";
  out += "  requests       " + grouped(statistics.requests);
  if (statistics.sessions > 0) out += " in " + grouped(statistics.sessions) + " sessions";
  out += "\n  arrivals       " + arrivals_text(trace, statistics) + "\n";
  if (statistics.rate_per_s) out += "                 " + rate_bars(trace) + "\n";
  out += "  input tokens   " + tokens_text(statistics.input) + "\n";
  out += "  output tokens  " + tokens_text(statistics.output) + "\n";
  out += "  prefixes       " + prefix_text(statistics) + "\n";
  if (statistics.turns) {
    out += "  turns          " + grouped(statistics.turns->waiting) + " requests wait for an earlier one";
    out += statistics.turns->longest_chain
               ? ", " + grouped(*statistics.turns->longest_chain) + " in the longest chain\n"
               : "; some wait for each other in a cycle, so no run can serve them\n";
  }
  for (const std::string& warning : trace.provenance.warnings)
    out += "  warning: " + printable(warning) + "\n";
  return out;
}

std::string head_json(const traces::Trace& piece, std::int64_t rows) {
  JsonWriter json;
  json.begin_object().key("requests").begin_array();
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(rows, piece.size())); ++i) {
    json.begin_object()
        .member("request", static_cast<std::int64_t>(i))
        .member("arrival_ns", piece.arrival_ns[i]);
    json.member("input_tokens", static_cast<std::int64_t>(piece.input_tokens[i]));
    json.member("output_tokens", static_cast<std::int64_t>(piece.output_tokens[i]));
    const auto name = [&](std::string_view key, const std::vector<std::int32_t>& column,
                          const std::vector<std::string>& names) {
      if (column.empty() || column[i] < 0)
        json.key(key).null();
      else
        json.member(key, names[static_cast<std::size_t>(column[i])]);
    };
    name("session", piece.session, piece.session_names);
    name("tenant", piece.tenant, piece.tenant_names);
    json.key("hash_ids");
    if (piece.prefix.present()) {
      json.begin_array();
      for (std::uint64_t at = piece.prefix.offsets[i]; at < piece.prefix.offsets[i + 1]; ++at)
        json.value(static_cast<std::int64_t>(piece.prefix.ids[at]));
      json.end_array();
    } else {
      json.null();
    }
    json.end_object();
  }
  return json.end_array().end_object().take();
}

std::string head_text(const traces::Trace& piece, std::int64_t rows) {
  const bool sessions = !piece.session.empty();
  std::string out = padded("request", 8) + padded("arrival s", 16) + padded("input", 9) + padded("output", 9);
  if (piece.prefix.present()) out += padded("blocks", 8);
  if (piece.prefix.present()) out += "  prefix ids";
  if (sessions) out += "  session";
  out += "\n";
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(rows, piece.size())); ++i) {
    const auto since_first = static_cast<double>(Wide{piece.arrival_ns[i]} - Wide{piece.arrival_ns[0]});
    out +=
        padded(std::to_string(i), 8) + padded(fixed(since_first / static_cast<double>(kNsPerSecond), 6), 16);
    out += padded(grouped(piece.input_tokens[i]), 9) + padded(grouped(piece.output_tokens[i]), 9);
    if (piece.prefix.present()) {
      const std::uint64_t begin = piece.prefix.offsets[i];
      const std::uint64_t count = piece.prefix.offsets[i + 1] - begin;
      std::string ids;
      for (std::uint64_t k = 0; k < std::min<std::uint64_t>(count, kIdsShown); ++k)
        ids += " " + std::to_string(piece.prefix.ids[begin + k]);
      out += padded(grouped(static_cast<std::int64_t>(count)), 8) + " " + ids +
             (count > kIdsShown ? " ..." : "");
    }
    if (sessions && piece.session[i] >= 0)
      out += "  " + printable(piece.session_names[static_cast<std::size_t>(piece.session[i])]);
    out += "\n";
  }
  return out;
}

}  // namespace kvplan::cli
