// The list of all drivers.
#include <algorithm>
#include <array>

#include "simulator/drivers/driver.h"
#include "simulator/drivers/sglang_sched.h"
#include "simulator/drivers/sglang_seq.h"
#include "simulator/drivers/vllm_hold.h"
#include "simulator/drivers/vllm_sched.h"
#include "simulator/drivers/vllm_seq.h"
#include "simulator/drivers/vllm_seqswa.h"

namespace kvplan::drivers {

std::span<const CacheDriver* const> cache_drivers() {
  static constexpr std::array kAll{&kVllmSeq,   &kVllmSeqswa, &kVllmHold,
                                   &kVllmSched, &kSglangSeq,  &kSglangSched};
  return kAll;
}

const CacheDriver* find_driver(std::string_view engine, std::string_view name) {
  const auto all = cache_drivers();
  const auto found = std::find_if(all.begin(), all.end(), [&](const CacheDriver* driver) {
    return driver->engine == engine && driver->name == name;
  });
  return found == all.end() ? nullptr : *found;
}

}  // namespace kvplan::drivers
