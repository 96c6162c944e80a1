#include "simulator/scheduling/sglang/naive_tree.h"

#include <iterator>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::scheduling::sglang {
namespace {

/// Number of leading pages of `node` that equal `pages` from `begin` on.
std::int64_t equal_pages(const NaiveTree::Node& node, const NaivePages& pages, std::int64_t begin) {
  std::int64_t count = 0;
  for (const NaiveTree::Page& page : node.pages) {
    if (begin + count == pages.size() || page.tokens != pages[begin + count]) break;
    ++count;
  }
  return count;
}

}  // namespace

NaiveTree::Match NaiveTree::match(const NaivePages& pages) {
  Match found{&root_, {}};
  while (std::ssize(found.pages) < pages.size()) {
    const auto child = found.node->children.find(pages[std::ssize(found.pages)]);
    if (child == found.node->children.end()) break;
    Node* const node = child->second.get();
    node->last_access = ++clock_;
    const std::int64_t equal = equal_pages(*node, pages, std::ssize(found.pages));
    for (std::int64_t i = 0; i < equal; ++i)
      found.pages.push_back(node->pages[static_cast<std::size_t>(i)].id);
    if (equal < std::ssize(node->pages)) {
      found.node = split(node, equal);
      break;
    }
    found.node = node;
  }
  return found;
}

std::int64_t NaiveTree::peek(const NaivePages& pages) const {
  const Node* node = &root_;
  std::int64_t found = 0;
  while (found < pages.size()) {
    const auto child = node->children.find(pages[found]);
    if (child == node->children.end()) break;
    node = child->second.get();
    const std::int64_t equal = equal_pages(*node, pages, found);
    found += equal;
    if (equal < std::ssize(node->pages)) break;
  }
  return found;
}

std::int64_t NaiveTree::insert(const NaivePages& pages, const std::vector<NaivePageId>& ids) {
  KVPLAN_CHECK(std::ssize(ids) == pages.size());
  const Match found = match(pages);
  const std::int64_t known = std::ssize(found.pages);
  if (known < pages.size()) {
    auto leaf = std::make_unique<Node>();
    leaf->parent = found.node;
    leaf->last_access = ++clock_;
    for (std::int64_t i = known; i < pages.size(); ++i)
      leaf->pages.push_back({pages[i], ids[static_cast<std::size_t>(i)], inserted_++});
    found.node->children[pages[known]] = std::move(leaf);
  }
  return known;
}

NaiveTree::Node* NaiveTree::split(Node* node, std::int64_t count) {
  std::unique_ptr<Node>& place = node->parent->children.at(node->pages.front().tokens);
  std::unique_ptr<Node> lower = std::move(place);
  place = std::make_unique<Node>();
  Node* const upper = place.get();
  upper->parent = lower->parent;
  upper->locks = lower->locks;
  upper->last_access = ++clock_;
  const auto border = lower->pages.begin() + count;
  upper->pages.assign(std::make_move_iterator(lower->pages.begin()), std::make_move_iterator(border));
  lower->pages.erase(lower->pages.begin(), border);
  lower->parent = upper;
  const NaiveTokens first = lower->pages.front().tokens;
  upper->children[first] = std::move(lower);
  return upper;
}

void NaiveTree::add_locks(Node* node, std::int64_t more) {
  for (; node != &root_; node = node->parent) {
    node->locks += more;
    KVPLAN_CHECK(node->locks >= 0);
  }
}

std::vector<std::vector<NaiveTree::Page>> NaiveTree::evict(std::int64_t tokens) {
  std::vector<std::vector<Page>> gone;
  while (tokens > 0) {
    Node* oldest = nullptr;
    for (Node* const node : nodes()) {
      if (!node->children.empty() || node->locks > 0) continue;
      if (oldest == nullptr || node->last_access < oldest->last_access) oldest = node;
    }
    if (oldest == nullptr) break;
    gone.push_back(std::move(oldest->pages));
    for (const Page& page : gone.back()) tokens -= std::ssize(page.tokens);
    oldest->parent->children.erase(gone.back().front().tokens);
  }
  return gone;
}

std::vector<NaiveTree::Node*> NaiveTree::nodes() const {
  std::vector<Node*> all;
  for (const auto& [page, child] : root_.children) all.push_back(child.get());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto& [page, child] : all[i]->children) all.push_back(child.get());
  return all;
}

}  // namespace kvplan::scheduling::sglang
