// The functions that a replacement policy must have, and an interface for callers that do not know its class.
//
// A policy is a class with inline calls, so that replaying references costs no virtual call. It has
//   P(room, params)   an empty cache
//   resident(id)      true: the id is cached now
//   size()            number of cached ids
//   touch(use)        a cached id is used
//   insert(use)       an id that is not cached is inserted. REQUIRES: there is room, or evict made some
//   evict(use, may)   evicts and returns a cached id for which may(id) holds; kNoId: none. `use` is that of the new id;
//                     its id is kNoId if the new content is not known yet
//   erase(id)         a cached id is removed for other reasons, and is not remembered
//   grow(ids)         from now on ids are below `ids`
//   may_go(id)        may(id) may have become true. Any id
// and, if the policy needs them:
//   unpin(use)        the last holder of a cached id frees it: for recency, the id was in use until now
//   expire(now, may, told)   evicts ids by time alone, whether room is needed or not
#pragma once

#include <functional>

#include "simulator/replacement/use.h"

namespace kvplan::replacement {

/// The interface of any policy.
class Policy {
 public:
  using May = std::function<bool(Id)>;
  virtual ~Policy() = default;
  [[nodiscard]] virtual bool resident(Id id) const = 0;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  virtual void touch(const Use& use) = 0;
  virtual void unpin(const Use& use) = 0;
  virtual void insert(const Use& use) = 0;
  virtual Id evict(const Use& incoming, const May& may) = 0;
  virtual void expire(std::int64_t now_ns, const May& may, const std::function<void(Id)>& told) = 0;
  virtual void erase(Id id) = 0;
  virtual void grow(Id ids) = 0;
  virtual void may_go(Id id) = 0;
};

/// A policy class behind that interface.
template <class P>
class PolicyOf final : public Policy {
 public:
  PolicyOf(const Room& room, const typename P::Params& params) : policy_(room, params) {}
  [[nodiscard]] bool resident(Id id) const override { return policy_.resident(id); }
  [[nodiscard]] std::int64_t size() const override { return policy_.size(); }
  void touch(const Use& use) override { policy_.touch(use); }
  void unpin(const Use& use) override {
    if constexpr (requires { policy_.unpin(use); }) policy_.unpin(use);
    policy_.may_go(use.id);
  }
  void insert(const Use& use) override { policy_.insert(use); }
  Id evict(const Use& incoming, const May& may) override { return policy_.evict(incoming, may); }
  void expire(std::int64_t now_ns, const May& may, const std::function<void(Id)>& told) override {
    if constexpr (requires { policy_.expire(now_ns, may, told); }) policy_.expire(now_ns, may, told);
  }
  void erase(Id id) override { policy_.erase(id); }
  void grow(Id ids) override { policy_.grow(ids); }
  void may_go(Id id) override { policy_.may_go(id); }

 private:
  P policy_;
};

}  // namespace kvplan::replacement
