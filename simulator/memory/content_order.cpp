#include "simulator/memory/content_order.h"

namespace kvplan::memory {

ContentOrder::ContentOrder(const core::Workload& workload, const core::ContentNames& names)
    : names_(names), shared_(static_cast<std::size_t>(names.shared_count())) {
  const std::int64_t row = names_.row_length();
  row_before_.assign(static_cast<std::size_t>(names_.shared_count() / row), -1);
  for (const RequestId r : ids_below<RequestId>(workload.size()))
    for (std::int64_t i = 1; i * row < names_.shared_blocks(r); ++i)
      row_before_[static_cast<std::size_t>(names_.first_name(r, i) / row)] =
          names_.first_name(r, i - 1) / row;
}

std::uint64_t ContentOrder::before(std::uint64_t name) const {
  const std::int64_t row = names_.row_length();
  if ((name & kOwnName) == 0) {
    if (static_cast<std::int64_t>(name) % row != 0) return name - 1;
    const std::int64_t last = row_before_[static_cast<std::size_t>(static_cast<std::int64_t>(name) / row)];
    return last < 0 ? kRoot : static_cast<std::uint64_t>(last * row + row - 1);
  }
  const auto r = id_at<RequestId>((name & ~kOwnName) >> 32);
  const auto block = static_cast<std::int64_t>(name & 0xFFFFFFFFU);
  if (block == 0) return kRoot;
  if (block > names_.shared_blocks(r)) return name - 1;
  return static_cast<std::uint64_t>(names_.shared_name(r, block - 1));
}

void ContentOrder::forget(std::uint64_t name) {
  if ((name & kOwnName) == 0) {
    shared_[static_cast<std::size_t>(name)] = 0;
  } else {
    own_.erase(name);
  }
}

}  // namespace kvplan::memory
