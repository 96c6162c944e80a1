// Gives dense numbers to things that occur repeatedly, such as prefix ids of a source, by first appearance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvplan::traces {

/// Maps source ids (any 64-bit number) to dense ids. Source ids that are dense themselves, as in most traces, are
/// looked up by position, others by open addressing. It stores which id came before each, so that ids that are not
/// chained are noticed. Memory: at most 64 bytes for each different id, and 32 MiB.
class IdInterner {
 public:
  static constexpr std::uint32_t kNoId = UINT32_MAX;

  /// The dense id for a source id, a new one if needed; kNoId if 2^32 - 1 ids are in use. `before`: the dense id before
  /// it in the same prompt, kNoId for the first of a prompt.
  std::uint32_t intern(std::uint64_t source_id, std::uint32_t before);
  [[nodiscard]] std::int64_t distinct() const { return distinct_; }
  /// How often an id followed a different id than at its first appearance. 0 if ids are prefix-chained.
  [[nodiscard]] std::int64_t broken_chains() const { return broken_chains_; }

 private:
  /// Ids below this are looked up by position. The limit is doubled while half of the positions are used.
  static constexpr std::uint64_t kDirect = std::uint64_t{1} << 22;
  static constexpr std::uint64_t kManyDirect = std::uint64_t{1} << 18;
  struct Slot {
    std::uint32_t dense{kNoId};
    std::uint32_t before{kNoId};
  };
  std::uint32_t note(Slot& slot, std::uint32_t before);
  /// Makes room for an id if it can be looked up by position.
  bool reach(std::uint64_t source_id);
  Slot& find(std::uint64_t source_id);
  /// Moves all entries of `slots_`: to a table of `size` slots, or to a position if they have one now.
  void rehash(std::size_t size);

  std::vector<Slot> direct_;
  std::vector<std::uint64_t> keys_;  ///< keys of slots_
  std::vector<Slot> slots_;
  std::size_t used_{0};
  std::int64_t distinct_{0};
  std::int64_t broken_chains_{0};
};

/// Names of sessions and tenants, numbered in order of first appearance.
class NameInterner {
 public:
  /// The number of a name; `added` is true when it was new.
  std::int32_t intern(std::string_view name, bool& added);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> numbers_;
};

}  // namespace kvplan::traces
