#include "gui/worker/inspection.h"

#include <algorithm>
#include <map>

namespace kvplan::gui {

using observe::Decision;
using observe::Decisions;
using Kind = LifePart::Kind;

Result<InspectionPtr> inspect(const runs::Scenario& scenario, const traces::Trace& trace,
                              const runs::Openers& openers, core::RunControl& control) {
  auto inspection = std::make_shared<Inspection>();
  std::map<std::int64_t, std::unique_ptr<Decisions>> by_replica;
  runs::RunOptions options{openers};
  options.request_memory = true;
  options.control = &control;
  options.extra_observers.emplace_back([&](const runs::Watched& watched) -> Result<core::Observer*> {
    auto& decided = by_replica[watched.replica];
    decided = std::make_unique<Decisions>();  // a replica that runs again is watched anew
    return decided.get();
  });
  KVPLAN_TRY(inspection->run, runs::run_scenario(scenario, trace, options));
  for (auto& [replica, decided] : by_replica) inspection->decided.push_back(std::move(decided));
  return InspectionPtr(std::move(inspection));
}

namespace {

/// Builds the parts of a life one after the other.
class Life {
 public:
  explicit Life(std::int64_t arrival) : since_(arrival) {}

  void admit() {
    close(now_);
    kind_ = Kind::kDecode;
  }
  void chunk(std::int64_t begin, std::int64_t end, std::int64_t tokens) {
    close(begin);
    parts_.push_back({again_ ? Kind::kRecompute : Kind::kPrefill, begin, end, tokens});
    since_ = std::max(since_, end);
  }
  void preempt(std::int64_t written) {
    close(now_);
    kind_ = Kind::kPreempted;
    lost_ = written;
    again_ = true;
  }
  void at(std::int64_t now) { now_ = now; }
  std::vector<LifePart> end(std::int64_t time) {
    close(time);
    return std::move(parts_);
  }

 private:
  void close(std::int64_t time) {
    if (time <= since_) return;
    parts_.push_back({kind_, since_, time, kind_ == Kind::kPreempted ? lost_ : 0});
    since_ = time;
  }

  std::vector<LifePart> parts_;
  Kind kind_{Kind::kQueue};
  std::int64_t since_, now_{0}, lost_{0};
  bool again_{false};
};

}  // namespace

std::vector<LifePart> life_of(const Inspection& inspection, std::size_t request) {
  const auto& run = inspection.run;
  if (request >= run.records.size() || run.replica_of[request] < 0) return {};
  const observe::RequestRecord& record = run.records[request];
  if (record.status == observe::RequestStatus::kNotArrived ||
      record.status == observe::RequestStatus::kRejected)
    return {};
  const Decisions& decided = *inspection.decided.at(static_cast<std::size_t>(run.replica_of[request]));
  Life life(record.arrival.since_start.count);
  for (std::size_t i = 0; i < decided.size(); ++i) {
    const observe::DecidedStep& step = decided.step(i);
    life.at(step.begin.since_start.count);
    for (const Decision& decision : decided.of(i)) {
      if (decision.request != id_at<RequestId>(request)) continue;
      switch (decision.kind) {
        case Decision::Kind::kAdmit:
        case Decision::Kind::kReadmit:
          life.admit();
          break;
        case Decision::Kind::kChunk:
          life.chunk(step.begin.since_start.count, step.end.since_start.count, decision.tokens);
          break;
        case Decision::Kind::kPreempt:
          life.preempt(decision.tokens);
          break;
        case Decision::Kind::kFinish:
          return life.end(step.begin.since_start.count);
      }
    }
  }
  return life.end(run.makespan.count);
}

std::vector<Preemption> preemptions_of(const Inspection& inspection) {
  std::vector<Preemption> all;
  for (std::size_t replica = 0; replica < inspection.decided.size(); ++replica) {
    const Decisions& decided = *inspection.decided[replica];
    std::map<RequestId, std::size_t> open;  // places in `all`
    for (std::size_t i = 0; i < decided.size(); ++i) {
      const std::int64_t time = decided.step(i).begin.since_start.count;
      for (const Decision& decision : decided.of(i)) {
        if (decision.kind == Decision::Kind::kPreempt) {
          open[decision.request] = all.size();
          all.push_back({time, number(decision.request), static_cast<std::int64_t>(replica), decision.tokens,
                         0, std::nullopt});
        } else if (decision.kind == Decision::Kind::kReadmit) {
          const auto at = open.find(decision.request);
          if (at == open.end()) continue;
          all[at->second].resumed = time;
          all[at->second].hit_again_tokens = decision.tokens;
          open.erase(at);
        }
      }
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Preemption& a, const Preemption& b) { return a.time < b.time; });
  return all;
}

}  // namespace kvplan::gui
