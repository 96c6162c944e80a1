#include "validator/replay/page_tree.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "validator/replay/cells.h"

namespace kvplan::validator {

using event_log::ContentKey;

PageKeys::PageKeys(RequestId request, std::int64_t named, std::int64_t id_tokens, std::int64_t page_tokens)
    : request_(request), named_(named), id_tokens_(id_tokens), page_tokens_(page_tokens) {}

void PageKeys::add_ids(const std::vector<std::uint32_t>& ids) {
  KVPLAN_CHECK(keys_.empty(), request_);
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

std::uint64_t PageKeys::name(std::int64_t token) const {
  if (token < std::min(named_, ids() * id_tokens_))
    return std::uint64_t{ids_[static_cast<std::size_t>(token / id_tokens_)]} *
               static_cast<std::uint64_t>(id_tokens_) +
           static_cast<std::uint64_t>(token % id_tokens_);
  constexpr std::uint64_t kOwn = std::uint64_t{1} << 63;
  return kOwn | static_cast<std::uint64_t>(request_) << 32 | static_cast<std::uint64_t>(token);
}

ContentKey PageKeys::key(std::int64_t page) {
  while (static_cast<std::int64_t>(keys_.size()) <= page) {
    ContentKey key = keys_.empty() ? kNothingBefore : keys_.back();
    const std::int64_t first = static_cast<std::int64_t>(keys_.size()) * page_tokens_;
    for (std::int64_t token = first; token < first + page_tokens_; ++token) key = mix(key ^ mix(name(token)));
    keys_.push_back(key);
  }
  return keys_[static_cast<std::size_t>(page)];
}

std::int64_t PageTree::find(ContentKey key) const {
  const auto found = pages_.find(key);
  return found == pages_.end() ? -1 : found->second.alloc_unit;
}

void PageTree::put(ContentKey key, ContentKey before, std::int64_t alloc_unit) {
  if (before != kNothingBefore) ++pages_.at(before).behind;
  const bool added = pages_.emplace(key, Page{alloc_unit, before}).second;
  KVPLAN_CHECK(added, alloc_unit);
}

bool PageTree::has_pages_behind(ContentKey key) const {
  return pages_.at(key).behind > 0;
}

void PageTree::remove(ContentKey key) {
  const auto found = pages_.find(key);
  KVPLAN_CHECK(found != pages_.end() && found->second.behind == 0, static_cast<std::int64_t>(key));
  if (found->second.before != kNothingBefore) --pages_.at(found->second.before).behind;
  pages_.erase(found);
}

}  // namespace kvplan::validator
