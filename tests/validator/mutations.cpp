#include "tests/validator/mutations.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/validator/mutation_tools.h"
#include "tests/validator/mutations_courses.h"

namespace kvplan::test {
namespace {

using namespace event_log;  // NOLINT: every kind of fact is named here

/// Changes number `Member` of a random fact of a kind by one, up or down.
template <auto Member, class Kind>
bool shift(WholeLog& log, Random& random, std::string& what) {
  return on_a<Kind>(log, random, what, kAny, [&](Kind& fact) { one_off(fact.*Member, random); });
}

/// Drops that repeat what is known (nothing is freed, and they are not the first) have no meaning of their own.
std::set<std::size_t> restatements(const Records& records) {
  std::set<std::size_t> found;
  std::set<RequestId> sliding;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (const auto* admit = std::get_if<Admit>(&records[i].fact)) sliding.erase(admit->request);
    if (const auto* drop = std::get_if<Drop>(&records[i].fact)) {
      if (!sliding.insert(drop->request).second && drop->released == 0) found.insert(i);
    }
  }
  return found;
}

bool lose_a_fact(WholeLog& log, Random& random, std::string& what) {
  const auto none = restatements(log.records);
  for (int tries = 0; tries < 100; ++tries) {
    const std::size_t i = random.below(log.records.size());
    const auto* arrival = std::get_if<Arrival>(&log.records[i].fact);
    if (none.count(i) > 0 || (arrival != nullptr && !arrival->accepted)) continue;
    what = std::string(kFactNames[log.records[i].fact.index()]) + ", record " + std::to_string(i);
    log.records.erase(log.records.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

bool repeat_a_fact(WholeLog& log, Random& random, std::string& what) {
  for (int tries = 0; tries < 100; ++tries) {
    const std::size_t i = random.below(log.records.size());
    const auto* drop = std::get_if<Drop>(&log.records[i].fact);
    if (drop != nullptr && drop->released == 0) continue;
    what = std::string(kFactNames[log.records[i].fact.index()]) + ", record " + std::to_string(i);
    const Record again = log.records[i];
    log.records.insert(log.records.begin() + static_cast<std::ptrdiff_t>(i), again);
    return true;
  }
  return false;
}

template <class Kind>
bool lose(WholeLog& log, Random& random, std::string& what) {
  const auto i = pick(log.records, random,
                      [](const Record& record) { return std::holds_alternative<Kind>(record.fact); });
  if (i < 0) return false;
  what = "record " + std::to_string(i);
  log.records.erase(log.records.begin() + i);
  return true;
}

/// Two facts of a kind exchange their requests; there is no pass between them.
template <class Kind>
bool swap_requests(WholeLog& log, Random& random, std::string& what) {
  std::vector<std::pair<Kind*, Kind*>> pairs;
  Kind* last = nullptr;
  for (Record& record : log.records) {
    if (std::holds_alternative<PassBegin>(record.fact)) last = nullptr;
    auto* fact = std::get_if<Kind>(&record.fact);
    if (fact == nullptr) continue;
    if (last != nullptr && last->request != fact->request) pairs.emplace_back(last, fact);
    last = fact;
  }
  if (pairs.empty()) return false;
  const std::size_t i = random.below(pairs.size());
  std::swap(pairs[i].first->request, pairs[i].second->request);
  what = "pair " + std::to_string(i);
  return true;
}

/// Exchanges two victims of one scheduler step, one directly after the other.
bool victims_in_another_order(WholeLog& log, Random& random, std::string& what) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i + 1 < log.records.size(); ++i)
    if (std::holds_alternative<Preempt>(log.records[i].fact) &&
        std::holds_alternative<Preempt>(log.records[i + 1].fact) &&
        log.records[i].replica == log.records[i + 1].replica)
      found.push_back(i);
  if (found.empty()) return false;
  const std::size_t i = found[random.below(found.size())];
  std::swap(log.records[i], log.records[i + 1]);
  what = "record " + std::to_string(i);
  return true;
}

/// Changes the priority of a request that is preempted while others run, so that it would be preempted last.
bool another_priority(WholeLog& log, Random& random, std::string& what) {
  if (!log.header.rules.by_priority) return false;
  std::map<RequestId, Arrival*> arrivals;
  std::map<std::int32_t, std::int64_t> running;  // of each replica
  std::vector<Arrival*> found;
  for (Record& record : log.records) {
    if (auto* arrival = std::get_if<Arrival>(&record.fact)) arrivals[arrival->request] = arrival;
    running[record.replica] += std::holds_alternative<Admit>(record.fact) ? 1 : 0;
    running[record.replica] -= std::holds_alternative<Finish>(record.fact) ? 1 : 0;
    const auto* preempt = std::get_if<Preempt>(&record.fact);
    if (preempt != nullptr && running[record.replica]-- > 1) found.push_back(arrivals.at(preempt->request));
  }
  if (found.empty()) return false;
  Arrival& changed = *found[random.below(found.size())];
  changed.priority = INT32_MIN;
  what = "request " + std::to_string(number(changed.request));
  return true;
}
/// Sets a priority in a log without priorities.
bool a_priority(WholeLog& log, Random& random, std::string& what) {
  if (log.header.rules.by_priority) return false;
  return on_a<Arrival>(log, random, what, kAny, [](Arrival& f) { f.priority = 3; });
}
/// With priorities, nothing changes if no request is preempted.
bool the_youngest_first(WholeLog& log, Random& /*random*/, std::string& what) {
  const bool any_priority =
      log.header.rules.by_priority && std::ranges::any_of(log.records, [](const Record& record) {
        return std::holds_alternative<HoldBack>(record.fact);
      });
  if (!any_priority) return false;
  log.header.rules.by_priority = false;
  for (Record& record : log.records)
    if (auto* arrival = std::get_if<Arrival>(&record.fact)) arrival->priority = 0;
  what = "header";
  return true;
}

bool flip_a_refusal(WholeLog& log, Random& random, std::string& what) {
  // If no byte is free, nothing is stranded in either case.
  const auto i = pick(log.records, random, [](const Record& record) {
    return std::holds_alternative<PassEnd>(record.fact) &&
           record.claims.totals[8] + record.claims.totals[9] > 0;
  });
  if (i < 0) return false;
  auto& fact = std::get<PassEnd>(log.records[static_cast<std::size_t>(i)].fact);
  fact.refused = !fact.refused;
  what = "record " + std::to_string(i);
  return true;
}

bool accept_the_rejected(WholeLog& log, Random& random, std::string& what) {
  return on_a<Arrival>(log, random, what, kAny, [](Arrival& f) { f.accepted = !f.accepted; });
}
bool another_prompt(WholeLog& log, Random& random, std::string& what) {
  return on_a<Arrival>(
      log, random, what, [](const Arrival& f) { return f.accepted; },
      [&](Arrival& f) { one_off(f.input, random); });
}
bool another_answer(WholeLog& log, Random& random, std::string& what) {
  return on_a<Arrival>(
      log, random, what, [](const Arrival& f) { return f.accepted; },
      [&](Arrival& f) { one_off(f.output, random); });
}
bool another_growth(WholeLog& log, Random& random, std::string& what) {
  return on_a<StepRun>(
      log, random, what, [](const StepRun& f) { return f.steps > 1; },
      [&](StepRun& f) { one_off(f.growth, random); });
}
bool lose_an_ending(WholeLog& log, Random& random, std::string& what) {
  return on_a<StepEnd>(
      log, random, what, [](const StepEnd& f) { return !f.finishing.empty(); },
      [](StepEnd& f) { f.finishing.pop_back(); });
}

constexpr auto kHasHits = [](const Admit& f) { return !f.hit_keys.empty(); };

bool hit_unpublished(WholeLog& log, Random& random, std::string& what) {
  return on_a<Admit>(log, random, what, kHasHits, [](Admit& f) { f.hit_publications.back() = 1'000'000; });
}
bool hit_another_content(WholeLog& log, Random& random, std::string& what) {
  return on_a<Admit>(log, random, what, kHasHits, [](Admit& f) { f.hit_keys.back() += 2; });
}
bool hit_another_publication(WholeLog& log, Random& random, std::string& what) {
  return on_a<Admit>(log, random, what, kHasHits, [&](Admit& f) {
    one_off(f.hit_publications[random.below(f.hit_publications.size())], random);
  });
}
bool hit_less(WholeLog& log, Random& random, std::string& what) {
  return on_a<Admit>(log, random, what, kHasHits, [](Admit& f) {
    f.hit_keys.pop_back();
    f.hit_publications.pop_back();
  });
}

/// Exchanges two blocks that an admission takes, adjacent and of different layer groups.
bool hit_other_layers(WholeLog& log, Random& random, std::string& what) {
  const auto groups = log.header.groups.size();
  const auto group_of = [&](ContentKey key) {
    return (key % 2 == 0 ? key / 2 : (key & 0xFFFF'FFFFU) / 2) % groups;
  };
  std::vector<std::pair<Admit*, std::size_t>> found;
  for (Record& record : log.records) {
    auto* const admit = std::get_if<Admit>(&record.fact);
    for (std::size_t i = 1; groups > 1 && admit != nullptr && i < admit->hit_keys.size(); ++i)
      if (group_of(admit->hit_keys[i - 1]) != group_of(admit->hit_keys[i])) found.emplace_back(admit, i);
  }
  if (found.empty()) return false;
  const auto [admit, i] = found[random.below(found.size())];
  std::swap(admit->hit_keys[i - 1], admit->hit_keys[i]);
  std::swap(admit->hit_publications[i - 1], admit->hit_publications[i]);
  what = "hit " + std::to_string(i) + " of request " + std::to_string(number(admit->request));
  return true;
}

/// Puts the last block of one group before the first block of the next.
bool publish_in_another_order(WholeLog& log, Random& random, std::string& what) {
  const auto groups = static_cast<std::int64_t>(log.header.groups.size());
  std::vector<std::size_t> found;
  for (std::size_t i = 1; groups > 1 && i < log.records.size(); ++i) {
    const auto* const first = std::get_if<Publish>(&log.records[i - 1].fact);
    const auto* const second = std::get_if<Publish>(&log.records[i].fact);
    if (first == nullptr || second == nullptr || first->request != second->request) continue;
    if (first->logical_block % groups != second->logical_block % groups) found.push_back(i);
  }
  if (found.empty()) return false;
  const std::size_t i = found[random.below(found.size())];
  std::swap(log.records[i - 1], log.records[i]);
  what = "record " + std::to_string(i);
  return true;
}

// ---- trees ----

bool other_prefix(WholeLog& log, Random& random, std::string& what) {
  // For a request with a hit. No other request has such an id.
  std::map<RequestId, PrefixIds*> told;
  std::vector<PrefixIds*> finders;
  for (Record& record : log.records) {
    if (auto* ids = std::get_if<PrefixIds>(&record.fact)) told.emplace(ids->request, ids);
    const auto* admit = std::get_if<Admit>(&record.fact);
    if (admit != nullptr && admit->found_pages > 0 && told.count(admit->request) > 0)
      finders.push_back(told.at(admit->request));
  }
  if (finders.empty()) return false;
  PrefixIds& changed = *finders[random.below(finders.size())];
  changed.ids.front() += 1'000'000;
  what = "request " + std::to_string(number(changed.request));
  return true;
}

// ---- ranges that move ----

bool slide_or_copy(WholeLog& log, Random& random, std::string& what) {
  return on_a<Move>(log, random, what, kAny, [](Move& f) { f.slides = !f.slides; });
}

// ---- claims ----

template <class Fits, class Change>
bool on_a_claim(WholeLog& log, Random& random, std::string& what, Fits fits, Change change) {
  const auto i = pick(log.records, random, [&](const Record& record) { return fits(record); });
  if (i < 0) return false;
  what = "record " + std::to_string(i);
  change(log.records[static_cast<std::size_t>(i)].claims);
  return true;
}
constexpr auto kHasTotals = [](const Record& r) { return r.claims.has_totals; };
constexpr auto kHasPlaces = [](const Record& r) { return !r.claims.places.empty(); };

bool a_byte_too_few(WholeLog& log, Random& random, std::string& what) {
  return on_a_claim(log, random, what, kHasTotals,
                    [&](Claims& c) { one_off(c.totals[random.below(kStates)], random); });
}
bool a_byte_in_the_wrong_state(WholeLog& log, Random& random, std::string& what) {
  return on_a_claim(log, random, what, kHasTotals, [&](Claims& c) {
    const std::size_t from = random.below(kStates);
    c.totals[from] -= 1;
    c.totals[(from + 1 + random.below(kStates - 1)) % kStates] += 1;
  });
}
bool lose_totals(WholeLog& log, Random& random, std::string& what) {
  return on_a_claim(log, random, what, kHasTotals, [](Claims& c) { c.has_totals = false; });
}
bool another_count(WholeLog& log, Random& random, std::string& what) {
  return on_a_claim(
      log, random, what, [](const Record& r) { return std::holds_alternative<PassEnd>(r.fact); },
      [&](Claims& c) { random.chance(1, 2) ? ++c.running : ++c.waiting; });
}
bool lose_a_place(WholeLog& log, Random& random, std::string& what) {
  return on_a_claim(log, random, what, kHasPlaces, [](Claims& c) { c.places.pop_back(); });
}
bool a_place_outside(WholeLog& log, Random& random, std::string& what) {
  const std::int64_t end = log.header.alloc_units + 1;
  return on_a_claim(log, random, what, kHasPlaces, [&](Claims& c) {
    c.places.back() = static_cast<std::int32_t>(random.chance(1, 2) ? -1 : end);
  });
}
bool a_block_granted_twice(WholeLog& log, Random& random, std::string& what) {
  return on_a_claim(
      log, random, what,
      [](const Record& r) {
        return r.claims.places.size() > 1 && r.claims.places.front() != r.claims.places.back();
      },
      [](Claims& c) { c.places.back() = c.places.front(); });
}
/// Sets the address of the grant before, in the same step, which is still held.
bool a_place_that_is_held(WholeLog& log, Random& random, std::string& what) {
  std::vector<std::pair<std::size_t, std::int32_t>> found;
  std::int32_t held = -1;
  for (std::size_t i = 0; i < log.records.size(); ++i) {
    const Record& record = log.records[i];
    if (std::holds_alternative<PassBegin>(record.fact) || std::holds_alternative<Preempt>(record.fact))
      held = -1;
    if (!std::holds_alternative<Grant>(record.fact) || record.claims.places.empty()) continue;
    if (held >= 0) found.emplace_back(i, held);
    held = record.claims.places.front();
  }
  if (found.empty()) return false;
  const auto [i, place] = found[random.below(found.size())];
  log.records[i].claims.places.front() = place;
  what = "record " + std::to_string(i);
  return true;
}

bool another_window(WholeLog& log, Random& random, std::string& what) {
  std::vector<LayerGroup*> found;
  for (LayerGroup& group : log.header.groups)
    if (group.window > 1) found.push_back(&group);
  if (found.empty()) return false;
  what = "window of a group";
  one_off(found[random.below(found.size())]->window, random);
  return true;
}

constexpr std::array<Mutation, 98> kMutations{{
    {"lose a fact", lose_a_fact},
    {"repeat a fact", repeat_a_fact},
    {"lose a finish", lose<Finish>},
    {"lose a preemption", lose<Preempt>},
    {"lose a grant", lose<Grant>},
    {"lose an admission", lose<Admit>},
    {"lose a publication", lose<Publish>},
    {"lose a reclaim", lose<Reclaim>},
    {"lose a chunk", lose<Chunk>},
    {"lose a first token", lose<FirstToken>},
    {"lose an ending", lose_an_ending},
    {"swap grants", swap_requests<Grant>},
    {"swap chunks", swap_requests<Chunk>},
    {"swap publications", swap_requests<Publish>},
    {"swap preemptions", swap_requests<Preempt>},
    {"victims in another order", victims_in_another_order},
    {"lose one held back", lose<HoldBack>},
    {"swap those held back", swap_requests<HoldBack>},
    {"another priority", another_priority},
    {"a priority", a_priority},
    {"the youngest first", the_youngest_first},
    {"flip a refusal", flip_a_refusal},
    {"flip an acceptance", accept_the_rejected},
    {"another prompt", another_prompt},
    {"another answer", another_answer},
    {"another sink", shift<&Drop::sink, Drop>},
    {"another kept set", shift<&Drop::begin, Drop>},
    {"another number let go", shift<&Drop::released, Drop>},
    {"another block let go", shift<&Drop::first_released, Drop>},
    {"another grant", shift<&Grant::alloc_units, Grant>},
    {"a grant elsewhere", shift<&Grant::first_block, Grant>},
    {"another chunk", shift<&Chunk::tokens, Chunk>},
    {"a chunk elsewhere", shift<&Chunk::computed, Chunk>},
    {"another reclaim", shift<&Reclaim::publication, Reclaim>},
    {"another key", shift<&Publish::key, Publish>},
    {"a block published elsewhere", shift<&Publish::logical_block, Publish>},
    {"another step count", shift<&StepRun::steps, StepRun>},
    {"another duration", shift<&StepRun::first, StepRun>},
    {"another growth", another_growth},
    {"another end of a step", shift<&StepEnd::time, StepEnd>},
    {"another pass", shift<&PassBegin::time, PassBegin>},
    {"less written at a finish", shift<&Finish::written, Finish>},
    {"less written at a preemption", shift<&Preempt::written, Preempt>},
    {"another number of pages reclaimed", shift<&Reclaim::pages, Reclaim>},
    {"another number of pages found", shift<&Admit::found_pages, Admit>},
    {"another number of ids", shift<&Arrival::prefix_ids, Arrival>},
    {"lose ids", lose<PrefixIds>},
    {"swap ids", swap_requests<PrefixIds>},
    {"another prefix", other_prefix},
    {"lose what settles", lose<Settle>},
    {"swap what settles", swap_requests<Settle>},
    {"settle another number of tokens", shift<&Settle::tokens, Settle>},
    {"lose a move", lose<Move>},
    {"swap moves", swap_requests<Move>},
    {"another slot moved", shift<&Move::copied, Move>},
    {"another length of a moved range", shift<&Move::slots, Move>},
    {"slide or copy", slide_or_copy},
    {"lose a course", lose<Course>},
    {"lose blocks let go", lose<LetGo>},
    {"swap blocks let go", swap_requests<LetGo>},
    {"drop another token", drop_another_token},
    {"lose a number of a course", lose_a_number},
    {"let another block go", let_another_block_go},
    {"let a block less go", let_a_block_less_go},
    {"other kept tokens", other_kept_tokens},
    {"other metadata", other_metadata},
    {"other placement", other_placement},
    {"another window", another_window},
    {"lose counts", lose<Counts>},
    {"another count of a course", another_count_of_a_course},
    {"other tracks alike", other_tracks_alike},
    {"lose a compaction", lose<Compact>},
    {"swap compactions", swap_requests<Compact>},
    {"survivors elsewhere", shift<&Compact::slots, Compact>},
    {"another number of survivors", shift<&Compact::cells, Compact>},
    {"another number of blocks behind survivors", shift<&Compact::released, Compact>},
    {"other number kept", other_number_kept},
    {"survivors of another table", shift<&Compact::first_table, Compact>},
    {"survivors of other tables", shift<&Compact::tables, Compact>},
    {"a grant to another table", shift<&Grant::first_table, Grant>},
    {"a grant to other tables", shift<&Grant::tables, Grant>},
    {"another entry", other_entry},
    {"do not move", do_not_move},
    {"hit what was not published", hit_unpublished},
    {"hit another content", hit_another_content},
    {"hit another publication", hit_another_publication},
    {"hit less", hit_less},
    {"hit other layers", hit_other_layers},
    {"another number of blocks found", shift<&Admit::found_blocks, Admit>},
    {"publish in another order", publish_in_another_order},
    {"a byte too few or many", a_byte_too_few},
    {"a byte in the wrong state", a_byte_in_the_wrong_state},
    {"lose totals", lose_totals},
    {"another count", another_count},
    {"lose a place", lose_a_place},
    {"a place outside", a_place_outside},
    {"a block granted twice", a_block_granted_twice},
    {"a place that is held", a_place_that_is_held},
}};

}  // namespace

std::span<const Mutation> mutations() {
  return kMutations;
}

std::vector<std::pair<std::size_t, Record>> other_victims(const WholeLog& log) {
  struct Known {
    std::int64_t target{0}, written{0}, chunk{0};
    bool running{false};
    bool held_back{false};
    [[nodiscard]] bool whole() const { return written >= target; }
  };
  std::map<RequestId, Known> known;
  std::int64_t steps = 0;
  bool mixed = false;
  std::vector<std::pair<std::size_t, Record>> out;
  for (std::size_t i = 0; i < log.records.size(); ++i) {
    const Fact& fact = log.records[i].fact;
    if (const auto* f = std::get_if<Arrival>(&fact)) known[f->request].target = f->input;
    if (std::holds_alternative<PassBegin>(fact)) steps = mixed = false;
    if (const auto* f = std::get_if<Preempt>(&fact)) {
      for (const auto& [request, other] : known) {
        if (request == f->request || !other.running) continue;
        if (other.whole() || !log.header.rules.prefills_apart)
          out.push_back({i, {Preempt{request, other.written}, log.records[i].claims}});
      }
      Known& victim = known.at(f->request);
      if (victim.whole()) victim.target = f->written + 1;
      victim.running = false;
    }
    if (const auto* f = std::get_if<Admit>(&fact)) {
      Known& r = known.at(f->request);
      const auto hits = static_cast<std::int64_t>(f->hit_keys.size());
      const std::int64_t found = log.header.groups.empty() ? f->found_pages + hits : f->found_blocks;
      r.written = (r.running ? r.written : 0) + found * log.header.alloc_unit_tokens;
      r.running = true;
    }
    if (const auto* f = std::get_if<Chunk>(&fact)) {
      known.at(f->request).chunk = f->tokens;
      mixed = true;
    }
    if (std::holds_alternative<PassBegin>(fact))
      for (auto& [request, r] : known) r.held_back = false;
    if (const auto* f = std::get_if<HoldBack>(&fact)) known.at(f->request).held_back = true;
    if (const auto* f = std::get_if<StepRun>(&fact)) steps += f->steps;
    if (std::holds_alternative<StepEnd>(fact))
      for (auto& [request, r] : known) {
        const bool waits = (mixed && log.header.rules.prefills_apart) || r.held_back;
        if (r.running && r.chunk == 0 && r.whole() && !waits) r.written += steps;
        r.written += std::exchange(r.chunk, 0);
      }
    if (const auto* f = std::get_if<Finish>(&fact)) known.erase(f->request);
  }
  return out;
}

}  // namespace kvplan::test
