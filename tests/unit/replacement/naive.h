// Slow, simple models of the replacement policies: plain vectors that are searched from one end to the other, without
// code of the policies themselves.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/replacement/use.h"

namespace kvplan::replacement::testing {

using May = std::function<bool(Id)>;
using List = std::vector<Id>;  // from oldest to youngest

bool in(const List& list, Id id);
/// Removes the id from the list; returns true if it was in it.
bool take(List& list, Id id);
/// The first id that may be evicted; kNoId: there is none.
Id first_that(const List& list, const May& may);
/// Makes the id the youngest of the list.
void renew(List& list, Id id);
/// Removes the oldest ones until at most `most` are left.
void trim(List& list, std::int64_t most);
inline std::int64_t count(const List& list) {
  return static_cast<std::int64_t>(list.size());
}

/// The interface of policy.h; every call looks at everything, so may_go and grow are not needed.
class Naive {
 public:
  virtual ~Naive() = default;
  [[nodiscard]] virtual bool resident(Id id) const = 0;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  virtual void touch(const Use& use) = 0;
  virtual void unpin(const Use& /*use*/) {}
  virtual void insert(const Use& use) = 0;
  virtual Id evict(const Use& incoming, const May& may) = 0;
  virtual void expire(std::int64_t /*now_ns*/, const May& /*may*/, const std::function<void(Id)>& /*told*/) {}
  virtual void erase(Id id) = 0;
};

/// Null: there is no model of this name (a test checks that every policy has one).
std::unique_ptr<Naive> make_naive(const Choice& choice, const Room& room);
std::unique_ptr<Naive> make_naive_ranked(const Choice& choice, const Room& room);
std::unique_ptr<Naive> make_naive_wtinylfu(const Choice& choice, const Room& room);

/// A parameter's share of the room, in thousandths.
inline std::int64_t part(const Choice& choice, std::string_view param, std::int64_t whole) {
  const auto thousandths = static_cast<std::int64_t>(choice.decimal(param) * 1000 + 0.5);
  return whole * thousandths / 1000;
}

}  // namespace kvplan::replacement::testing
