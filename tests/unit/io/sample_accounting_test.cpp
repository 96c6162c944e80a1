// Bytes add up if token policies decide which blocks are freed, on the bundled recording: the kept tokens of each head
// follow from the model's own attention, the held and freed blocks from the courses of serving runs.
// sample_invariants_test.cpp has the other properties of every policy.
#include <gtest/gtest.h>

#include <memory>

#include "simulator/attention/drops.h"
#include "simulator/attention/evaluation.h"
#include "simulator/courses/counted_course.h"
#include "simulator/io/attention_json.h"

namespace kvplan::io {
namespace {

using attention::Recording;
using attention::Trajectory;
using core::Course;
using core::CourseShape;
using core::HeldCells;
using core::Placement;

constexpr std::int32_t kSequence = 7;
constexpr std::int64_t kPrompt = 64;
constexpr std::int64_t kBudget = 24;

std::shared_ptr<const Recording> sample() {
  static const std::shared_ptr<const Recording> kSample =
      open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  return kSample;
}

std::shared_ptr<Trajectory> trajectory_of(const std::string& policy) {
  std::shared_ptr<Trajectory> out =
      Trajectory::make(sample(), kSequence, kPrompt, attention::parse_policy(policy).value()).value();
  EXPECT_TRUE(out->advance(out->tokens() - 1).ok());
  return out;
}

/// Cells that all layers and heads keep after n tokens.
std::int64_t kept_cells(const Trajectory& trajectory, std::int64_t n) {
  std::int64_t out = 0;
  for (std::size_t track = 0; track < trajectory.tracks().size(); ++track)
    out += trajectory.tracks()[track].pairs * trajectory.kept_count(static_cast<std::int32_t>(track), n - 1);
  return out;
}

const std::vector<std::string> kPolicies{"h2o:hh=12,recent=12",
                                         "tova:budget=24",
                                         "scissorhands:recent=2,drop=1,budget=24",
                                         "streaming-llm:sink=4,recent=20",
                                         "seed-threshold:threshold=0.01",
                                         "full"};

void expect_none_below_zero(const HeldCells& cells) {
  for (const std::int64_t state :
       {cells.live, cells.reserved, cells.hole, cells.tail, cells.padding, cells.internal})
    EXPECT_GE(state, 0);
}

/// After every token: live cells are those that the policy keeps; with all other held cells they fill whole blocks,
/// those granted minus those freed; no state is below 0.
TEST(SampleAccounting, HeldBlocksHoldWhatIsKept) {
  for (const std::string& policy : kPolicies) {
    const auto trajectory = trajectory_of(policy);
    const std::int64_t tokens = trajectory->tokens();
    const auto drops = std::make_shared<attention::RecordedDrops>(trajectory);
    for (const Placement placement : {Placement::kHoles, Placement::kReuse})
      for (const std::int64_t block : {4, 16}) {
        SCOPED_TRACE(policy + (placement == Placement::kReuse ? ", reuse" : ", holes") + ", blocks of " +
                     std::to_string(block));
        const auto course = Course::make(
            {.prompt = kPrompt, .final_tokens = tokens, .alloc_unit_tokens = block, .placement = placement},
            drops);
        // A unit is a pair of a layer and a KV head, or a layer, or all of them if they drop the same tokens.
        ASSERT_EQ(6 * 4 % course->units(), 0);
        const std::int64_t pairs = 6 * 4 / course->units();
        std::int64_t returned = 0;
        std::int64_t most = 0;
        for (std::int64_t n = kPrompt; n < tokens; ++n) {
          const HeldCells before = course->settled(n) + course->returned_cells(n);
          returned += static_cast<std::int64_t>(course->freed_entries(n).size());
          const HeldCells held = course->settled(n);
          expect_none_below_zero(before);
          expect_none_below_zero(held);
          ASSERT_EQ(held.live * pairs, kept_cells(*trajectory, n)) << n;
          ASSERT_GE(held.sum(), held.live);
          ASSERT_EQ(before.sum() - held.sum(),
                    static_cast<std::int64_t>(course->freed_entries(n).size()) * block * course->units());
          const std::int64_t granted = ceil_div(course->table_slots(n), block);
          ASSERT_EQ(held.sum(), (granted - returned) * block * course->units()) << n;
          most = std::max(most, (held + course->grant(n)).sum());
        }
        EXPECT_GE(most, course->settled(tokens - 1).sum()) << "the peak and what is held in the end";
      }
  }
}

/// The layers evaluated one by one keep the same as a run over all of them.
TEST(SampleAccounting, LayersSumToTheWhole) {
  for (const std::string& policy : kPolicies) {
    SCOPED_TRACE(policy);
    const auto trajectory = trajectory_of(policy);
    std::int64_t entries = 0;
    std::int64_t bytes = 0;
    std::int64_t metadata = 0;
    for (std::int32_t layer = 0; layer < sample()->info().layers; ++layer) {
      std::int64_t peak = 0;
      const auto found = attention::evaluate(*sample(),
                                             {.policy = attention::parse_policy(policy).value(),
                                              .prompt = kPrompt,
                                              .sequence = kSequence,
                                              .layer = layer},
                                             [&](const attention::LayerReplay& replay) -> Status {
                                               std::int64_t cells = 0;
                                               for (std::int32_t s = 0; s < replay.sets(); ++s)
                                                 cells += replay.attended_entries(s) * (4 / replay.sets());
                                               peak = std::max(peak, cells);
                                               return Done{};
                                             });
      ASSERT_TRUE(found.ok()) << found.error().to_string();
      const attention::EvaluationSummary& of_layer = found.value();
      const std::int64_t cell = 2 * 32 * std::int64_t{sample()->info().cache_element_bytes};
      EXPECT_EQ(of_layer.bytes, of_layer.entries * cell + of_layer.metadata_bytes);
      EXPECT_GE(of_layer.metadata_bytes, 0);
      EXPECT_GE(of_layer.peak_bytes, of_layer.bytes);
      EXPECT_GE(of_layer.peak_bytes, peak * cell) << "decode steps alone";
      entries += of_layer.entries;
      bytes += of_layer.bytes;
      metadata += of_layer.metadata_bytes;
    }
    EXPECT_EQ(entries, kept_cells(*trajectory, trajectory->tokens()));
    EXPECT_EQ(bytes - metadata, entries * 2 * 32 * std::int64_t{sample()->info().cache_element_bytes});
  }
}

/// A compaction moves exactly the survivors of the recording: each is read and written once, and nothing else; after it
/// there is no hole among them.
TEST(SampleAccounting, CompactionMovesTheSurvivors) {
  for (const std::string policy :
       {"h2o:hh=12,recent=12", "tova:budget=24", "scissorhands:recent=2,drop=1,budget=24"})
    for (const std::int64_t block : {4, 16}) {
      SCOPED_TRACE(policy + ", blocks of " + std::to_string(block));
      const auto trajectory = trajectory_of(policy);
      const auto course = core::make_counted_course({.prompt = kPrompt,
                                                     .final_tokens = trajectory->tokens(),
                                                     .alloc_unit_tokens = block,
                                                     .placement = Placement::kCompact},
                                                    {{.kept = {.budget = kBudget}, .units = 1}});
      std::int64_t compactions = 0;
      for (std::int64_t n = kPrompt; n < trajectory->tokens(); ++n) {
        const HeldCells held = course->settled(n);
        expect_none_below_zero(held);
        ASSERT_EQ(held.live * 6 * 4, kept_cells(*trajectory, n)) << n;
        const auto moved = course->compaction(n);
        if (!moved) continue;
        ++compactions;
        ASSERT_EQ(moved->kept_cells * 6 * 4, kept_cells(*trajectory, n)) << n;
        ASSERT_EQ(moved->alloc_units, ceil_div(moved->kept_cells, block));
        ASSERT_EQ(held.hole, 0) << n;
        ASSERT_EQ(course->returned_cells(n).sum(), (moved->alloc_units_before - moved->alloc_units) * block);
      }
      EXPECT_GT(compactions, 70 / block - 2);
    }
}

}  // namespace
}  // namespace kvplan::io
