// Every kernel of the catalogue on the host: each of its cases is right, and each changed result is noticed.
#include "validator/kernels/catalogue.h"

#include <gtest/gtest.h>

#include "validator/kernels/measure.h"
#include "validator/kernels/memory_of_case.h"

namespace kvplan::validator {
namespace {

class OfCatalogue : public testing::TestWithParam<std::string> {};

TEST_P(OfCatalogue, HostIsRight) {
  const auto machine = make_host_machine(2);
  const Kernel& kernel = *find_kernel(GetParam()).value();
  for (const CaseSet set : {CaseSet::kCheck, CaseSet::kSanitize}) {
    const auto cases = kernel.cases(set, machine->facts());
    EXPECT_FALSE(cases.empty());
    for (const Case& of : cases) {
      const auto checked = check_case(*machine, of);
      ASSERT_TRUE(checked.ok()) << describe(of) << ": " << checked.error().to_string();
      EXPECT_TRUE(checked.value().comparison.good)
          << describe(of) << ", seed " << of.seed << ": " << checked.value().comparison.first_problem;
    }
  }
}

/// Results that were never written are poison, and a wrong byte is found.
TEST_P(OfCatalogue, WhatIsWrongIsNoticed) {
  const auto machine = make_host_machine(1);
  const Kernel& kernel = *find_kernel(GetParam()).value();
  for (const Case& of : kernel.cases(CaseSet::kSanitize, machine->facts())) {
    const auto problem = kernel.make(of, Purpose::kCheck, machine->facts());
    ASSERT_TRUE(problem.ok());
    auto memory = MemoryOfCase::take(*machine, *problem.value(), 1);
    ASSERT_TRUE(memory.ok());
    auto results = memory.value().results().value();
    const bool writes = problem.value()->roofline().bytes > 4 * 1024;  // some cases keep nothing
    EXPECT_FALSE(writes && problem.value()->compare(results).good) << "unwritten: " << describe(of);
    ASSERT_TRUE(machine->run(problem.value()->launches(memory.value().addresses(0))).ok());
    results = memory.value().results().value();
    ASSERT_TRUE(problem.value()->compare(results).good) << describe(of);
    for (auto& result : results) {
      if (result.empty()) continue;
      std::byte& changed = result[result.size() / 2 / 4 * 4 + 3];  // the upper byte of a float
      changed ^= std::byte{0x40};
      EXPECT_FALSE(problem.value()->compare(results).good) << "changed: " << describe(of);
      changed ^= std::byte{0x40};
    }
  }
}

TEST_P(OfCatalogue, GridsAreOfShapesThatItCanDo) {
  for (const bool device : {false, true}) {
    MachineFacts facts;
    facts.sm_count = 132;
    facts.memory_bytes = std::int64_t{80} << 30;
    if (device) facts.toolkit = "13.0";
    const Kernel& kernel = *find_kernel(GetParam()).value();
    for (const CaseSet set : {CaseSet::kCoarse, CaseSet::kUnseen, CaseSet::kFine}) {
      const auto cases = kernel.cases(set, facts);
      EXPECT_TRUE(!cases.empty() || set == CaseSet::kFine);
      for (const Case& of : cases) {
        EXPECT_EQ(of.kernel, GetParam());
        if (device) continue;  // some cases take long to create
        EXPECT_TRUE(kernel.make(of, Purpose::kTime, facts).ok()) << describe(of);
      }
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Kernel& kernel : catalogue()) all.emplace_back(kernel.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kernels, OfCatalogue, testing::ValuesIn(names()), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace kvplan::validator
