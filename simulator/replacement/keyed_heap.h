// A priority queue of ids with changeable keys, the least first: a binary heap that knows the position of each id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "simulator/replacement/use.h"

namespace kvplan::replacement {

/// Positions of ids in their heaps. Heaps that share it hold different ids.
class HeapPlaces {
 public:
  explicit HeapPlaces(Id ids) { grow(ids); }
  void grow(Id ids) {
    if (places_.size() < ids) places_.resize(ids, kNowhere);
  }
  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  static constexpr std::uint32_t kSetAside = UINT32_MAX - 1;
  std::uint32_t& operator[](Id id) { return places_[id]; }
  std::uint32_t operator[](Id id) const { return places_[id]; }

 private:
  std::vector<std::uint32_t> places_;
};

/// Keys are compared by <; two ids never have equal keys. In a search for a victim, ids that may not be evicted
/// are set aside with their keys; for all other calls they are still in the heap.
template <class Key>
class KeyedHeap {
 public:
  explicit KeyedHeap(std::shared_ptr<HeapPlaces> places) : places_(std::move(places)) {}
  explicit KeyedHeap(Id ids) : places_(std::make_shared<HeapPlaces>(ids)) {}
  void grow(Id ids) { places_->grow(ids); }

  [[nodiscard]] bool holds(Id id) const { return (*places_)[id] != HeapPlaces::kNowhere; }

  /// Adds an id. REQUIRES: it is in no heap.
  void push(Id id, const Key& key) {
    entries_.push_back({key, id});
    rise(entries_.size() - 1);
  }

  /// REQUIRES: it is in this heap.
  void remove(Id id) {
    const std::uint32_t place = (*places_)[id];
    (*places_)[id] = HeapPlaces::kNowhere;
    if (place == HeapPlaces::kSetAside) {
      aside_.erase(id);
      return;
    }
    const Entry last = entries_.back();
    entries_.pop_back();
    if (place == entries_.size()) return;
    entries_[place] = last;
    rise(place);
    sink((*places_)[last.id]);
  }

  /// Changes its key. REQUIRES: it is in this heap.
  void update(Id id, const Key& key) {
    remove(id);
    push(id, key);
  }

  /// The id with the least key that may be evicted; kNoId: none may. An id that may not be evicted is not tried again
  /// before may_go is called for it.
  template <class May>
  Id first(const May& may) {
    while (!entries_.empty()) {
      const Entry least = entries_.front();
      if (std::is_same_v<May, AllMayGo> || may(least.id)) return least.id;
      remove(least.id);
      aside_.emplace(least.id, least.key);
      (*places_)[least.id] = HeapPlaces::kSetAside;
    }
    return kNoId;
  }

  /// The id may be evictable again. It can be any id, also one that is not in this heap or was never set aside.
  void may_go(Id id) {
    const auto at = aside_.find(id);
    if (at == aside_.end()) return;
    const Key key = at->second;
    aside_.erase(at);
    push(id, key);
  }

  /// REQUIRES: it is in this heap.
  [[nodiscard]] const Key& key(Id id) const {
    const std::uint32_t place = (*places_)[id];
    return place == HeapPlaces::kSetAside ? aside_.at(id) : entries_[place].key;
  }

 private:
  struct Entry {
    Key key;
    Id id;
  };

  void put(std::size_t place, const Entry& entry) {
    entries_[place] = entry;
    (*places_)[entry.id] = static_cast<std::uint32_t>(place);
  }
  void rise(std::size_t place) {
    const Entry entry = entries_[place];
    while (place > 0 && entry.key < entries_[(place - 1) / 2].key) {
      put(place, entries_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    put(place, entry);
  }
  void sink(std::size_t place) {
    const Entry entry = entries_[place];
    for (std::size_t child = 2 * place + 1; child < entries_.size(); child = 2 * place + 1) {
      if (child + 1 < entries_.size() && entries_[child + 1].key < entries_[child].key) ++child;
      if (!(entries_[child].key < entry.key)) break;
      put(place, entries_[child]);
      place = child;
    }
    put(place, entry);
  }

  std::vector<Entry> entries_;
  std::shared_ptr<HeapPlaces> places_;
  std::map<Id, Key> aside_;
};

}  // namespace kvplan::replacement
