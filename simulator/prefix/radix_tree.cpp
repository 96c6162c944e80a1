#include "simulator/prefix/radix_tree.h"

#include <utility>

#include "simulator/base/check.h"

namespace kvplan::prefix {

RadixTree::RadixTree(std::int64_t page_tokens) : page_tokens_(page_tokens), nodes_(1) {
  KVPLAN_CHECK(page_tokens >= 1, page_tokens);
}

RadixTree::Match RadixTree::match(const TokenSequence& sequence, std::int64_t tokens) {
  const std::int64_t whole = tokens / page_tokens_ * page_tokens_;
  if (whole == 0) return {};
  TokenReader reader(sequence, whole);
  const Walk found = walk(reader);
  return {found.node, found.tokens};
}

std::int64_t RadixTree::peek(const TokenSequence& sequence, std::int64_t tokens) const {
  TokenReader reader(sequence, tokens / page_tokens_ * page_tokens_);
  NodeId node = kRoot;
  std::int64_t found = 0;
  while (reader.left() > 0) {
    const NodeId child = child_of(node, reader);
    if (child == kRoot) break;
    const std::int64_t length = at(child).key.size();
    std::int64_t common = common_prefix(TokenReader(at(child).key, length), reader);
    common -= common % page_tokens_;
    found += common;
    if (common < length) break;
    reader.skip(common);
    node = child;
  }
  return found;
}

std::int64_t RadixTree::insert(const TokenSequence& sequence, std::int64_t tokens) {
  KVPLAN_CHECK(tokens % page_tokens_ == 0, tokens, page_tokens_);
  TokenReader reader(sequence, tokens);
  const Walk found = walk(reader);
  if (reader.left() == 0) return found.tokens;
  const std::int64_t rest = reader.left();
  if (idle_leaf(found.node)) idle_leaves_.erase(at(found.node).last_access);
  const NodeId leaf = new_node(found.node, reader.take(rest));
  at(leaf).first_page = pages_;
  pages_ += rest / page_tokens_;
  evictable_ += rest;
  idle_leaves_.emplace_hint(idle_leaves_.end(), at(leaf).last_access, leaf);
  return found.tokens;
}

RadixTree::Walk RadixTree::walk(TokenReader& reader) {
  visit(kRoot);
  Walk found{kRoot, 0};
  while (reader.left() > 0) {
    const NodeId child = child_of(found.node, reader);
    if (child == kRoot) break;
    visit(child);
    const TokenSequence& key = at(child).key;
    const std::int64_t length = key.size();
    std::int64_t common = common_prefix(TokenReader(key, length), reader);
    common -= common % page_tokens_;
    reader.skip(common);
    found = {common < length ? split(child, common) : child, found.tokens + common};
    if (common < length) break;
  }
  return found;
}

RadixTree::Evicted RadixTree::evict(std::int64_t tokens) {
  Evicted gone;
  while (gone.tokens < tokens && !idle_leaves_.empty()) {
    const NodeId id = idle_leaves_.begin()->second;
    idle_leaves_.erase(idle_leaves_.begin());
    const std::int64_t length = at(id).key.size();
    const NodeId parent = at(id).parent;
    evictable_ -= length;
    gone.tokens += length;
    ++gone.nodes;
    if (told_evicted_ != nullptr) told_evicted_->push_back({at(id).first_page, length / page_tokens_});
    unhang(id);
    at(id) = Node{};
    free_ids_.push_back(id);
    if (idle_leaf(parent)) idle_leaves_.emplace(at(parent).last_access, parent);
  }
  return gone;
}

void RadixTree::change_locks(NodeId node, std::int64_t by) {
  for (; node != kRoot; node = at(node).parent) {
    Node& n = at(node);
    const bool was_free = n.locks == 0;
    if (idle_leaf(node)) idle_leaves_.erase(n.last_access);
    n.locks += by;
    locked_ += by * n.key.size();
    KVPLAN_CHECK(n.locks >= 0, node);
    const bool is_free = n.locks == 0;
    if (idle_leaf(node)) idle_leaves_.emplace(n.last_access, node);
    if (was_free == is_free) continue;
    const std::int64_t freed = is_free ? n.key.size() : -n.key.size();
    evictable_ += freed;
    protected_ -= freed;
  }
}

void RadixTree::visit(NodeId id) {
  Node& node = at(id);
  const bool listed = idle_leaf(id);
  if (listed) idle_leaves_.erase(node.last_access);
  node.last_access = ++clock_;
  if (listed) idle_leaves_.emplace_hint(idle_leaves_.end(), node.last_access, id);
}

NodeId RadixTree::split(NodeId lower, std::int64_t tokens) {
  const NodeId parent = at(lower).parent;
  TokenReader reader(at(lower).key, at(lower).key.size());
  TokenSequence upper_key = reader.take(tokens);
  TokenSequence lower_key = reader.take(reader.left());
  unhang(lower);
  const NodeId upper = new_node(parent, std::move(upper_key));
  at(upper).locks = at(lower).locks;
  at(upper).first_page = at(lower).first_page;
  at(lower).first_page += tokens / page_tokens_;
  at(lower).key = std::move(lower_key);
  hang(lower, upper);
  return upper;
}

NodeId RadixTree::new_node(NodeId parent, TokenSequence key) {
  NodeId id = static_cast<NodeId>(nodes_.size());
  if (free_ids_.empty()) {
    nodes_.emplace_back();
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
  }
  at(id).key = std::move(key);
  at(id).last_access = ++clock_;
  ++clock_;  // its time of creation, which is not used
  hang(id, parent);
  return id;
}

std::uint64_t RadixTree::slot_of(NodeId parent, TokenReader reader) const {
  return hash_of(reader, page_tokens_) + static_cast<std::uint64_t>(parent) * 0x94D049BB133111EBULL;
}

NodeId RadixTree::child_of(NodeId parent, TokenReader reader) const {
  const auto [begin, end] = children_.equal_range(slot_of(parent, reader));
  for (auto entry = begin; entry != end; ++entry) {
    const Node& child = at(entry->second);
    if (child.parent == parent && common_prefix(TokenReader(child.key, page_tokens_), reader) == page_tokens_)
      return entry->second;
  }
  return kRoot;
}

void RadixTree::hang(NodeId id, NodeId parent) {
  Node& node = at(id);
  node.parent = parent;
  node.slot = slot_of(parent, TokenReader(node.key, page_tokens_));
  children_.emplace(node.slot, id);
  ++at(parent).children;
}

void RadixTree::unhang(NodeId id) {
  const auto [begin, end] = children_.equal_range(at(id).slot);
  auto entry = begin;
  while (entry != end && entry->second != id) ++entry;
  KVPLAN_CHECK(entry != end, id);
  children_.erase(entry);
  --at(at(id).parent).children;
}

std::vector<RadixTree::NodeView> RadixTree::nodes() const {
  std::vector<NodeView> out;
  for (NodeId id = kRoot + 1; id < static_cast<NodeId>(nodes_.size()); ++id)
    if (at(id).key.size() > 0)
      out.push_back({id, at(id).parent, &at(id).key, at(id).locks, at(id).last_access});
  return out;
}

std::string RadixTree::violation() const {
  const auto all = nodes();
  std::vector<std::int64_t> children(nodes_.size(), 0);
  std::int64_t evictable = 0, locked = 0, each_lock = 0, idle = 0;
  const auto wrong = [](const NodeView& node, const char* what) {
    return "node " + std::to_string(node.id) + " " + what;
  };
  for (const NodeView& node : all) {
    ++children[static_cast<std::size_t>(node.parent)];
    (node.locks == 0 ? evictable : locked) += node.key->size();
    each_lock += node.locks * node.key->size();
    if (node.key->size() % page_tokens_ != 0) return wrong(node, "ends within a page");
    if (node.locks < 0) return wrong(node, "is unlocked more often than locked");
    if (node.parent != kRoot && at(node.parent).key.size() == 0) return wrong(node, "hangs below nothing");
    if (node.parent != kRoot && at(node.parent).locks < node.locks)
      return wrong(node, "is locked more often than its parent");
    if (child_of(node.parent, TokenReader(*node.key, node.key->size())) != node.id)
      return wrong(node, "is not found by its first page");
    if (node.last_access > clock_) return wrong(node, "was visited in the future");
    if (!idle_leaf(node.id)) continue;
    ++idle;
    const auto listed = idle_leaves_.find(node.last_access);
    if (listed == idle_leaves_.end() || listed->second != node.id)
      return wrong(node, "is an idle leaf that cannot be evicted");
  }
  for (const NodeView& node : all)
    if (children[static_cast<std::size_t>(node.id)] != at(node.id).children)
      return wrong(node, "counts its children wrongly");
  const auto counted = [](const char* what, std::int64_t is, std::int64_t should) {
    return std::string(what) + " are " + std::to_string(is) + ", counted " + std::to_string(should);
  };
  if (evictable != evictable_) return counted("evictable tokens", evictable_, evictable);
  if (locked != protected_) return counted("protected tokens", protected_, locked);
  if (each_lock != locked_) return counted("locked tokens", locked_, each_lock);
  const auto listed = static_cast<std::int64_t>(idle_leaves_.size());
  if (listed != idle) return counted("idle leaves", listed, idle);
  return {};
}

}  // namespace kvplan::prefix
