// The ledger of a run with one request, step by step.
#pragma once

#include <cstdint>
#include <map>

#include "simulator/core/observer.h"
#include "simulator/observe/ledger.h"

namespace kvplan {

/// The ledger's bytes at the end of each step, by tokens that the request has written.
class Settled final : public core::Observer {
 public:
  Settled(const observe::Ledger& ledger, std::int64_t prompt) : ledger_(ledger), written_(prompt - 1) {}
  void on_settled(SimTime /*time*/, const core::PoolCounts& /*pool*/) override {
    bytes[++written_] = ledger_.bytes();
  }
  std::map<std::int64_t, observe::StateCounts> bytes;

 private:
  const observe::Ledger& ledger_;
  std::int64_t written_;
};

}  // namespace kvplan
