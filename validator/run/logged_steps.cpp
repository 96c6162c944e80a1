#include "validator/run/logged_steps.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "simulator/base/program.h"
#include "simulator/io/log/reader.h"

namespace kvplan::validator {
namespace {

struct Running {
  std::int64_t written{0};
  std::int64_t target{0};  ///< tokens with which its prompt, and what is recomputed, is complete
  std::int64_t chunk{0};   ///< tokens of it that the pass in progress computes; 0: none
  bool held_back{false};
  // One interval:
  bool drops{false};
  std::int64_t sinks{0}, kept{0};
  // Positions or numbers, as the log tells them piece by piece:
  std::vector<std::int32_t> course;
  std::vector<event_log::AlikeTracks> counts;
  std::vector<double> gone;  ///< mean over tracks, by tokens written since `target`

  [[nodiscard]] bool decodes() const { return chunk == 0 && !held_back && written >= target; }
};

/// Dropped tokens so far for each n from the first, as a mean over tracks.
std::vector<double> gone_by_course(const std::vector<std::int32_t>& drops, std::size_t tracks) {
  std::vector<double> gone;
  double sum = 0;
  for (std::size_t at = 0; at < drops.size();) {
    for (std::size_t track = 0; track < tracks && at < drops.size(); ++track) {
      sum += drops[at];
      at += 1 + static_cast<std::size_t>(drops[at]);
    }
    gone.push_back(sum / static_cast<double>(tracks));
  }
  return gone;
}

std::vector<double> gone_by_counts(const std::vector<event_log::AlikeTracks>& counts, std::size_t tracks) {
  std::vector<double> gone;
  for (const auto& [alike, runs] : counts) {
    double sum = 0;
    std::size_t n = 0;
    for (std::size_t i = 0; i + 1 < runs.size(); i += 2)
      for (std::int32_t k = 0; k < runs[i + 1]; ++k, ++n) {
        sum += runs[i];
        if (n == gone.size()) gone.push_back(0);
        gone[n] += sum * alike / static_cast<double>(tracks);
      }
  }
  return gone;
}

/// One replica.
class Walk {
 public:
  explicit Walk(const event_log::Header& header) : header_(header) {}

  void apply(const event_log::Arrival& a) { lengths_[a.request] = {a.input, 0}; }
  void apply(const event_log::PassBegin&) {
    for (auto& [request, running] : running_) {
      running.chunk = 0;
      running.held_back = false;
    }
  }
  void apply(const event_log::Preempt& p) { running_.erase(p.request); }
  void apply(const event_log::Admit& a) {
    Running running;
    const auto& [input, generated] = lengths_[a.request];
    running.target = input + generated;
    running_[a.request] = running;
  }
  void apply(const event_log::Chunk& c) {
    const auto found = running_.find(c.request);
    if (found == running_.end()) return;
    found->second.written = c.computed;
    found->second.chunk = c.tokens;
  }
  void apply(const event_log::HoldBack& h) {
    if (const auto found = running_.find(h.request); found != running_.end()) found->second.held_back = true;
  }
  void apply(const event_log::Course& c) {
    if (const auto found = running_.find(c.request); found != running_.end())
      found->second.course.insert(found->second.course.end(), c.drops.begin(), c.drops.end());
  }
  void apply(const event_log::Counts& c) {
    if (const auto found = running_.find(c.request); found != running_.end())
      found->second.counts.insert(found->second.counts.end(), c.alike.begin(), c.alike.end());
  }
  void apply(const event_log::Drop& d) {
    const auto found = running_.find(d.request);
    if (found == running_.end()) return;
    found->second.drops = true;
    found->second.sinks = d.sink;
    found->second.kept = found->second.written - (d.begin - d.sink);
  }
  void apply(const event_log::Finish& f) {
    running_.erase(f.request);
    lengths_.erase(f.request);
  }
  void apply(const event_log::StepEnd&) {
    const bool apart = prompts_only();
    for (auto& [request, running] : running_) {
      if (running.chunk > 0) {
        running.written += running.chunk;
        running.chunk = 0;
        if (running.written >= running.target) ++lengths_[request].second;
      } else if (running.decodes() && !apart) {
        running.written += steps_;
        lengths_[request].second += steps_;
      }
    }
  }
  template <class Other>
  void apply(const Other&) {}

  /// The batch of the steps that begin.
  void begin(const event_log::StepRun& steps, LoggedStep& out) {
    steps_ = steps.steps;
    out.time = steps.time;
    out.steps = steps.steps;
    out.ticks = steps.span();
    for (const auto& [request, running] : running_) out.prompt_tokens += running.chunk;
    if (prompts_only()) return;
    for (auto& [request, running] : running_)
      if (running.decodes()) out.decodes.push_back(reading_of(running, (steps.steps - 1) / 2));
  }

 private:
  [[nodiscard]] bool prompts_only() const {
    return header_.rules.prefills_apart &&
           std::any_of(running_.begin(), running_.end(), [](const auto& r) { return r.second.chunk > 0; });
  }

  /// `later`: steps from now.
  Reading reading_of(Running& running, std::int64_t later) const {
    const std::int64_t written = running.written + later;
    Reading out{.tokens = written + 1, .kept = static_cast<double>(written + 1), .sinks = 0};
    if (running.drops) {
      out.kept = static_cast<double>(running.kept + 1);
      out.sinks = running.sinks;
      return out;
    }
    const std::size_t tracks = header_.track_units.size();
    if (running.gone.empty() && !running.course.empty())
      running.gone = gone_by_course(running.course, tracks);
    if (running.gone.empty() && !running.counts.empty())
      running.gone = gone_by_counts(running.counts, tracks);
    if (running.gone.empty()) return out;
    const std::int64_t since = std::clamp<std::int64_t>(written - running.target, 0,
                                                        static_cast<std::int64_t>(running.gone.size()) - 1);
    out.kept -= running.gone[static_cast<std::size_t>(since)];
    return out;
  }

  const event_log::Header& header_;
  std::map<RequestId, Running> running_;
  std::map<RequestId, std::pair<std::int64_t, std::int64_t>> lengths_;  ///< prompt, and generated so far
  std::int64_t steps_{1};
};

}  // namespace

std::int64_t LoggedStep::tokens() const {
  return std::accumulate(decodes.begin(), decodes.end(), std::int64_t{0},
                         [](std::int64_t sum, const Reading& r) { return sum + r.tokens; });
}

double LoggedStep::kept() const {
  return std::accumulate(decodes.begin(), decodes.end(), 0.0,
                         [](double sum, const Reading& r) { return sum + r.kept; });
}

Status each_step(const std::string& log, const std::function<Status(const LoggedStep&)>& see) {
  KVPLAN_TRY(const auto reader, event_log::Reader::open(log));
  std::vector<Walk> replicas(static_cast<std::size_t>(reader->header().replicas), Walk(reader->header()));
  std::int64_t index = 0;
  while (true) {
    if (interrupted()) return interrupted_error();
    KVPLAN_TRY(const auto record, reader->next());
    if (!record) return Done{};
    Walk& walk = replicas[static_cast<std::size_t>(record->replica)];
    if (const auto* const steps = std::get_if<event_log::StepRun>(&record->fact)) {
      LoggedStep step{.index = index++, .replica = record->replica, .decodes = {}};
      walk.begin(*steps, step);
      KVPLAN_TRY_DO(see(step));
    } else {
      std::visit([&](const auto& fact) { walk.apply(fact); }, record->fact);
    }
  }
}

}  // namespace kvplan::validator
