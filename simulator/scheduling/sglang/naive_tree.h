// SGLang's radix tree page by page (sgl-project/sglang v0.5.5: python/sglang/srt/mem_cache/radix_cache.py, policy lru).
// Every page is in it as its tokens and its place in the pool, an eviction looks at all nodes, and sums are made by
// walking. The yardstick for prefix/radix_tree.h, with which it shares nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace kvplan::scheduling::sglang {

/// A token: equal ones are the same text. `place`: under the name of a block of prompts, or of a request.
struct NaiveToken {
  std::uint64_t name{0};
  std::int64_t place{0};
  friend auto operator<=>(const NaiveToken&, const NaiveToken&) = default;
};
/// Of one page.
using NaiveTokens = std::vector<NaiveToken>;
/// A page's place in the pool.
using NaivePageId = std::int64_t;

/// The whole pages of a request's leading tokens, each made when it is asked for.
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
    std::int64_t number{0};  ///< of all pages that ever went into the tree, from 0
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
    Node* node;  ///< in which what was found ends; good until the next `evict`, or while locked
    std::vector<NaivePageId> pages;  ///< what was found
  };
  /// The longest prefix of these pages that is in the tree. Refreshes the access times of the nodes on its way, in
  /// their order, and splits the last one where the prefix ends inside it.
  Match match(const NaivePages& pages);
  /// How many pages `match` would find; leaves no trace.
  [[nodiscard]] std::int64_t peek(const NaivePages& pages) const;
  /// Matches these pages; those that were not in the tree, which are at `ids` in the pool (one for each page), become
  /// one leaf. Returns how many were.
  std::int64_t insert(const NaivePages& pages, const std::vector<NaivePageId>& ids);

  /// The node and all above it, once more or once less.
  void lock(Node* node) { add_locks(node, 1); }
  void unlock(Node* node) { add_locks(node, -1); }

  /// Whole leaves that nobody has locked go, the longest not visited first, until they have `tokens` tokens or none is
  /// left. Returns them.
  std::vector<std::vector<Page>> evict(std::int64_t tokens);

  [[nodiscard]] Node* root() { return &root_; }
  /// All but the root.
  [[nodiscard]] std::vector<Node*> nodes() const;

 private:
  void add_locks(Node* node, std::int64_t more);
  /// The first `count` pages of the node go into a new one above it, which is returned.
  Node* split(Node* node, std::int64_t count);

  Node root_;
  std::int64_t clock_{0};  // grows with every reading; only the order of readings decides anything
  std::int64_t inserted_{0};
};

}  // namespace kvplan::scheduling::sglang
