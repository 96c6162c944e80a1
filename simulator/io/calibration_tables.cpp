// The tables of calibrations that this version knows.
#include <algorithm>
#include <array>

#include "simulator/io/calibration.h"

namespace kvplan::io {
namespace {

constexpr KnownColumn kSamples{"samples", "count", "samples that the row summarises"};
constexpr KnownColumn kMedian{"median", "ns", "median of the samples"};
constexpr KnownColumn kP10{"p10", "ns", "10th percentile of the samples"};
constexpr KnownColumn kP90{"p90", "ns", "90th percentile of the samples"};

constexpr std::array<KnownColumn, 2> kGranularity{{
    {"minimum", "bytes", "smallest size of a physical allocation handle"},
    {"recommended", "bytes", "size that the driver recommends"},
}};
constexpr std::array<KnownColumn, 3> kMalloc{{
    {"requested", "bytes", "bytes requested from cudaMalloc"},
    {"address_step", "bytes", "distance from the previous address to this one"},
    {"free_taken", "bytes", "decrease of the device's free memory"},
}};
constexpr std::array<KnownColumn, 5> kPool{{
    {"requested", "bytes", "bytes requested from cudaMallocAsync, starting with a fresh pool"},
    {"address_step", "bytes", "distance from the previous address to this one"},
    {"free_taken", "bytes", "decrease of the device's free memory"},
    {"reserved", "bytes", "memory reserved by the pool afterwards (ReservedMemCurrent)"},
    {"used", "bytes", "part of it in use (UsedMemCurrent)"},
}};
constexpr std::array<KnownColumn, 3> kPoolRelease{{
    {"threshold", "text", "release threshold of the pool: 0 or max"},
    {"moment", "text", "after free, synchronise or trim"},
    {"free_returned", "bytes", "increase of the device's free memory"},
}};
constexpr std::array<KnownColumn, 7> kVmm{{
    {"handles", "count", "physical handles in one batch"},
    {"handle_size", "bytes", "size of each"},
    {"create", "ns", "cuMemCreate for the batch"},
    {"map", "ns", "cuMemMap for the batch"},
    {"set_access", "ns", "cuMemSetAccess for the batch"},
    {"unmap", "ns", "cuMemUnmap for the batch"},
    {"release", "ns", "cuMemRelease for the batch"},
}};
constexpr std::array<KnownColumn, 2> kContext{{
    {"moment", "text",
     "before anything, after the context is made (made), or after every kernel is launched (launch)"},
    {"free", "bytes", "the device's free memory at this point"},
}};
constexpr std::array<KnownColumn, 6> kBandwidth{{
    {"direction", "text", "read or copy"},
    {"size", "bytes", "bytes moved by one call"},
    kSamples,
    kMedian,
    kP10,
    kP90,
}};
constexpr std::array<KnownColumn, 6> kLaunch{{
    {"kernels", "count", "empty kernels in one batch"},
    {"from", "text", "stream or graph"},
    kSamples,
    kMedian,
    kP10,
    kP90,
}};
constexpr std::array<KnownColumn, 11> kDecodeAttention{{
    {"sequences", "count", "batch"},
    {"kv_length", "tokens", "tokens that each sequence reads, including its new one"},
    {"query_heads", "count", "heads of the model on this device"},
    {"kv_heads", "count", "likewise"},
    {"head_size", "count", "elements"},
    {"format", "text", "element type of the cache: bf16, fp8, ..."},
    {"read", "bytes", "cache bytes that one call reads"},
    kSamples,
    kMedian,
    kP10,
    kP90,
}};
constexpr std::array<KnownColumn, 8> kSwap{{
    {"descriptor", "bytes", "bytes copied by one descriptor"},
    {"descriptors", "count", "in one go"},
    {"direction", "text", "in or out"},
    {"method", "text", "loop, batch or kernel"},
    kSamples,
    kMedian,
    kP10,
    kP90,
}};
constexpr std::array<KnownColumn, 7> kStep{{
    {"sequences", "count", "sequences running in the step"},
    {"computed", "tokens", "tokens scheduled in the step"},
    {"context", "tokens", "tokens computed before the step, for the same sequences"},
    kSamples,
    kMedian,
    kP10,
    kP90,
}};

constexpr std::array<KnownTable, 11> kTables{{
    {"granularity", "results of cuMemGetAllocationGranularity", kGranularity},
    {"malloc", "cudaMalloc of 2^k and 2^k + 1 bytes, k = 8 to 30", kMalloc},
    {"pool", "the same for cudaMallocAsync, from a fresh pool", kPool},
    {"pool-release", "when a pool returns memory to the device", kPoolRelease},
    {"vmm", "times of mapping memory by handles", kVmm},
    {"context", "memory of a context and loaded kernels", kContext},
    {"bandwidth", "reading and copying device memory", kBandwidth},
    {"launch", "launching empty kernels", kLaunch},
    {"decode-attention", "one layer of decode attention", kDecodeAttention},
    {"swap", "copies between device and host", kSwap},
    {"step", "whole steps of a serving engine", kStep},
}};

constexpr std::array<std::string_view, 6> kUnits{"bytes", "ns", "tokens", "count", "ratio", "text"};

}  // namespace

std::span<const KnownTable> known_tables() {
  return kTables;
}

const KnownTable* known_table(std::string_view name) {
  const auto* found =
      std::find_if(kTables.begin(), kTables.end(), [&](const KnownTable& t) { return t.name == name; });
  return found == kTables.end() ? nullptr : found;
}

std::span<const std::string_view> calibration_units() {
  return kUnits;
}

const CalibrationColumn* CalibrationTable::column(std::string_view wanted) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const CalibrationColumn& c) { return c.name == wanted; });
  return found == columns.end() ? nullptr : &*found;
}

}  // namespace kvplan::io
