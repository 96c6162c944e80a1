#include "traces/import/interner.h"

#include <algorithm>

#include "simulator/base/large_pages.h"

namespace kvplan::traces {
namespace {

std::size_t spread(std::uint64_t key) {
  key = (key ^ (key >> 32)) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::size_t>(key ^ (key >> 29));
}

}  // namespace

std::uint32_t IdInterner::note(Slot& slot, std::uint32_t before) {
  if (slot.dense == kNoId) {
    if (distinct_ == kNoId) return kNoId;
    slot.dense = static_cast<std::uint32_t>(distinct_++);
    slot.before = before;
  } else if (slot.before != before) {
    ++broken_chains_;
  }
  return slot.dense;
}

std::uint32_t IdInterner::intern(std::uint64_t source_id, std::uint32_t before) {
  if (source_id < direct_.size() || reach(source_id)) return note(direct_[source_id], before);
  return note(find(source_id), before);
}

bool IdInterner::reach(std::uint64_t source_id) {
  std::size_t size = direct_.size() * 2;
  if (source_id < kDirect) {
    size = std::min<std::size_t>(kDirect, std::max<std::size_t>(source_id + 1, size));
  } else {
    const std::size_t taken = static_cast<std::size_t>(distinct_) - used_;
    if (source_id >= size || taken < size / 4) return false;
  }
  // A source with many ids probably has more: room for them is reserved once, not moved again and again.
  make_room(direct_, size, size >= kManyDirect ? kLikelyRoomBytes / sizeof(Slot) : 0);
  direct_.resize(size);
  if (size > kDirect && used_ > 0) rehash(slots_.size());
  return true;
}

IdInterner::Slot& IdInterner::find(std::uint64_t source_id) {
  if ((used_ + 1) * 4 > slots_.size() * 3) rehash(std::max<std::size_t>(1024, slots_.size() * 2));
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = spread(source_id) & mask;; i = (i + 1) & mask) {
    if (slots_[i].dense == kNoId) {
      keys_[i] = source_id;
      ++used_;
      return slots_[i];
    }
    if (keys_[i] == source_id) return slots_[i];
  }
}

void IdInterner::rehash(std::size_t size) {
  std::vector<std::uint64_t> keys(size);
  std::vector<Slot> slots(size);
  for (std::size_t from = 0; from < slots_.size(); ++from) {
    if (slots_[from].dense == kNoId) continue;
    if (keys_[from] < direct_.size()) {
      direct_[keys_[from]] = slots_[from];
      --used_;
      continue;
    }
    std::size_t i = spread(keys_[from]) & (size - 1);
    while (slots[i].dense != kNoId) i = (i + 1) & (size - 1);
    keys[i] = keys_[from];
    slots[i] = slots_[from];
  }
  keys_ = std::move(keys);
  slots_ = std::move(slots);
}

std::int32_t NameInterner::intern(std::string_view name, bool& added) {
  const auto found = numbers_.find(name);
  added = found == numbers_.end();
  if (!added) return found->second;
  const auto number = static_cast<std::int32_t>(numbers_.size());
  numbers_.emplace(std::string(name), number);
  return number;
}

}  // namespace kvplan::traces
