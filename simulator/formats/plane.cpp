#include "simulator/formats/plane.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::formats {

Plane::Plane(std::int32_t size, std::int32_t group) : size_(size), group_(group) {
  KVPLAN_CHECK(size >= 1 && group >= 0, size, group);
  KVPLAN_CHECK(group == 0 || size % group == 0, size, group);
}

std::span<const double> Plane::stored(std::int32_t i) const {
  return {stored_.data() + at(i), static_cast<std::size_t>(size_)};
}
std::span<double> Plane::stored(std::int32_t i) {
  return {stored_.data() + at(i), static_cast<std::size_t>(size_)};
}
std::span<const std::uint8_t> Plane::codes(std::int32_t i) const {
  return {codes_.data() + at(i), static_cast<std::size_t>(size_)};
}
std::span<std::uint8_t> Plane::codes(std::int32_t i) {
  return {codes_.data() + at(i), static_cast<std::size_t>(size_)};
}
std::span<double> Plane::scales(std::int32_t block) {
  return {scales_.data() + at_block(block), static_cast<std::size_t>(width())};
}
std::span<const double> Plane::scales(std::int32_t block) const {
  return {scales_.data() + at_block(block), static_cast<std::size_t>(width())};
}
std::span<double> Plane::zeros(std::int32_t block) {
  return {zeros_.data() + at_block(block), static_cast<std::size_t>(width())};
}
std::span<const double> Plane::zeros(std::int32_t block) const {
  return {zeros_.data() + at_block(block), static_cast<std::size_t>(width())};
}

void Plane::append(std::span<const double> channels) {
  KVPLAN_CHECK(channels.size() == static_cast<std::size_t>(size_));
  stored_.insert(stored_.end(), channels.begin(), channels.end());
  codes_.resize(stored_.size());
  block_.push_back(kExact);
  version_.push_back(0);
  ++exact_;
}

std::int32_t Plane::begin_block(std::int64_t token_bits) {
  const auto block = blocks();
  members_.push_back(0);
  token_bits_.push_back(token_bits);
  scales_.resize(scales_.size() + static_cast<std::size_t>(width()));
  zeros_.resize(scales_.size());
  return block;
}

void Plane::leave(std::int32_t i) {
  const std::int32_t block = this->block(i);
  if (block == kExact) {
    --exact_;
    return;
  }
  code_bits_ -= token_bits_[static_cast<std::size_t>(block)];
  if (--members_[static_cast<std::size_t>(block)] == 0) --live_;
}

void Plane::join(std::int32_t i, std::int32_t block) {
  leave(i);
  block_[static_cast<std::size_t>(i)] = block;
  code_bits_ += token_bits_[static_cast<std::size_t>(block)];
  if (++members_[static_cast<std::size_t>(block)] == 1) ++live_;
  rewritten(i);
}

void Plane::rewritten(std::int32_t i) {
  ++version_[static_cast<std::size_t>(i)];
  ++writes_;
}

void Plane::erase(std::span<const std::int32_t> indices) {
  if (indices.empty()) return;
  for (const std::int32_t i : indices) leave(i);
  const auto size = static_cast<std::size_t>(size_);
  auto to = static_cast<std::size_t>(indices.front());
  std::size_t next = 0;
  for (std::size_t from = to; from < block_.size(); ++from) {
    if (next < indices.size() && static_cast<std::size_t>(indices[next]) == from) {
      ++next;
      continue;
    }
    std::copy_n(stored_.begin() + static_cast<std::ptrdiff_t>(from * size), size_,
                stored_.begin() + static_cast<std::ptrdiff_t>(to * size));
    std::copy_n(codes_.begin() + static_cast<std::ptrdiff_t>(from * size), size_,
                codes_.begin() + static_cast<std::ptrdiff_t>(to * size));
    block_[to] = block_[from];
    version_[to] = version_[from];
    ++to;
  }
  KVPLAN_CHECK(next == indices.size());
  stored_.resize(to * size);
  codes_.resize(to * size);
  block_.resize(to);
  version_.resize(to);
}

}  // namespace kvplan::formats
