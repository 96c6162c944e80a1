// A family of components, such as all allocators: its members, and the lookup of the member that a parsed choice names.
#pragma once

#include <span>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/base/component.h"

namespace kvplan {

/// `Entry` has a `Descriptor descriptor`. The members outlive the family.
template <class Entry>
class Family {
 public:
  explicit Family(std::span<const Entry* const> members) : members_(members) {
    for (const Entry* entry : members_) descriptors_.push_back(&entry->descriptor);
  }

  [[nodiscard]] std::span<const Entry* const> members() const { return members_; }
  [[nodiscard]] Catalogue descriptors() const { return descriptors_; }
  /// REQUIRES: the choice was parsed with descriptors().
  [[nodiscard]] const Entry& member(const Choice& choice) const {
    for (const Entry* entry : members_)
      if (&entry->descriptor == &choice.descriptor()) return *entry;
    check_failed("the choice is of this family", __FILE__, __LINE__);
  }

 private:
  std::span<const Entry* const> members_;
  std::vector<const Descriptor*> descriptors_;
};

}  // namespace kvplan

/// Lists the members of a family and defines `family()`. LIST is a macro that applies its argument to the namespace of
/// each member. Each member has a file of its own, which defines `const ENTRY kMember` in that namespace; all else in
/// the file is in the namespace too, so that unity builds work. Use it once per file, in a namespace inside kvplan.
#define KVPLAN_DECLARE_MEMBER(name) \
  namespace name {                  \
  extern const Entry kMember;       \
  }
#define KVPLAN_MEMBER_ADDRESS(name) &name::kMember,
#define KVPLAN_FAMILY(ENTRY, LIST)                                \
  using Entry = ENTRY;                                            \
  LIST(KVPLAN_DECLARE_MEMBER)                                     \
  namespace {                                                     \
  constexpr const Entry* kMembers[]{LIST(KVPLAN_MEMBER_ADDRESS)}; \
  const Family<Entry>& family() {                                 \
    static const Family<Entry> kFamily(kMembers);                 \
    return kFamily;                                               \
  }                                                               \
  }
