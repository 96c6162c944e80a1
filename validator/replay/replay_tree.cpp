// Prefixes in a tree of pages: what is put into it, found in it, and leaves it.
#include <algorithm>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

Status Replay::Impl::on(const log::PrefixIds& f) {
  const auto found = requests_.find(f.request);
  if (found == requests_.end() || !found->second.waiting || found->second.rank >= 0)
    return contradict(f.request, "has prompt ids, but has not just arrived");
  Request& r = found->second;
  r.pages.add_ids(f.ids);
  if (r.pages.ids() <= r.prefix_ids) return Done{};
  return contradict(f.request, "has more than the " + std::to_string(r.prefix_ids) + " ids of its prompt");
}

/// What was found is read: all pages, and each must hold the content that was looked for.
Status Replay::Impl::take_found(Request& r, std::int64_t found_pages) {
  if (r.pages.ids() != r.prefix_ids)
    return contradict(r.id, "has " + std::to_string(r.pages.ids()) + " ids of its prompt, not " +
                                std::to_string(r.prefix_ids));
  if (found_pages < 0) return contradict(r.id, "hits a negative number of pages");
  std::vector<std::int64_t> alloc_units;
  for (std::int64_t page = 0; page < found_pages; ++page) {
    alloc_units.push_back(tree_.find(r.pages.key(page)));
    if (alloc_units.back() < 0)
      return contradict(r.id, "finds page " + std::to_string(page) + ", which is not in the radix tree");
  }
  // One token is always computed; of the others, all cached ones are hit.
  const bool more_asked = (found_pages + 1) * header_.alloc_unit_tokens < r.target;
  if (more_asked && tree_.find(r.pages.key(found_pages)) >= 0)
    return contradict(r.id,
                      "does not hit page " + std::to_string(found_pages) + ", which is in the radix tree");
  KVPLAN_TRY_DO(read_found(r, alloc_units));
  if (stopped()) return Done{};
  KVPLAN_TRY(const std::vector<std::int64_t> entries, entries_of_hits(r, found_pages));
  return arena_.share(r, entries, alloc_units);
}

Status Replay::Impl::read_found(const Request& r, const std::vector<std::int64_t>& alloc_units) {
  KVPLAN_TRY(const CellCounts cells, arena_.read_all(alloc_units));
  const std::int64_t due = static_cast<std::int64_t>(alloc_units.size()) * header_.alloc_unit_tokens;
  if (cells.wrong > 0 || cells.cached != due)
    return contradict(r.id, "hits pages of the radix tree that do not hold its tokens");
  hit_cells_read_ += due;
  hit_cells_right_ += cells.cached;
  return Done{};
}

/// For a page that the tree already holds, the request uses the tree's copy, and its own copy is freed. Its other
/// pages move to the tree.
Status Replay::Impl::put_into_tree(Request& r, std::int64_t pages) {
  std::vector<std::int64_t> theirs;
  const std::int64_t first = r.published;
  for (std::int64_t page = first; page < pages; ++page) {
    const log::ContentKey key = r.pages.key(page);
    const std::int64_t there = tree_.find(key);
    if (there >= 0) {
      theirs.push_back(there);
      continue;
    }
    const std::int64_t q = r.table[static_cast<std::size_t>(page)];
    AllocUnit& alloc_unit = arena_.alloc_unit(q);
    KVPLAN_CHECK(alloc_unit.key == key && alloc_unit.publication < 0, r.id, page);
    alloc_unit.publication = next_publication_++;
    publications_.emplace(alloc_unit.publication, q);
    tree_.put(key, r.pages.key_before(page), q);
  }
  r.published = std::max(r.published, pages);
  KVPLAN_TRY_DO(read_found(r, theirs));
  return stopped() ? Status(Done{}) : arena_.take_for_own(r, first, theirs);
}

/// A prompt that is computed in pieces, before its next one; and one that became whole in this step.
Status Replay::Impl::on(const log::Settle& f) {
  Request* const r = running(f.request);
  if (!header_.tree || r == nullptr)
    return contradict(f.request, "settles, but does not run or there is no radix tree");
  const bool between = phase_ == Phase::kPass && !r->whole && r->stage == kNothing && preempted_ == 0;
  const bool ending = phase_ == Phase::kEnding && r->owes_tree && !r->owes_first_token;
  if (!between && !ending) return contradict(f.request, "settles out of order");
  const std::int64_t pages = r->written / header_.alloc_unit_tokens;
  if (pages <= r->published || f.tokens != pages * header_.alloc_unit_tokens)
    return contradict(f.request, "settles " + std::to_string(f.tokens) + " tokens; " +
                                     std::to_string(pages * header_.alloc_unit_tokens) +
                                     " are in whole pages, of which " + std::to_string(r->published) +
                                     " are in the radix tree");
  r->owes_tree = false;
  return put_into_tree(*r, pages);
}

/// From the last page on: no request may hold the page, and no page may follow it.
Status Replay::Impl::reclaim_pages(const log::Reclaim& f) {
  if (f.pages < 1) return contradict("no page of the radix tree is evicted");
  if (order_ >= 0) return contradict("pages of the radix tree are evicted after a request was scheduled");
  for (std::int64_t number = f.publication + f.pages - 1; number >= f.publication; --number) {
    const auto found = publications_.find(number);
    const std::string name = "page " + std::to_string(number) + " of the radix tree is evicted, but ";
    if (found == publications_.end()) return contradict(name + "is not there");
    const AllocUnit& alloc_unit = arena_.alloc_unit(found->second);
    if (!alloc_unit.holders.empty()) return contradict(name + "is held");
    if (tree_.has_pages_behind(alloc_unit.key)) return contradict(name + "has pages after it");
    tree_.remove(alloc_unit.key);
    KVPLAN_TRY_DO(arena_.forget(found->second));
    publications_.erase(found);
  }
  return Done{};
}

}  // namespace kvplan::validator
