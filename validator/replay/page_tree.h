// The tree of pages that a replay keeps for itself if there is a radix tree. Only the parent relation matters: a page
// may be evicted only if no page follows it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/io/log/events.h"

namespace kvplan::validator {

/// The key before the first page of a prompt.
inline constexpr event_log::ContentKey kNothingBefore = 0;

/// The tokens of a request by name, page by page. FORMAT.md says when two tokens have one name.
class PageKeys {
 public:
  PageKeys() = default;
  /// For a request with ids of its first tokens, each for `id_tokens` tokens (0: no ids); tokens from `named` on have
  /// none.
  PageKeys(RequestId request, std::int64_t named, std::int64_t id_tokens, std::int64_t page_tokens);

  void add_ids(const std::vector<std::uint32_t>& ids);
  [[nodiscard]] std::int64_t ids() const { return static_cast<std::int64_t>(ids_.size()); }
  /// The key of the content of page `page` and of all pages before it: equal contents have equal keys. Different
  /// contents have different keys, except with a probability of 2^-64.
  [[nodiscard]] event_log::ContentKey key(std::int64_t page);
  /// kNothingBefore for page 0.
  [[nodiscard]] event_log::ContentKey key_before(std::int64_t page) {
    return page == 0 ? kNothingBefore : key(page - 1);
  }

 private:
  [[nodiscard]] std::uint64_t name(std::int64_t token) const;

  RequestId request_{0};
  std::int64_t named_{0}, id_tokens_{0}, page_tokens_{1};
  std::vector<std::uint32_t> ids_;
  std::vector<event_log::ContentKey> keys_;  // keys of the first pages, as far as they were needed
};

class PageTree {
 public:
  /// The allocation unit of the page with this key; -1: it is not in the tree.
  [[nodiscard]] std::int64_t find(event_log::ContentKey key) const;
  /// REQUIRES: the page is not in the tree; the page before it is.
  void put(event_log::ContentKey key, event_log::ContentKey before, std::int64_t alloc_unit);
  [[nodiscard]] bool has_pages_behind(event_log::ContentKey key) const;
  /// REQUIRES: the page is in the tree, and no page follows it.
  void remove(event_log::ContentKey key);

 private:
  struct Page {
    std::int64_t alloc_unit;
    event_log::ContentKey before;
    std::int64_t behind{0};  ///< number of pages that directly follow it
  };
  std::unordered_map<event_log::ContentKey, Page> pages_;
};

}  // namespace kvplan::validator
