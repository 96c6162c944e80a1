#include "validator/kernels/memory_of_case.h"

#include <utility>

namespace kvplan::validator {
namespace {

constexpr std::int64_t kAlignment = 4096;  // of each copy
constexpr std::uint8_t kPoisonByte = 0xFF;

std::int64_t step_of(const Region& region) {
  return (region.size + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

MemoryOfCase::MemoryOfCase(MemoryOfCase&& other) noexcept
    : machine_(other.machine_),
      problem_(other.problem_),
      copies_(other.copies_),
      memory_(std::exchange(other.memory_, {})) {}

MemoryOfCase::~MemoryOfCase() {
  for (std::size_t i = 0; i < memory_.size(); ++i)
    machine_->release(problem_->regions()[i].place, memory_[i]);
}

Result<MemoryOfCase> MemoryOfCase::take(Machine& machine, const Problem& problem, std::int64_t copies) {
  MemoryOfCase memory(machine, problem, copies);
  for (const Region& region : problem.regions()) {
    KVPLAN_TRY(void* const taken,
               machine.allocate(region.place, step_of(region) * (region.rotates ? copies : 1)));
    memory.memory_.push_back(taken);
  }
  KVPLAN_TRY_DO(memory.fill());
  return memory;
}

Status MemoryOfCase::fill() {
  for (std::size_t i = 0; i < memory_.size(); ++i) KVPLAN_TRY_DO(fill(i));
  return Done{};
}

Status MemoryOfCase::fill(std::size_t i) {
  const Region& region = problem_->regions()[i];
  for (std::int64_t copy = 0; copy < (region.rotates ? copies_ : 1) && region.size > 0; ++copy) {
    void* const at = static_cast<char*>(memory_[i]) + copy * step_of(region);
    if (!region.bytes.empty()) {
      KVPLAN_TRY_DO(machine_->upload(at, region.bytes.data(), region.size));
    } else if (region.made_up) {
      const std::int64_t elements = region.size / bytes_of(region.made_up->stored);
      KVPLAN_TRY_DO(machine_->make_up(at, *region.made_up, copy * elements, elements));
    } else {
      KVPLAN_TRY_DO(machine_->set(at, kPoisonByte, region.size));
    }
  }
  return Done{};
}

Status MemoryOfCase::reset() {
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const Region& region = problem_->regions()[i];
    if (region.result || (region.bytes.empty() && !region.made_up)) KVPLAN_TRY_DO(fill(i));
  }
  return Done{};
}

std::vector<void*> MemoryOfCase::addresses(std::int64_t copy) const {
  std::vector<void*> at;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const Region& region = problem_->regions()[i];
    at.push_back(static_cast<char*>(memory_[i]) + (region.rotates ? copy * step_of(region) : 0));
  }
  return at;
}

Result<std::vector<std::vector<std::byte>>> MemoryOfCase::results() const {
  std::vector<std::vector<std::byte>> all;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const Region& region = problem_->regions()[i];
    if (!region.result) continue;
    all.emplace_back(static_cast<std::size_t>(region.size));
    KVPLAN_TRY_DO(machine_->download(all.back().data(), memory_[i], region.size));
  }
  return all;
}

std::int64_t MemoryOfCase::rotating_bytes(const Problem& problem) {
  std::int64_t bytes = 0;
  for (const Region& region : problem.regions()) bytes += region.rotates ? step_of(region) : 0;
  return bytes;
}
std::int64_t MemoryOfCase::fixed_bytes(const Problem& problem) {
  std::int64_t bytes = 0;
  for (const Region& region : problem.regions()) bytes += region.rotates ? 0 : step_of(region);
  return bytes;
}

}  // namespace kvplan::validator
