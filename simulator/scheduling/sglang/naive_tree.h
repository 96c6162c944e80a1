// SGLang's radix tree page by page (sgl-project/sglang v0.5.5: python/sglang/srt/mem_cache/radix_cache.py, policy
// lru). Every page is stored with its tokens and its index in the pool, an eviction looks at all nodes, and sums are
// computed by walking the tree. The reference for prefix/radix_tree.h; it shares no code with it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace kvplan::scheduling::sglang {

/// A token; equal values mean equal text. `place`: position in the named block of prompts, or in the named request.
struct NaiveToken {
  std::uint64_t name{0};
  std::int64_t place{0};
  friend auto operator<=>(const NaiveToken&, const NaiveToken&) = default;
};
/// Tokens of one page.
using NaiveTokens = std::vector<NaiveToken>;
/// Index of a page in the pool.
using NaivePageId = std::int64_t;

/// The whole pages of a request's first tokens. Each page is computed when it is used.
class NaivePages {
 public:
  NaivePages(std::int64_t size, std::function<NaiveTokens(std::int64_t)> page)
      : size_(size), page_(std::move(page)) {}
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// REQUIRES: 0 <= index < size().
  [[nodiscard]] NaiveTokens operator[](std::int64_t index) const { return page_(index); }

 private:
  std::int64_t size_;
  std::function<NaiveTokens(std::int64_t)> page_;
};

class NaiveTree {
 public:
  struct Page {
    NaiveTokens tokens;
    NaivePageId id{0};
    std::int64_t number{0};  ///< number of the page among all that were ever inserted, from 0
  };
  /// The root has no pages, and is never counted, locked or evicted.
  struct Node {
    std::vector<Page> pages;
    Node* parent{nullptr};
    std::map<NaiveTokens, std::unique_ptr<Node>> children;  ///< by their first page
    std::int64_t locks{0};
    std::int64_t last_access{0};
  };

  struct Match {
    Node* node;  ///< node in which the matched prefix ends; valid until the next `evict`, or while locked
    std::vector<NaivePageId> pages;  ///< the pages of the matched prefix
  };
  /// Returns the longest prefix of these pages in the tree. Refreshes the access times of the visited nodes, in their
  /// order, and splits the last one if the prefix ends inside it.
  Match match(const NaivePages& pages);
  /// Number of pages that `match` would return; changes nothing.
  [[nodiscard]] std::int64_t peek(const NaivePages& pages) const;
  /// Matches these pages; the pages not yet in the tree become one leaf, stored at `ids` in the pool (one id for each
  /// page). Returns the number of matched pages.
  std::int64_t insert(const NaivePages& pages, const std::vector<NaivePageId>& ids);

  /// Changes the lock count of the node and all its ancestors by one.
  void lock(Node* node) { add_locks(node, 1); }
  void unlock(Node* node) { add_locks(node, -1); }

  /// Evicts whole unlocked leaves, least recently accessed first, until `tokens` tokens are evicted or no leaf is left.
  /// Returns them.
  std::vector<std::vector<Page>> evict(std::int64_t tokens);

  [[nodiscard]] Node* root() { return &root_; }
  /// All nodes but the root.
  [[nodiscard]] std::vector<Node*> nodes() const;

 private:
  void add_locks(Node* node, std::int64_t more);
  /// Moves the first `count` pages of the node into a new parent, which is returned.
  Node* split(Node* node, std::int64_t count);

  Node root_;
  std::int64_t clock_{0};  // grows with every access; only the order of accesses matters
  std::int64_t inserted_{0};
};

}  // namespace kvplan::scheduling::sglang
