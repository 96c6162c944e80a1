// Changes of logs of several replicas.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tests/validator/mutations.h"

namespace kvplan::test {
namespace {

using namespace event_log;  // NOLINT: many kinds of fact are named here
using Records = std::vector<Record>;

template <class Kind>
bool is(const Record& record) {
  return std::holds_alternative<Kind>(record.fact);
}
template <class Fits>
std::vector<std::size_t> places(const Records& records, Fits fits) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < records.size(); ++i)
    if (fits(records[i])) found.push_back(i);
  return found;
}
/// One of them, at random; its number is appended to `what`. REQUIRES: there is one.
template <class T>
T& one_of(std::vector<T>& found, Random& random, std::string& what) {
  const std::size_t i = random.below(found.size());
  what = "number " + std::to_string(i) + " of " + std::to_string(found.size());
  return found[i];
}

/// For a rejected request, the replica makes no difference to memory.
bool another_replica(WholeLog& log, Random& random, std::string& what) {
  auto found = places(log.records, [](const Record& record) {
    const auto* const arrival = std::get_if<Arrival>(&record.fact);
    return !is<TickEnd>(record) && !is<FleetEnd>(record) && (arrival == nullptr || arrival->accepted);
  });
  if (log.header.replicas < 2 || found.empty()) return false;
  Record& record = log.records[one_of(found, random, what)];
  what = kFactNames[record.fact.index()];
  record.replica = (record.replica + 1) % log.header.replicas;
  return true;
}

/// Consecutive facts of one replica: the end of a step, a pass, an arrival.
struct Group {
  std::size_t begin, end;
  std::size_t kind;  ///< of its first fact
  std::int64_t tick;
};
std::vector<Group> groups_of(const Records& records) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::int64_t tick = -1;
    if (const auto* f = std::get_if<PassBegin>(&records[i].fact)) tick = f->time;
    if (const auto* f = std::get_if<StepEnd>(&records[i].fact)) tick = f->time;
    if (const auto* f = std::get_if<Arrival>(&records[i].fact)) tick = f->time;
    const bool other = is<TickEnd>(records[i]) || is<End>(records[i]) || is<FleetEnd>(records[i]);
    const bool again = !groups.empty() && is<PassBegin>(records[i]) && groups.back().tick == tick &&
                       records[groups.back().begin].fact.index() == records[i].fact.index() &&
                       records[groups.back().begin].replica == records[i].replica;
    const bool alone = !groups.empty() && !again && is<StepRun>(records[i]) &&
                       records[i - 1].replica != records[i].replica;  // continues with other durations
    if ((tick >= 0 && !again) || other || alone || groups.empty())
      groups.push_back({i, i, records[i].fact.index(), tick});
    groups.back().end = i + 1;
  }
  return groups;
}

template <class Fits>
bool swap_neighbours(WholeLog& log, Random& random, std::string& what, Fits fits) {
  const auto groups = groups_of(log.records);
  std::vector<std::size_t> found;
  for (std::size_t g = 0; g + 1 < groups.size(); ++g)
    if (groups[g].tick >= 0 && groups[g].tick == groups[g + 1].tick &&
        fits(log.records[groups[g].begin], log.records[groups[g + 1].begin]))
      found.push_back(g);
  if (found.empty()) return false;
  const std::size_t g = one_of(found, random, what);
  const auto at = [&](std::size_t i) { return log.records.begin() + static_cast<std::ptrdiff_t>(i); };
  std::rotate(at(groups[g].begin), at(groups[g + 1].begin), at(groups[g + 1].end));
  return true;
}
bool other_order_of_replicas(WholeLog& log, Random& random, std::string& what) {
  return swap_neighbours(log, random, what, [](const Record& a, const Record& b) {
    const bool alike = (is<PassBegin>(a) && is<PassBegin>(b)) || (is<StepEnd>(a) && is<StepEnd>(b));
    return alike && a.replica != b.replica;
  });
}
bool pass_before_an_end(WholeLog& log, Random& random, std::string& what) {
  return swap_neighbours(log, random, what, [](const Record& a, const Record& b) {
    return is<StepEnd>(a) && is<PassBegin>(b) && a.replica != b.replica;
  });
}
/// True if the step had no ticks: its end is in a later round of its tick than the end before. A log does not say in
/// which of two rounds a request between them arrived; if the end of another request caused it, in the later one.
bool ends_in_a_later_round(const WholeLog& log, const Record& end) {
  for (const Record* at = &end; at != log.records.data();) {
    const auto* const run = std::get_if<StepRun>(&(--at)->fact);
    if (run != nullptr && at->replica == end.replica) return run->span() == run->span(run->steps - 1);
  }
  return false;
}
bool arrival_before_an_end(WholeLog& log, Random& random, std::string& what) {
  return swap_neighbours(log, random, what, [&](const Record& a, const Record& b) {
    return is<StepEnd>(a) && is<Arrival>(b) && !ends_in_a_later_round(log, a);
  });
}
bool arrival_after_a_pass(WholeLog& log, Random& random, std::string& what) {
  return swap_neighbours(log, random, what,
                         [](const Record& a, const Record& b) { return is<Arrival>(a) && is<PassBegin>(b); });
}

