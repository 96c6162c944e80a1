// The tables of calibrations that this version knows.
#include <algorithm>
#include <array>

#include "simulator/io/calibration.h"

namespace kvplan::io {
namespace {

constexpr KnownColumn kSamples{"samples", "count", "samples behind the row"};
constexpr KnownColumn kMedian{"median", "ns", "median of the samples"};
constexpr KnownColumn kP10{"p10", "ns", "a tenth of the samples is at most this"};
constexpr KnownColumn kP90{"p90", "ns", "nine tenths of the samples are at most this"};

constexpr std::array<KnownColumn, 2> kGranularity{{
    {"minimum", "bytes", "least size of a physical handle"},
    {"recommended", "bytes", "size that the driver recommends"},
}};
constexpr std::array<KnownColumn, 3> kMalloc{{
    {"requested", "bytes", "asked of cudaMalloc"},
    {"address_step", "bytes", "from the address before to this one"},
    {"free_taken", "bytes", "by which the device's free memory fell"},
}};
constexpr std::array<KnownColumn, 5> kPool{{
    {"requested", "bytes", "asked of cudaMallocAsync, from a fresh pool on"},
    {"address_step", "bytes", "from the address before to this one"},
    {"free_taken", "bytes", "by which the device's free memory fell"},
    {"reserved", "bytes", "backing of the pool after it (ReservedMemCurrent)"},
    {"used", "bytes", "used of that (UsedMemCurrent)"},
}};
constexpr std::array<KnownColumn, 3> kPoolRelease{{
    {"threshold", "text", "release threshold of the pool: 0 or max"},
    {"moment", "text", "after free, synchronise or trim"},
    {"free_returned", "bytes", "by which the device's free memory rose"},
}};
constexpr std::array<KnownColumn, 7> kVmm{{
    {"handles", "count", "physical handles in one go"},
    {"handle_size", "bytes", "size of each"},
    {"create", "ns", "cuMemCreate of all"},
    {"map", "ns", "cuMemMap of all"},
    {"set_access", "ns", "cuMemSetAccess over all"},
    {"unmap", "ns", "cuMemUnmap of all"},
    {"release", "ns", "cuMemRelease of all"},
}};
constexpr std::array<KnownColumn, 2> kContext{{
    {"moment", "text", "before, context (made) or launch (of every kernel)"},
    {"free", "bytes", "the device's free memory then"},
}};
constexpr std::array<KnownColumn, 6> kBandwidth{{
    {"direction", "text", "read or copy"},
    {"size", "bytes", "moved by one call"},
    kSamples,
    kMedian,
    kP10,
    kP90,
}};
constexpr std::array<KnownColumn, 6> kLaunch{{
    {"kernels", "count", "empty kernels in one go"},
    {"from", "text", "stream or graph"},
    kSamples,
    kMedian,
    kP10,
    kP90,
}};
constexpr std::array<KnownColumn, 11> kDecodeAttention{{
    {"sequences", "count", "batch"},
    {"kv_length", "tokens", "tokens that each sequence reads, its new one included"},
    {"query_heads", "count", "of the model, on this device"},
    {"kv_heads", "count", "likewise"},
    {"head_size", "count", "elements"},
    {"format", "text", "of the cache: bf16, fp8, ..."},
    {"read", "bytes", "of the cache that one call reads"},
    kSamples,
    kMedian,
    kP10,
    kP90,
}};
constexpr std::array<KnownColumn, 8> kSwap{{
    {"descriptor", "bytes", "copied by one descriptor"},
    {"descriptors", "count", "in one go"},
    {"direction", "text", "in or out"},
    {"method", "text", "loop, batch or kernel"},
    kSamples,
    kMedian,
    kP10,
    kP90,
}};
constexpr std::array<KnownColumn, 7> kStep{{
    {"sequences", "count", "running in the step"},
    {"computed", "tokens", "scheduled in the step"},
    {"context", "tokens", "computed before it, of the same sequences together"},
    kSamples,
    kMedian,
    kP10,
    kP90,
}};

constexpr std::array<KnownTable, 11> kTables{{
    {"granularity", "what cuMemGetAllocationGranularity says", kGranularity},
    {"malloc", "cudaMalloc of 2^k and 2^k + 1 bytes, k = 8 to 30", kMalloc},
    {"pool", "the same from a fresh pool", kPool},
    {"pool-release", "when a pool gives memory back", kPoolRelease},
    {"vmm", "times of mapping memory by handles", kVmm},
    {"context", "what a context and loaded kernels take", kContext},
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
