#include "simulator/report/content.h"
#include "simulator/report/number_text.h"
#include "simulator/report/target_words.h"
#include "simulator/study/shortage.h"

namespace kvplan::report {
namespace {

using observe::kStateNames;
using observe::State;
using runs::least_idle;
using runs::may_hide_refusals;
using runs::RunSummary;

std::string counted(std::int64_t number, const char* one, const char* many) {
  return grouped(number) + " " + (number == 1 ? one : many);
}

/// Which states take the bytes.
std::string bytes_sentence(const RunSummary& r) {
  const auto share = [&](State s) { return r.memory->mean_fraction[index(s)]; };
  std::string out = "Averaged over the run, live tokens take " + percent(share(State::kLive)) + " of " +
                    bytes_text(static_cast<double>(r.capacity_bytes)) + "; " + percent(share(State::kFree)) +
                    " is free";
  if (share(State::kCached) > 0) {
    const bool any_hit = r.prefix_hit_tokens + r.rehit_tokens > 0;
    out += " and " + percent(share(State::kCached)) +
           (any_hit ? " is idle but may be hit again"
                    : " is idle: it holds cached blocks that no request hit again");
  }
  out += '.';
  double rest = 0;
  State most = State::kReserved;
  for (const State s : {State::kReserved, State::kHole, State::kTail, State::kPadding, State::kInternal,
                        State::kStranded, State::kMetadata}) {
    rest += share(s);
    if (share(s) > share(most)) most = s;
  }
  if (rest <= 0) return out + " No byte is in any other state.";
  return out + " The other " + percent(rest) + " is mostly " + std::string(kStateNames[index(most)]) + " (" +
         percent(share(most)) + ": " + std::string(state_words(most)) + ").";
}

std::string of_a_replica(const RunSummary& r) {
  return r.replicas.size() > 1 ? " of a replica" : "";
}

std::string memory_sentence(const RunSummary& r, double stranded) {
  std::string out = "Memory limits: ";
  if (r.preemptions > 0) {
    out += counted(r.preemptions, "preemption", "preemptions") + " hit " + grouped(r.preempted) + " of " +
           counted(r.arrived, "request", "requests") + " (" +
           percent(static_cast<double>(r.preempted) / static_cast<double>(r.arrived)) + ")";
  } else {
    out += "nothing was preempted";
  }
  if (stranded > 0) {
    out += ", and " + percent(stranded) + " of the memory, on average, was idle while a request was refused" +
           stranded_kinds(r);
  } else if (least_idle(r) == 0) {
    out += ", and at the peak" + of_a_replica(r) + " no byte was idle";
  }
  return out + ".";
}

/// What requests had to wait for. REQUIRES: a request arrived.
std::string limit_sentence(const RunSummary& r) {
  const double stranded = r.memory->mean_fraction[index(State::kStranded)];
  const scheduling::EngineLimit running = r.scenario.engine_traits().running;
  const std::string limit = limit_text(running.param, running.value);
  const bool full = runs::running_slots_ran_out(r);
  if (r.preemptions > 0 || stranded > 0 || least_idle(r) == 0)
    return memory_sentence(r, stranded) +
           (full ? " Running slots ran out too: a batch reached " + limit + "." : std::string());
  if (may_hide_refusals(r)) {
    std::string out = full ? "Running slots are the limit: a batch reached " + limit + ". "
                           : "No batch reached " + limit + ". ";
    return out + "Nothing was preempted, but at the peak" + of_a_replica(r) + " only " +
           bytes_text(static_cast<double>(least_idle(r))) +
           " was idle, so that an admission may have waited for memory.";
  }
  if (full)
    return "Running slots are the limit, not memory: a batch reached " + limit +
           ", nothing was preempted and no request was refused memory.";
  return "Neither memory nor running slots ran out: nothing was preempted, no request was refused memory, "
         "and no batch reached " +
         limit +
         (runs::is_saturated(r)
              ? "; the duration of steps is the limit."
              : "; a request waits only for the end of the current step or for the token budget.");
}

/// REQUIRES: the run is saturated.
std::string saturation_sentence(const RunSummary& r) {
  const runs::Saturation& s = *r.saturation;
  return "Requests came faster than they were served: " + counted(s.backlog, "request was", "requests were") +
         " waiting when the last one arrived, and it took another " + seconds_text(seconds(s.drain)) +
         " until the last of them started. Such latencies grow with the length of the trace.";
}

/// REQUIRES: targets were judged, or there is a share of requests that met them.
std::string targets_sentence(const RunSummary& r) {
  std::string out;
  if (r.slo_met_fraction) out = percent(*r.slo_met_fraction) + " of the requests met all targets";
  if (!r.slo_met) return out + ".";
  if (r.slo_met_fraction) out += ", and at least " + fraction_text(r.scenario.target_fraction) + " have to";
  for (const runs::PercentileOutcome& each : r.percentiles)
    out += (out.empty() ? "" : "; ") + percentile_name(each.name) + " is " + have_text(each) +
           " and has to be at most " + seconds_text(each.need_s);
  out += ": the targets ";
  return out + (*r.slo_met ? "hold." : "do not hold.");
}

std::string completion_sentence(const RunSummary& r) {
  std::string out =
      r.completed == r.arrived
          ? (r.arrived == 1 ? std::string("The request completed")
                            : "All " + grouped(r.arrived) + " requests completed")
          : grouped(r.completed) + " of " + counted(r.arrived, "request", "requests") + " completed";
  if (r.unfinished > 0) out += ", " + grouped(r.unfinished) + " did not finish";
  if (r.preempted == 0) return out + "; none was preempted.";
  return out + "; " + grouped(r.preempted) +
         (r.preempted == 1 ? " was preempted at least once." : " were preempted at least once.");
}

/// REQUIRES: a request was rejected.
std::string rejection_sentence(const RunSummary& r) {
  return (r.rejected == 1 ? std::string("One request was") : grouped(r.rejected) + " requests were") +
         " rejected on arrival: empty, longer than " +
         std::string(r.scenario.engine_traits().request_tokens.param) +
         ", or more than the whole pool holds.";
}

/// Why the engine would not start, and what would change that.
std::string obstacle_sentence(const model::Obstacle& o) {
  const auto amount = [&](std::int64_t n) {
    return o.unit == Unit::kBytes ? bytes_text(static_cast<double>(n))
                                  : grouped(n) + " " + std::string(unit_name(o.unit));
  };
  std::string out = "The engine would not start: ";
  out += o.obstacle == model::kLongestRequest ? "one longest request needs "
         : o.obstacle == model::kStartMemory
             ? "the items that the pool rule does not subtract (such as CUDA graphs) need "
             : "weights and buffers need ";
  out += amount(o.need) + ", and " + amount(o.have) + " are available";
  for (std::size_t i = 0; i < o.remedies.size(); ++i) out += (i == 0 ? "; " : " or ") + o.remedies[i];
  return out + (o.remedies.empty() ? "." : " would help.");
}

}  // namespace

std::vector<std::string> verdict_of(const RunSummary& r) {
  if (r.arrived == 0) return {"No request arrived, so there is nothing to measure."};
  std::vector<std::string> out;
  for (const model::Obstacle& each : r.obstacles) out.push_back(obstacle_sentence(each));
  if (!out.empty()) out.emplace_back("The simulation still runs the requests, as if the server had started.");
  out.push_back(completion_sentence(r));
  if (r.rejected > 0) out.push_back(rejection_sentence(r));
  if (r.slo_met_fraction || r.slo_met) out.push_back(targets_sentence(r));
  if (runs::is_saturated(r)) out.push_back(saturation_sentence(r));
  return out;
}

std::vector<std::string> limits_of(const RunSummary& r) {
  std::vector<std::string> out;
  if (r.arrived == 0) return out;
  if (r.memory && r.memory->timed) out.push_back(limit_sentence(r));
  if (r.recomputed_tokens > 0 && r.computed_tokens > 0)
    out.push_back(std::string(r.scenario.keeps_nothing() ? "The lack of a cache" : "Preemption") +
                  " made the engine compute " + grouped(r.recomputed_tokens) + " tokens again, " +
                  percent(static_cast<double>(r.recomputed_tokens) / static_cast<double>(r.computed_tokens)) +
                  " of all it computed.");
  if (r.prefix_hit_tokens > 0 && r.input_tokens > 0)
    out.push_back("Prefix caching spared " +
                  percent(static_cast<double>(r.prefix_hit_tokens) / static_cast<double>(r.input_tokens)) +
                  " of the prompt tokens.");
  return out;
}

std::vector<std::string> meaning_of(const RunSummary& r) {
  std::vector<std::string> out = limits_of(r);
  if (r.arrived > 0 && r.memory && r.memory->timed) out.insert(out.begin(), bytes_sentence(r));
  return out;
}

}  // namespace kvplan::report
