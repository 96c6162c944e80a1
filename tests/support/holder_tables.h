// Tables of holders at many moments of a run, compared with the ledger at those moments; shared by the tests of
// Holders. (The table itself stops the program if a column differs from the ledger; here it is checked that the table
// belongs to the right moment, that no block is in it twice, and what each kind of layer group holds.)
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "simulator/observe/holders.h"
#include "tests/support/observed_run.h"

namespace kvplan::test {

using observe::HeldRow;
using observe::Holders;

/// The ledger's bytes at each settled moment; if several are at one time, the last one.
class Moments final : public core::Observer {
 public:
  explicit Moments(const observe::Ledger& ledger) : ledger_(ledger) { bytes[SimTime{}] = ledger.bytes(); }
  void on_pass_end(const core::Pass& pass) override { bytes[pass.time] = ledger_.bytes(); }
  void on_settled(SimTime time, const core::PoolCounts& pool) override {
    bytes[time] = ledger_.bytes();
    shared = std::max(shared, pool.sharers);
  }
  std::map<SimTime, observe::StateCounts> bytes;
  std::int64_t shared{0};

 private:
  const observe::Ledger& ledger_;
};

struct Seen {
  std::map<HeldRow::Kind, std::int64_t> rows;
  std::int64_t shared_rows{0};
  std::int64_t kinds{0};  ///< compared tables of layer groups
};

/// What kinds of layer groups hold at each settled moment, as the ledger reports it.
class KindMoments final : public observe::LedgerSink {
 public:
  void on_kinds(std::span<const observe::StateCounts> held,
                std::span<const observe::StateCounts> /*growth*/) override {
    latest_.assign(held.begin(), held.end());
  }
  void on_span(const observe::LedgerSpan& /*span*/) override {}
  void on_pass(SimTime time, const observe::StateCounts& /*cells*/, std::int64_t /*running*/) override {
    at_pass[time] = latest_;
  }
  std::map<SimTime, std::vector<observe::StateCounts>> at_pass;

 private:
  std::vector<observe::StateCounts> latest_;
};

/// The table's blocks of each kind add up to what the ledger reports for the kind. Only after scheduler steps.
inline void check_kinds(const Holders& table, const core::MemoryLayout& layout, const KindMoments& kinds,
                        std::int64_t& seen) {
  const auto at = kinds.at_pass.find(table.settled_at());
  if (at == kinds.at_pass.end() || at->second.empty()) return;
  const std::vector<model::LayerKind> of = layout.layer_kinds();
  std::vector<observe::StateCounts> sum(of.size());
  for (const HeldRow& row : table.rows()) {
    std::size_t k = 0;
    if (row.kind == HeldRow::Kind::kState) {
      while (!of[k].states) ++k;
    } else if (row.kind == HeldRow::Kind::kBlock) {
      const std::int64_t window = layout.groups[static_cast<std::size_t>(row.group)].window;
      while (of[k].window != window) ++k;
    } else {
      continue;
    }
    for (std::size_t s = 0; s < observe::kStates; ++s) sum[k][s] += row.bytes[s];
  }
  for (std::size_t k = 0; k < of.size(); ++k)
    for (std::size_t s = 0; s < observe::kStates; ++s)
      ASSERT_EQ(sum[k][s], at->second[k][s] * layout.count_bytes()) << k << " " << s;
  ++seen;
}

using MakeCourses = std::function<std::unique_ptr<core::CourseSource>()>;

/// Runs the case and takes tables at several times, including times between settled moments.
inline void check_tables(const RandomCase& c, Random& random, Seen& seen,
                         const MakeCourses& make_courses = {}) {
  const auto first_courses = make_courses ? make_courses() : nullptr;
  const auto second_courses = make_courses ? make_courses() : nullptr;
  std::unique_ptr<Moments> moments;
  observe_run(c, true, first_courses.get(), nullptr,
              [&](const core::MemoryLayout& /*layout*/,
                  const observe::Ledger& ledger) -> std::vector<core::Observer*> {
                moments = std::make_unique<Moments>(ledger);
                return {moments.get()};
              });
  if (!moments) return;
  const std::int64_t end = moments->bytes.rbegin()->first.since_start.count;
  std::vector<SimTime> asked{SimTime{}, moments->bytes.rbegin()->first, SimTime{Ticks{end + 1}}};
  for (int i = 0; i < 5; ++i) asked.push_back(SimTime{Ticks{random.between(0, end)}});
  std::vector<std::unique_ptr<Holders>> tables;
  KindMoments kinds;
  core::MemoryLayout of;
  observe_run(
      c, true, second_courses.get(), nullptr,
      [&](const core::MemoryLayout& layout, const observe::Ledger& ledger) -> std::vector<core::Observer*> {
        of = layout;
        std::vector<core::Observer*> observers;
        for (const SimTime t : asked) {
          tables.push_back(std::make_unique<Holders>(c.workload, ledger, c.keep, t));
          observers.push_back(tables.back().get());
        }
        return observers;
      },
      {&kinds});
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto at = std::prev(moments->bytes.upper_bound(asked[i]));
    ASSERT_EQ(tables[i]->settled_at(), at->first);
    observe::StateCounts sum{};
    std::set<std::pair<HeldRow::Kind, BlockId>> once;
    for (const HeldRow& row : tables[i]->rows()) {
      ASSERT_TRUE(once.insert({row.kind, row.id}).second);
      ASSERT_TRUE(std::is_sorted(row.holders.begin(), row.holders.end()));
      const bool held = row.kind <= HeldRow::Kind::kCopied;
      ASSERT_EQ(held, !row.holders.empty());
      ++seen.rows[row.kind];
      if (row.holders.size() > 1) ++seen.shared_rows;
      for (std::size_t s = 0; s < observe::kStates; ++s) sum[s] += row.bytes[s];
    }
    ASSERT_EQ(sum, at->second);
    check_kinds(*tables[i], of, kinds, seen.kinds);
  }
}

}  // namespace kvplan::test
