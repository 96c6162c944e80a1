#include "tests/validator/mutations_courses.h"

#include <map>
#include <vector>

#include "tests/validator/mutation_tools.h"

namespace kvplan::test {

using namespace event_log;  // NOLINT: every kind of fact is named here

namespace {

constexpr auto kHasNumbers = [](const Course& f) { return !f.drops.empty(); };

/// Courses that are followed to their end: later drops of a preempted request have no meaning.
std::vector<Course*> followed_courses(WholeLog& log) {
  std::vector<Course*> found;
  std::map<RequestId, std::vector<Course*>> open;
  for (Record& record : log.records) {
    if (auto* course = std::get_if<Course>(&record.fact)) open[course->request].push_back(course);
    if (const auto* preempt = std::get_if<Preempt>(&record.fact)) open.erase(preempt->request);
    if (const auto* finish = std::get_if<Finish>(&record.fact))
      for (Course* course : open[finish->request])
        if (!course->drops.empty()) found.push_back(course);
  }
  return found;
}

}  // namespace

bool drop_another_token(WholeLog& log, Random& random, std::string& what) {
  // A changed count shifts all that follows; a changed position names another token.
  const auto courses = followed_courses(log);
  if (courses.empty()) return false;
  Course& f = *courses[random.below(courses.size())];
  const std::size_t i = random.below(f.drops.size());
  what = "request " + std::to_string(number(f.request)) + ", number " + std::to_string(i);
  one_off(f.drops[i], random);
  return true;
}
bool lose_a_number(WholeLog& log, Random& random, std::string& what) {
  return on_a<Course>(log, random, what, kHasNumbers, [&](Course& f) {
    f.drops.erase(f.drops.begin() + static_cast<std::ptrdiff_t>(random.below(f.drops.size())));
  });
}
bool other_kept_tokens(WholeLog& log, Random& random, std::string& what) {
  const auto i = pick(log.records, random, [](const Record& r) { return r.claims.has_kept; });
  if (i < 0) return false;
  what = "record " + std::to_string(i);
  auto& claims = log.records[static_cast<std::size_t>(i)].claims;
  random.chance(1, 2) ? static_cast<void>(++claims.kept_digest) : static_cast<void>(claims.has_kept = false);
  return true;
}
bool let_another_block_go(WholeLog& log, Random& random, std::string& what) {
  return on_a<LetGo>(log, random, what, kAny, [&](LetGo& f) { one_off(f.logical_blocks.back(), random); });
}
bool let_a_block_less_go(WholeLog& log, Random& random, std::string& what) {
  // If a request is preempted in the same step, all its blocks are freed anyway.
  std::vector<LetGo*> found;
  std::vector<LetGo*> of_pass;
  for (Record& record : log.records) {
    if (auto* gone = std::get_if<LetGo>(&record.fact)) of_pass.push_back(gone);
    if (const auto* preempt = std::get_if<Preempt>(&record.fact))
      std::erase_if(of_pass, [&](const LetGo* gone) { return gone->request == preempt->request; });
    if (!std::holds_alternative<PassEnd>(record.fact) && !std::holds_alternative<Settled>(record.fact))
      continue;
    found.insert(found.end(), of_pass.begin(), of_pass.end());
    of_pass.clear();
  }
  if (found.empty()) return false;
  LetGo& changed = *found[random.below(found.size())];
  what = "request " + std::to_string(number(changed.request));
  changed.logical_blocks.pop_back();
  return true;
}
bool other_metadata(WholeLog& log, Random& /*random*/, std::string& what) {
  if (log.header.track_units.empty()) return false;
  log.header.metadata_bytes += log.header.metadata_bytes == 0 ? 1 : -1;
  what = "header";
  return true;
}
bool other_placement(WholeLog& log, Random& /*random*/, std::string& what) {
  if (log.header.track_units.empty() || log.header.compacts) return false;
  log.header.reuse = !log.header.reuse;
  what = "header";
  return true;
}

// ---- survivors that move together ----

/// A number of a Counts fact of a request that is followed to its end.
bool another_count_of_a_course(WholeLog& log, Random& random, std::string& what) {
  std::vector<std::int32_t*> found;
  std::map<RequestId, std::vector<Counts*>> open;
  for (Record& record : log.records) {
    if (auto* counts = std::get_if<Counts>(&record.fact)) open[counts->request].push_back(counts);
    if (const auto* preempt = std::get_if<Preempt>(&record.fact)) open.erase(preempt->request);
    if (const auto* finish = std::get_if<Finish>(&record.fact))
      for (Counts* counts : open[finish->request])
        for (AlikeTracks& alike : counts->alike)
          for (std::int32_t& number : alike.runs) found.push_back(&number);
  }
  if (found.empty()) return false;
  const std::size_t i = random.below(found.size());
  what = "number " + std::to_string(i);
  one_off(*found[i], random);
  return true;
}
bool other_tracks_alike(WholeLog& log, Random& random, std::string& what) {
  return on_a<Counts>(log, random, what, kAny,
                      [&](Counts& f) { one_off(f.alike[random.below(f.alike.size())].tracks, random); });
}
bool other_number_kept(WholeLog& log, Random& random, std::string& what) {
  const auto i = pick(log.records, random, [](const Record& r) { return r.claims.has_kept_cells; });
  if (i < 0) return false;
  what = "record " + std::to_string(i);
  auto& claims = log.records[static_cast<std::size_t>(i)].claims;
  random.chance(1, 2) ? one_off(claims.kept_cells, random) : static_cast<void>(claims.has_kept_cells = false);
  return true;
}
bool other_entry(WholeLog& log, Random& random, std::string& what) {
  if (log.header.tables == 1) return false;
  one_off(log.header.entry_bytes, random);
  what = "header";
  return true;
}
bool do_not_move(WholeLog& log, Random& random, std::string& what) {
  const bool moves =
      pick(log.records, random, [](const Record& r) { return std::holds_alternative<Compact>(r.fact); }) >= 0;
  if (!moves) return false;
  log.header.compacts = log.header.counted = false;
  what = "header";
  return true;
}

}  // namespace kvplan::test
