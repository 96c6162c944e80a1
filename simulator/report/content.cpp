#include "simulator/report/content.h"

#include <algorithm>

#include "simulator/report/number_text.h"
#include "simulator/report/target_words.h"
#include "simulator/run/summary.h"

namespace kvplan::report {
namespace {

using observe::kStateNames;
using observe::kStates;
using runs::RunSummary;

Table scenario_table(const runs::Scenario& scenario) {
  Table table{.title = "Scenario", .columns = {"", "value"}, .rows = {}, .numbers = false};
  const bool own_order = scenario.engine_traits().index_of_its_own;
  for (const runs::Origin origin : {runs::Origin::kGiven, runs::Origin::kDefault}) {
    for (std::size_t i = 0; i < scenario.texts.size(); ++i) {
      if (scenario.texts[i].empty() || scenario.origin(i) != origin) continue;
      const std::string_view path = runs::scenario_fields()[i].path;
      if (path == "memory.replacement" && own_order) continue;  // the run ignores this setting
      table.rows.push_back(
          {.label = std::string(path), .cells = {sources_text(scenario, i), scenario.texts[i]}});
    }
  }
  return table;
}

Table requests_table(const RunSummary& r) {
  Table table{.title = "Requests", .columns = {""}, .rows = {}};
  const auto row = [&](const char* label, std::int64_t number) {
    table.rows.push_back({.label = label, .cells = {grouped(number)}});
  };
  row("arrived", r.arrived);
  row("completed", r.completed);
  row("rejected", r.rejected);
  if (r.unfinished > 0) row("unfinished", r.unfinished);
  row("preempted", r.preempted);
  row("preemptions", r.preemptions);
  row("input tokens", r.input_tokens);
  row("output tokens", r.output_tokens);
  row("computed tokens", r.computed_tokens);
  row("recomputed tokens", r.recomputed_tokens);
  row("prefix hit tokens", r.prefix_hit_tokens);
  if (r.rehit_tokens > 0) row("hit again after preemption", r.rehit_tokens);
  row("steps", r.iterations);
  return table;
}

Table throughput_table(const RunSummary& r) {
  Table table{.title = "Throughput", .columns = {""}, .rows = {}};
  const auto row = [&](const char* label, std::string text) {
    table.rows.push_back({.label = label, .cells = {std::move(text)}});
  };
  row("makespan", seconds_text(seconds(r.makespan)));
  row("requests per second", or_none(r.requests_per_s, rounded));
  row("output tokens per second", or_none(r.output_tokens_per_s, rounded));
  row("mean batch, requests", or_none(r.mean_running, rounded));
  row("largest batch, requests", grouped(r.max_running));
  if (r.slo_met_fraction) {
    row("requests that met the targets", percent(*r.slo_met_fraction));
    row("goodput per second", or_none(r.goodput_per_s, rounded));
  }
  return table;
}

std::string truth(const std::optional<bool>& holds) {
  return !holds ? kNoNumber : *holds ? "yes" : "no";
}

/// The three meanings of "fits", and whether the load can be served at all. Labels are statements that the cell calls
/// true or false.
Table fits_table(const RunSummary& r) {
  Table table{.title = "What fits", .columns = {""}, .rows = {}};
  const auto row = [&](std::string label, const std::optional<bool>& holds, std::string note = {}) {
    table.rows.push_back({.label = std::move(label), .cells = {truth(holds)}, .note = std::move(note)});
  };
  if (r.starts) row("weights, buffers and one longest request fit", r.starts);
  row("no request was rejected or preempted", r.unhindered);
  if (r.slo_met)
    row("the targets hold", r.slo_met,
        r.slo_met_fraction || r.percentiles.empty()
            ? "for at least " + fraction_text(r.scenario.target_fraction)
            : "all percentiles");
  for (const runs::PercentileOutcome& each : r.percentiles)
    row(percentile_name(each.name) + " is at most " + seconds_text(each.need_s), each.holds,
        each.holds ? "it is " + have_text(each) : "no request arrived");
  if (r.saturation && r.saturation->saturated)
    row("requests came no faster than they were served", !*r.saturation->saturated);
  return table;
}

/// REQUIRES: there are prices.
Table cost_table(const RunSummary& r) {
  Table table{.title = "Cost", .columns = {""}, .rows = {}};
  const auto row = [&](const char* label, std::string text) {
    table.rows.push_back({.label = label, .cells = {std::move(text)}});
  };
  row("GPUs", grouped(runs::gpus_of(r)));
  row("nodes, spare ones included", grouped(r.cost->nodes));
  row(("an hour, " + r.cost->currency).c_str(), rounded(r.cost->per_hour));
  row(("per million output tokens, " + r.cost->currency).c_str(),
      or_none(runs::cost_per_million_output_tokens(r), rounded));
  return table;
}

std::string_view overlay_words(observe::Overlay overlay) {
  switch (overlay) {
    case observe::Overlay::kAvailable:
      return "cached, stranded or free";
    case observe::Overlay::kStrandedTooShort:
      return "of stranded: less than the request needed";
    case observe::Overlay::kStrandedFragmented:
      return "of stranded: enough for the request, but fragmented";
    case observe::Overlay::kCachedDuplicate:
      return "of cached: a duplicate, which no lookup returns";
    case observe::Overlay::kCachedUnreachable:
      return "of cached: unreachable, because a block before it was evicted";
    case observe::Overlay::kSavedBySharing:
      return "would be held without sharing";
  }
  return {};
}

/// Counts in addition to the states. Empty if they would add nothing.
Table overlay_table(const RunSummary& r) {
  Table table{.title = "In addition to the states", .columns = {"mean", "at the peak"}, .rows = {}};
  if (!r.memory) return table;
  for (std::size_t i = 0; i < observe::kOverlays; ++i) {
    const bool any = r.memory->mean_overlay_bytes[i] > 0 || r.memory->peak_overlay_bytes[i] > 0;
    if (!any || i == index(observe::Overlay::kAvailable)) continue;
    std::string name(observe::kOverlayNames[i]);
    std::replace(name.begin(), name.end(), '_', ' ');
    table.rows.push_back({.label = std::move(name),
                          .cells = {r.memory->timed ? bytes_text(r.memory->mean_overlay_bytes[i]) : kNoNumber,
                                    bytes_text(static_cast<double>(r.memory->peak_overlay_bytes[i]))},
                          .note = std::string(overlay_words(static_cast<observe::Overlay>(i)))});
  }
  return table;
}

/// What layers with a window hold, what layers that see everything hold, and what states take. Empty if no layers have
/// their own blocks.
Table layer_group_table(const RunSummary& r) {
  Table table{.title = "Groups of layers",
              .columns = {"live, mean", "held, mean", "live, peak", "held, peak"},
              .rows = {}};
  if (!r.memory) return table;
  for (const runs::KindMemory& kind : r.memory->kinds) {
    double held_mean = 0;
    std::int64_t held_peak = 0;
    for (const std::size_t s : observe::kHeldStates) {
      held_mean += kind.mean_bytes[s];
      held_peak += kind.peak_bytes[s];
    }
    const std::size_t live = index(observe::State::kLive);
    const auto mean = [&](double bytes) {
      return r.memory->timed ? bytes_text(bytes) : std::string(kNoNumber);
    };
    table.rows.push_back(
        {.label = kind.kind.states        ? "states"
                  : kind.kind.window == 0 ? "whole context"
                                          : "window of " + grouped(kind.kind.window),
         .cells = {mean(kind.mean_bytes[live]), mean(held_mean),
                   bytes_text(static_cast<double>(kind.peak_bytes[live])),
                   bytes_text(static_cast<double>(held_peak))},
         .note = grouped(kind.kind.layers) + (kind.kind.layers == 1 ? " layer in " : " layers in ") +
                 grouped(kind.kind.groups) + (kind.kind.groups == 1 ? " group" : " groups")});
  }
  return table;
}

Table rank_table(const RunSummary& r) {
  Table table{.title = "Ranks", .columns = {""}, .rows = {}};
  const auto row = [&](const char* label, std::string text) {
    table.rows.push_back({.label = label, .cells = {std::move(text)}});
  };
  row("tensor parallel", grouped(r.ranks.tensor_ranks));
  row("pipeline stages", grouped(r.ranks.stages));
  row("bytes per token on a rank", grouped(r.ranks.token_bytes));
  row("on all ranks", grouped(r.ranks.all_token_bytes));
  row("replicated bytes per token", grouped(r.ranks.replicated_token_bytes));
  row("replicated live bytes, mean", or_none(r.replicated_mean_bytes, bytes_text));
  return table;
}

Table eviction_table(const RunSummary& r) {
  Table table{.title = "Eviction", .columns = {""}, .rows = {}};
  table.rows.push_back({.label = "tokens evicted", .cells = {grouped(r.evicted_tokens)}});
  table.rows.push_back({.label = "blocks freed", .cells = {grouped(r.evicted_blocks)}});
  if (r.compactions > 0) {
    table.rows.push_back({.label = "compactions", .cells = {grouped(r.compactions)}});
    table.rows.push_back(
        {.label = "bytes kept by them", .cells = {bytes_text(static_cast<double>(r.compaction_bytes))}});
  }
  if (r.coverage)
    table.rows.push_back({.label = "recordings that drove requests",
                          .cells = {grouped(r.coverage->used) + " of " + grouped(r.coverage->recordings)}});
  table.rows.push_back(
      {.label = "most bytes in holes", .cells = {bytes_text(static_cast<double>(r.hole_bytes_peak))}});
  return table;
}

Table placing_table(const RunSummary& r) {
  const runs::PlacingSummary& p = r.placing;
  Table table{.title = "Placing", .columns = {"", "bytes"}, .rows = {}};
  const auto bytes = [](std::int64_t n) { return bytes_text(static_cast<double>(n)); };
  table.rows.push_back(
      {.label = "ranges copied to grow", .cells = {grouped(p.copies), bytes(p.copied_bytes)}});
  table.rows.push_back({.label = "passes that moved ranges together",
                        .cells = {grouped(p.compactions), bytes(p.compaction_bytes)}});
  table.rows.push_back({.label = "extra step time", .cells = {seconds_text(seconds(p.delay)), ""}});
  if (p.delay_fraction)
    table.rows.push_back({.label = "share of all time", .cells = {percent(*p.delay_fraction), ""}});
  return table;
}

/// Empty if the latency model does not know the parts of its steps.
Table step_time_table(const RunSummary& r) {
  Table table{.title = "Where the time of steps goes", .columns = {"all steps", "share"}, .rows = {}};
  if (!r.step_time) return table;
  constexpr std::array<const char*, runs::kStepTimeNames.size()> kWords{
      "products with weights that every token passes",
      "products with weights of experts",
      "reading keys and values",
      "attention of prompts",
      "between ranks",
      "small kernels, launches, scheduling",
      "not in steps: requests before the engine has them; share of E2E"};
  for (std::size_t i = 0; i < runs::kStepTimeNames.size(); ++i) {
    const double seconds = r.step_time->seconds[i], share = r.step_time->shares[i];
    if (seconds <= 0) continue;
    std::string label(runs::kStepTimeNames[i]);
    std::replace(label.begin(), label.end(), '_', ' ');
    table.rows.push_back({.label = std::move(label),
                          .cells = {seconds_text(seconds), percent(share)},
                          .bar = share,
                          .note = kWords[i]});
  }
  return table;
}

Table replica_table(const RunSummary& r) {
  Table table{.title = "Replicas",
              .columns = {"requests", "completed", "preemptions", "mean batch", "largest", "live", "free"},
              .rows = {}};
  for (std::size_t i = 0; i < r.replicas.size(); ++i) {
    const runs::ReplicaSummary& replica = r.replicas[i];
    const auto share = [&](observe::State state) {
      return replica.memory && replica.memory->timed ? percent(replica.memory->mean_fraction[index(state)])
                                                     : std::string(kNoNumber);
    };
    table.rows.push_back(
        {.label = "replica " + std::to_string(i),
         .cells = {grouped(replica.requests), grouped(replica.completed), grouped(replica.preemptions),
                   or_none(replica.mean_running, rounded), grouped(replica.max_running),
                   share(observe::State::kLive), share(observe::State::kFree)}});
  }
  return table;
}

}  // namespace

std::string sources_text(const runs::Scenario& scenario, std::size_t field) {
  std::vector<std::string> texts{runs::source_text(scenario.sources[field])};
  for (const runs::ParamSource& each : scenario.param_sources[field]) {
    std::string text = runs::source_text(each.source);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  // A value derived from a default is no longer a default.
  if (texts.size() > 1 && scenario.sources[field].from == runs::Source::From::kDefault)
    texts.erase(texts.begin());
  std::string all;
  for (const std::string& text : texts) all.append(all.empty() ? "" : ", ").append(text);
  return all;
}

Table latency_table(const RunSummary& r) {
  const runs::Scenario& s = r.scenario;
  const bool targets = s.has_request_targets();
  Table table{.title = "Latency", .columns = {"mean", "p50", "p90", "p95", "p99", "max"}, .rows = {}};
  if (targets) table.columns.emplace_back("target");
  const bool grows = runs::is_saturated(r);
  if (grows) table.title += " (latencies with waiting grow with the length of the trace, and are left out)";
  const auto row = [&](const char* label, const std::optional<runs::LatencySummary>& l,
                       const std::optional<double>& target, bool waits) {
    Row out{.label = label, .cells = {}};
    if (waits && grows) {
      out.cells.assign(6, kNoNumber);
    } else if (l) {
      for (const double value : {l->mean, l->p50, l->p90, l->p95, l->p99, l->max})
        out.cells.push_back(seconds_text(value));
    } else {
      out.cells.assign(6, kNoNumber);
    }
    if (targets) out.cells.push_back(or_none(target, seconds_text));
    table.rows.push_back(std::move(out));
  };
  row("queue", r.queue, {}, true);
  row("first token (TTFT)", r.ttft, s.target_ttft_s, true);
  row("per token (TPOT)", r.tpot, s.target_tpot_s, false);
  row("whole (E2E)", r.e2e, s.target_e2e_s, true);
  return table;
}

Table memory_table(const RunSummary& r, bool used_only) {
  Table table{.title = "Memory: " + bytes_text(static_cast<double>(r.capacity_bytes)),
              .columns = {"mean", "share", "at the peak"},
              .rows = {}};
  if (!r.memory) return table;
  const bool timed = r.memory->timed;
  for (std::size_t s = 0; s < kStates; ++s) {
    const bool used = r.memory->peak_bytes[s] > 0 || r.memory->mean_bytes[s] > 0;
    if (used_only && !used) continue;
    table.rows.push_back({.label = std::string(kStateNames[s]),
                          .cells = {timed ? bytes_text(r.memory->mean_bytes[s]) : kNoNumber,
                                    timed ? percent(r.memory->mean_fraction[s]) : kNoNumber,
                                    bytes_text(static_cast<double>(r.memory->peak_bytes[s]))},
                          .bar = timed ? r.memory->mean_fraction[s] : -1,
                          .note = std::string(state_words(static_cast<observe::State>(s)))});
  }
  table.title += ", peak at " + seconds_text(r.memory->peak_time_s);
  return table;
}

Table derivation_table(const std::vector<model::PoolItem>& items, std::string title) {
  Table table{.title = std::move(title), .columns = {"", "bytes"}, .rows = {}};
  for (const model::PoolItem& item : items) {
    const bool within = item.part == model::PoolPart::kWithin;
    const bool taken = item.part == model::PoolPart::kTaken;
    std::string note(model::mark_name(item.mark));
    if (!item.source.empty()) note += ": " + item.source;
    table.rows.push_back({.label = (within  ? "  in it "
                                    : taken ? "- "
                                            : "") +
                                   item.name,
                          .cells = {interval_text(item.bytes, item.low, item.high), grouped(item.bytes)},
                          .note = std::move(note)});
  }
  return table;
}

std::string stranded_kinds(const RunSummary& r) {
  if (!r.memory || !r.memory->timed) return {};
  const double stranded = r.memory->mean_bytes[index(observe::State::kStranded)];
  const double fragmented = r.memory->mean_overlay_bytes[index(observe::Overlay::kStrandedFragmented)];
  if (stranded <= 0) return {};
  if (fragmented <= 0) return " (less than the request needed)";
  if (r.memory->mean_overlay_bytes[index(observe::Overlay::kStrandedTooShort)] <= 0)
    return " (enough for the request, but fragmented)";
  return " (" + percent(1 - fragmented / stranded) + " of it less than the request needed, " +
         percent(fragmented / stranded) + " fragmented)";
}

std::string_view state_words(observe::State state) {
  switch (state) {
    case observe::State::kMetadata:
      return "tables and scales in the pool";
    case observe::State::kLive:
      return "tokens that are kept";
    case observe::State::kReserved:
      return "held, will be written";
    case observe::State::kHole:
      return "evicted tokens in memory still held";
    case observe::State::kTail:
      return "ends of blocks that are never written";
    case observe::State::kPadding:
      return "null block and remainders";
    case observe::State::kInternal:
      return "reserved beyond need";
    case observe::State::kCached:
      return "idle, a prefix may hit it";
    case observe::State::kStranded:
      return "idle while a request was refused memory";
    case observe::State::kFree:
      return "idle and available";
  }
  return {};
}

std::string title_of(const RunSummary& r) {
  return grouped(r.arrived) + (r.arrived == 1 ? " request on " : " requests on ") +
         (r.scenario.model != nullptr ? r.scenario.model->name : std::string(r.scenario.text("model"))) +
         ", " + (r.scenario.replicas == 1 ? "one replica" : grouped(r.scenario.replicas) + " replicas");
}

Content run_content(const RunSummary& r) {
  Content content;
  content.title = title_of(r);
  content.verdict = verdict_of(r);
  content.scenario = scenario_table(r.scenario);
  content.tables = {requests_table(r), latency_table(r), throughput_table(r), fits_table(r)};
  if (r.cost) content.tables.push_back(cost_table(r));
  if (Table times = step_time_table(r); !times.rows.empty()) content.tables.push_back(std::move(times));
  content.tables.push_back(memory_table(r, false));
  if (Table beside = overlay_table(r); !beside.rows.empty()) content.tables.push_back(std::move(beside));
  if (Table groups = layer_group_table(r); !groups.rows.empty()) content.tables.push_back(std::move(groups));
  if (!r.derivation.empty())
    content.tables.push_back(derivation_table(r.derivation, "Where the pool comes from"));
  if (r.ranks.ranks() > 1) content.tables.push_back(rank_table(r));
  if (r.scenario.eviction) content.tables.push_back(eviction_table(r));
  if (r.placing.any()) content.tables.push_back(placing_table(r));
  if (r.replicas.size() > 1) content.tables.push_back(replica_table(r));
  content.warnings = r.warnings;
  content.assumptions = r.assumptions;
  content.meaning = meaning_of(r);
  return content;
}

}  // namespace kvplan::report