/// Changes the claims of a random fact of this kind.
template <class Kind, class Change>
bool on_claims_of(WholeLog& log, Random& random, std::string& what, Change change) {
  auto found =
      places(log.records, [](const Record& record) { return is<Kind>(record) && record.claims.any(); });
  if (found.empty()) return false;
  change(log.records[one_of(found, random, what)].claims);
  return true;
}
bool joint_total_off_by_one(WholeLog& log, Random& random, std::string& what) {
  return on_claims_of<TickEnd>(log, random, what, [&](Claims& claims) {
    claims.totals[random.below(kStates)] += random.chance(1, 2) ? 1 : -1;
  });
}
bool joint_byte_in_the_wrong_state(WholeLog& log, Random& random, std::string& what) {
  return on_claims_of<TickEnd>(log, random, what, [&](Claims& claims) {
    const std::size_t from = random.below(kStates);
    --claims.totals[from];
    ++claims.totals[(from + 1 + random.below(kStates - 1)) % kStates];
  });
}
bool another_joint_batch(WholeLog& log, Random& random, std::string& what) {
  return on_claims_of<TickEnd>(log, random, what, [](Claims& claims) { ++claims.running; });
}
bool lose_joint_totals(WholeLog& log, Random& random, std::string& what) {
  return on_claims_of<TickEnd>(log, random, what, [](Claims& claims) { claims.has_totals = false; });
}
bool another_joint_peak(WholeLog& log, Random& random, std::string& what) {
  return on_claims_of<FleetEnd>(log, random, what, [&](Claims& claims) {
    JointPeak& peak = claims.joint_peak;
    switch (random.below(4)) {
      case 0:
        ++peak.time;
        break;
      case 1:
        ++peak.totals[random.below(kStates)];
        break;
      case 2:
        ++peak.running;
        break;
      default:
        ++peak.hole_bytes;
    }
  });
}
bool lose_the_joint_peak(WholeLog& log, Random& random, std::string& what) {
  return on_claims_of<FleetEnd>(log, random, what, [](Claims& claims) { claims.has_joint_peak = false; });
}
bool peak_of_one(WholeLog& log, Random& random, std::string& what) {
  return on_claims_of<PassEnd>(log, random, what, [](Claims& claims) { claims.has_joint_peak = true; });
}

template <class Kind>
bool lose(WholeLog& log, Random& random, std::string& what) {
  auto found = places(log.records, is<Kind>);
  if (found.empty()) return false;
  log.records.erase(log.records.begin() + static_cast<std::ptrdiff_t>(one_of(found, random, what)));
  return true;
}
template <class Kind>
bool another_tick(WholeLog& log, Random& random, std::string& what) {
  auto found = places(log.records, is<Kind>);
  if (found.empty()) return false;
  std::get<Kind>(log.records[one_of(found, random, what)].fact).time += random.chance(1, 2) ? 1 : -1;
  return true;
}
bool ends_in_another_order(WholeLog& log, Random& random, std::string& what) {
  auto found = places(log.records, is<End>);
  if (found.size() < 2) return false;
  found.pop_back();
  const std::size_t i = one_of(found, random, what);
  std::swap(log.records[i], log.records[i + 1]);
  return true;
}
bool another_number_of_replicas(WholeLog& log, Random& random, std::string& what) {
  log.header.replicas += random.chance(1, 2) ? 1 : -1;
  what = "header";
  return true;
}

constexpr std::array<Mutation, 18> kFleetMutations{{
    {"another replica", another_replica},
    {"replicas of a tick in another order", other_order_of_replicas},
    {"a pass before an end of a step", pass_before_an_end},
    {"an arrival before an end of a step", arrival_before_an_end},
    {"an arrival after a pass", arrival_after_a_pass},
    {"a joint total off by one", joint_total_off_by_one},
    {"a joint byte in the wrong state", joint_byte_in_the_wrong_state},
    {"another joint batch", another_joint_batch},
    {"lose joint totals", lose_joint_totals},
    {"another joint peak", another_joint_peak},
    {"lose the joint peak", lose_the_joint_peak},
    {"a joint peak of one replica", peak_of_one},
    {"lose the end of a tick", lose<TickEnd>},
    {"lose the end of all", lose<FleetEnd>},
    {"another tick that ends", another_tick<TickEnd>},
    {"another end of all", another_tick<FleetEnd>},
    {"replicas end in another order", ends_in_another_order},
    {"another number of replicas", another_number_of_replicas},
}};

}  // namespace

std::span<const Mutation> fleet_mutations() {
  return kFleetMutations;
}

}  // namespace kvplan::test
