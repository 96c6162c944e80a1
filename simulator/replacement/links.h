// Lists of ids from oldest to youngest, linked through 8-byte nodes in one array by id, so an access needs no hash
// table and one cache line.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "simulator/replacement/set_aside.h"
#include "simulator/replacement/use.h"

namespace kvplan::replacement {

/// An id is in at most one of kLists lists. Ids enter at the young end. In a search for a victim, ids that may
/// not be evicted are set aside; for all other calls they are still in their list.
template <std::uint32_t kLists>
class Links {
 public:
  explicit Links(Id ids) { grow(ids); }

  /// From now on ids are below `ids`.
  void grow(Id ids) {
    const std::size_t before = nodes_.size();
    if (before < std::size_t{ids} + kLists) nodes_.resize(std::size_t{ids} + kLists);
    for (std::size_t end = before; end < kLists; ++end)
      nodes_[end] = {static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(end)};
  }

  /// True: it is in a list.
  [[nodiscard]] bool linked(Id id) const { return nodes_[id + kLists].older != kUnlinked; }

  /// Adds an id at the young end. REQUIRES: it is in no list.
  void push(std::uint32_t list, Id id) {
    const std::uint32_t place = id + kLists;
    const std::uint32_t youngest = nodes_[list].older;
    nodes_[place] = {youngest, list};
    nodes_[youngest].younger = place;
    nodes_[list].older = place;
  }

  /// REQUIRES: it is in a list.
  void remove(Id id) {
    Node& node = nodes_[id + kLists];
    if (node.older == kSetAside) [[unlikely]] {
      aside_.remove(node.younger);
    } else {
      nodes_[node.older].younger = node.younger;
      nodes_[node.younger].older = node.older;
    }
    node.older = kUnlinked;
  }

  /// Moves it from its list to the young end of `list`.
  void renew(std::uint32_t list, Id id) {
    remove(id);
    push(list, id);
  }

  /// The oldest id; kNoId if the list is empty.
  [[nodiscard]] Id oldest(std::uint32_t list) const {
    if (!aside_.empty()) [[unlikely]] {
      if (const Id id = aside_.oldest(list); id != kNoId) return id;
    }
    return id_at(nodes_[list].younger);
  }

  /// The next younger one that is not set aside; kNoId after the youngest.
  [[nodiscard]] Id younger(Id id) const { return id_at(nodes_[id + kLists].younger); }

  /// The oldest id of the list that may be evicted; kNoId: none may. An id that may not be evicted is not tried again
  /// before may_go is called for it.
  template <class May>
  Id first(std::uint32_t list, const May& may) {
    if constexpr (!std::is_same_v<May, AllMayGo>) {
      if (const Id id = aside_.first(list, may); id != kNoId) return id;
      for (Id id = id_at(nodes_[list].younger); id != kNoId; id = id_at(nodes_[list].younger)) {
        if (may(id)) return id;
        remove(id);
        nodes_[id + kLists] = {kSetAside, aside_.add(list, id)};
      }
      return kNoId;
    }
    return id_at(nodes_[list].younger);
  }

  /// The id may be evictable again. It can be any id, also one that was never set aside.
  void may_go(Id id) {
    const Node node = nodes_[id + kLists];
    if (node.older == kSetAside) aside_.may_go(node.younger);
  }

 private:
  // Marks in `older`; a node that is set aside has its ticket in `younger`.
  static constexpr std::uint32_t kUnlinked = UINT32_MAX;
  static constexpr std::uint32_t kSetAside = UINT32_MAX - 1;

  /// Indices: a list's own number is its sentinel, before the oldest and after the youngest id; ids come behind.
  struct Node {
    std::uint32_t older{kUnlinked};
    std::uint32_t younger{kUnlinked};
  };
  [[nodiscard]] static Id id_at(std::uint32_t place) { return place < kLists ? kNoId : place - kLists; }

  std::vector<Node> nodes_;
  SetAside aside_;
};

}  // namespace kvplan::replacement
