// SGLang's radix tree, token by token: every node holds its tokens one by one, children are a map by their first page,
// and an eviction looks at all leaves each time. It follows radix_cache.py line by line and shares nothing with
// simulator/prefix.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace kvplan::test {

class NaiveTree {
 public:
  using Tokens = std::vector<std::uint64_t>;
  struct Node {
    Tokens key;
    Node* parent{nullptr};
    std::map<Tokens, std::unique_ptr<Node>> children;
    std::int64_t locks{0};
    std::uint64_t last_access{0};
  };
  struct Match {
    Node* node;
    std::int64_t tokens;
  };
  struct Gone {
    std::int64_t tokens{0}, nodes{0};
  };

  explicit NaiveTree(std::size_t page) : page_(page) {}

  Node* root() { return &root_; }

  Match match(Tokens key) {
    key.resize(key.size() / page_ * page_);
    if (key.empty()) return {&root_, 0};
    std::int64_t found = 0;
    Node* const node = walk(key, found);
    return {node, found};
  }

  std::int64_t insert(Tokens key) {
    std::int64_t found = 0;
    Node* const node = walk(key, found);
    if (key.empty()) return found;
    auto leaf = std::make_unique<Node>();
    leaf->last_access = ++clock_;
    ++clock_;
    leaf->key = key;
    leaf->parent = node;
    node->children[first_page(key)] = std::move(leaf);
    return found;
  }

  void lock(Node* node) {
    for (; node != &root_; node = node->parent) ++node->locks;
  }
  void unlock(Node* node) {
    for (; node != &root_; node = node->parent) --node->locks;
  }

  Gone evict(std::int64_t tokens) {
    std::vector<Node*> heap;
    each([&](Node* node) {
      if (node->children.empty()) heap.push_back(node);
    });
    Gone gone;
    while (gone.tokens < tokens && !heap.empty()) {
      const auto oldest = std::min_element(heap.begin(), heap.end(), [](const Node* a, const Node* b) {
        return a->last_access < b->last_access;
      });
      Node* const node = *oldest;
      heap.erase(oldest);
      if (node->locks > 0) continue;
      gone.tokens += static_cast<std::int64_t>(node->key.size());
      ++gone.nodes;
      Node* const parent = node->parent;
      parent->children.erase(first_page(node->key));
      if (parent->children.empty() && parent != &root_) heap.push_back(parent);
    }
    return gone;
  }

  /// Tokens of nodes that are locked, or that are not.
  std::int64_t tokens(bool locked) {
    std::int64_t sum = 0;
    each([&](Node* node) {
      if ((node->locks > 0) == locked) sum += static_cast<std::int64_t>(node->key.size());
    });
    return sum;
  }

  /// Calls `visit` for every node but the root.
  template <class Visit>
  void each(Visit visit) {
    std::vector<Node*> next{&root_};
    while (!next.empty()) {
      Node* const node = next.back();
      next.pop_back();
      if (node != &root_) visit(node);
      for (auto& [page, child] : node->children) next.push_back(child.get());
    }
  }

 private:
  [[nodiscard]] Tokens first_page(const Tokens& key) const {
    return {key.begin(), key.begin() + static_cast<std::ptrdiff_t>(page_)};
  }

  /// Takes from `key` what is found.
  Node* walk(Tokens& key, std::int64_t& found) {
    root_.last_access = ++clock_;
    Node* node = &root_;
    while (!key.empty()) {
      const auto child = node->children.find(first_page(key));
      if (child == node->children.end()) break;
      node = child->second.get();
      node->last_access = ++clock_;
      std::size_t common = 0;
      while (common < key.size() && common < node->key.size() && key[common] == node->key[common]) ++common;
      common = common / page_ * page_;
      found += static_cast<std::int64_t>(common);
      key.erase(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(common));
      if (common < node->key.size()) return split(node, common);
    }
    return node;
  }

  Node* split(Node* lower, std::size_t at) {
    Node* const parent = lower->parent;
    auto& place = parent->children.at(first_page(lower->key));
    std::unique_ptr<Node> kept = std::move(place);
    auto upper = std::make_unique<Node>();
    upper->last_access = ++clock_;
    ++clock_;
    upper->parent = parent;
    upper->locks = lower->locks;
    const auto border = lower->key.begin() + static_cast<std::ptrdiff_t>(at);
    upper->key.assign(lower->key.begin(), border);
    lower->key.erase(lower->key.begin(), border);
    lower->parent = upper.get();
    upper->children[first_page(lower->key)] = std::move(kept);
    place = std::move(upper);
    return place.get();
  }

  std::size_t page_;
  Node root_;
  std::uint64_t clock_{0};
};

}  // namespace kvplan::test
