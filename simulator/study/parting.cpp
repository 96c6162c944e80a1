#include "simulator/study/parting.h"

#include <algorithm>

namespace kvplan::runs {
namespace {

using observe::Decision;
using observe::Decisions;

/// The decisions of one step; several entries if time passed between its parts.
struct Step {
  std::int64_t number{0};
  SimTime begin;
  std::vector<Decision> decisions;
};

/// The step that begins at entry `i`; moves `i` to the next step. REQUIRES: i < size.
Step take_step(const Decisions& of, std::size_t& i) {
  Step step{of.step(i).step, of.step(i).begin, {}};
  for (; i < of.size() && of.step(i).step == step.number; ++i)
    step.decisions.insert(step.decisions.end(), of.of(i).begin(), of.of(i).end());
  return step;
}

std::vector<Decision> without(const std::vector<Decision>& these, std::vector<Decision> others) {
  std::vector<Decision> left;
  for (const Decision& decision : these) {
    const auto at = std::find(others.begin(), others.end(), decision);
    if (at == others.end()) {
      left.push_back(decision);
    } else {
      others.erase(at);
    }
  }
  return left;
}

std::optional<Parting> parting_of_replica(std::int64_t replica, const Decisions& a, const Decisions& b) {
  std::size_t at_a = 0, at_b = 0;
  while (at_a < a.size() || at_b < b.size()) {
    const bool has_a = at_a < a.size(), has_b = at_b < b.size();
    const std::int64_t step = !has_b   ? a.step(at_a).step
                              : !has_a ? b.step(at_b).step
                                       : std::min(a.step(at_a).step, b.step(at_b).step);
    Parting parting{replica, step, {}, {}, {}, {}};
    std::vector<Decision> of_a, of_b;
    if (has_a && a.step(at_a).step == step) {
      Step taken = take_step(a, at_a);
      parting.a_begin = taken.begin;
      of_a = std::move(taken.decisions);
    }
    if (has_b && b.step(at_b).step == step) {
      Step taken = take_step(b, at_b);
      parting.b_begin = taken.begin;
      of_b = std::move(taken.decisions);
    }
    if (of_a == of_b) continue;
    parting.only_a = without(of_a, of_b);
    parting.only_b = without(of_b, of_a);
    if (parting.only_a.empty() && parting.only_b.empty()) {  // the same decisions in another order
      parting.only_a = std::move(of_a);
      parting.only_b = std::move(of_b);
    }
    return parting;
  }
  return std::nullopt;
}

}  // namespace

ObserverMaker Decided::observer() {
  return [this](const Watched& watched) -> Result<core::Observer*> {
    const auto replica = static_cast<std::size_t>(watched.replica);
    if (replicas_.size() <= replica) replicas_.resize(replica + 1);
    auto decisions = std::make_unique<Decisions>();  // a replica that runs again is watched anew
    core::Observer* const observer = decisions.get();
    replicas_[replica] = std::move(decisions);
    return observer;
  };
}

SimTime Parting::time() const {
  if (!a_begin) return b_begin.value_or(SimTime{});
  return b_begin ? std::min(*a_begin, *b_begin) : *a_begin;
}

std::optional<Parting> parting_of(std::span<const DecidedPtr> a, std::span<const DecidedPtr> b) {
  std::optional<Parting> first;
  for (std::size_t replica = 0; replica < std::min(a.size(), b.size()); ++replica) {
    auto found = parting_of_replica(static_cast<std::int64_t>(replica), *a[replica], *b[replica]);
    if (found && (!first || found->time() < first->time())) first = std::move(found);
  }
  return first;
}

std::string decision_text(const Decision& decision) {
  const std::string request = "request " + std::to_string(number(decision.request));
  const std::string tokens = std::to_string(decision.tokens) + " tokens";
  switch (decision.kind) {
    case Decision::Kind::kAdmit:
      return "admits " + request + (decision.tokens > 0 ? " with a prefix hit of " + tokens : "");
    case Decision::Kind::kReadmit:
      return "admits " + request + " again" + (decision.tokens > 0 ? " with a prefix hit of " + tokens : "");
    case Decision::Kind::kChunk:
      return "computes " + tokens + " of " + request;
    case Decision::Kind::kPreempt:
      return "preempts " + request + ", which loses " + tokens;
    case Decision::Kind::kFinish:
      break;
  }
  return "finishes " + request;
}

}  // namespace kvplan::runs
