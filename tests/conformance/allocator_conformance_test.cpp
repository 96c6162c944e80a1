// The contract of every allocator, tested on every member of the catalogue with several settings of its parameters:
// random lives of requests must give the same answers, counts and tables as the slow reference model after every call,
// and the laws of conservation must hold. A new allocator is tested here as soon as it is in the catalogue.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "simulator/base/random.h"
#include "simulator/core/observer.h"
#include "simulator/memory/allocators.h"
#include "simulator/replacement/replacements.h"
#include "tests/conformance/allocator_settings.h"
#include "tests/support/allocator_parts.h"
#include "tests/support/ids.h"
#include "tests/support/random_cases.h"
#include "traces/record/trace.h"

namespace kvplan {
namespace {

using core::Allocator;
using Setting = test::AllocatorSetting;

Catalogue member_descriptors() {
  static const auto kAll = [] {
    std::vector<const Descriptor*> out;
    for (const auto* entry : test::allocator_members()) out.push_back(&entry->descriptor);
    return out;
  }();
  return kAll;
}

const memory::AllocatorEntry& entry_of(const Choice& choice) {
  for (const auto* entry : test::allocator_members())
    if (&entry->descriptor == &choice.descriptor()) return *entry;
  std::abort();
}

class AllocatorConformance : public testing::TestWithParam<Setting> {};

/// Checks the reason why a request that will hold `last` tokens was not admitted, if it follows from the counts.
void expect_reason(const Allocator& allocator, const core::PoolCounts& before, const std::string& component,
                   std::int64_t last) {
  using core::Refusal;
  const std::int64_t idle = before.free + before.cached;
  const bool one_range = component.rfind("contiguous", 0) == 0 || component.rfind("buddy", 0) == 0;
  if (one_range && component.find("reserve=oracle") != std::string::npos) {
    ASSERT_EQ(allocator.refusal(), idle < last ? Refusal::kTooShort : Refusal::kFragmented);
  } else if (component.rfind("paged", 0) == 0 || component.rfind("vmm", 0) == 0) {
    ASSERT_EQ(allocator.refusal(), Refusal::kTooShort);
  } else {
    ASSERT_NE(allocator.refusal(), Refusal::kNone);
  }
}

/// Layers with different rows: rows of four lengths, one kind in six tensors.
model::ModelShape mixed_model(std::int64_t scale) {
  using model::CacheKind;
  model::ModelShape shape{.name = "mixed", .source = "made up", .layers = 5};
  shape.runs = {
      {3, {.kind = CacheKind::kHeads, .heads = 4 * scale, .key_size = 1000, .value_size = 1000}},
      {1, {.kind = CacheKind::kLatent, .latent_size = 9000 * scale, .rope_size = 1000 * scale}},
      {1, {.kind = CacheKind::kHeads, .heads = 2 * scale, .key_size = 1500, .value_size = 2500}},
  };
  return shape;
}

/// Layers that differ only in their windows.
model::ModelShape windows_model(Random& random) {
  model::ModelShape shape{.name = "windows", .source = "made up"};
  for (const std::int64_t window :
       {std::int64_t{0}, std::int64_t{7}, std::int64_t{0}, random.between(1, 50)}) {
    const std::int64_t layers = random.between(1, 5);
    shape.runs.push_back({layers, {.heads = 1, .key_size = 2, .value_size = 2, .window = window}});
    shape.layers += layers;
  }
  return shape;
}

/// A pool of about 40 allocation units, requests of up to 60 tokens, shared prefixes. With memory in bytes, tokens are
/// so large that a few of them fill a page, or a segment.
struct World {
  core::Workload workload;
  std::int64_t token_bytes{6};
  std::int64_t layers{0};  ///< number of layers of a model with layer groups
  model::ModelShape shape;
  traces::PrefixHashes prefix;
  std::vector<std::int32_t> tenants;
  std::unique_ptr<Allocator> fast, model;

  World(const Setting& setting, Random& random) {
    const Choice choice = parse_component(setting.component, "allocator", member_descriptors()).value();
    std::int64_t alloc_unit = 1;
    std::int64_t scale = 0;
    for (const Param& param : choice.descriptor().params) {
      if (param.name == "block_tokens") alloc_unit = choice.integer("block_tokens");
      if (param.name == "page_kib") scale = parse_integer(choice.text("page_kib")).value() / 64;
      if (param.name == "expandable_segments") scale = 8;
    }
    shape = mixed_model(scale);
    if (scale > 0) token_bytes = shape.kv_token_bytes();
    const bool grouped = choice.name() == "grouped";
    if (grouped && random.chance(3, 4)) {
      shape = windows_model(random);
      token_bytes = shape.kv_token_bytes() + shape.layers;
      layers = shape.layers;
    }
    prefix.block_tokens = alloc_unit * 2;
    prefix.offsets.push_back(0);
    for (int i = 0; i < 40; ++i) {
      workload.arrival.push_back(SimTime{});
      workload.input.push_back(static_cast<std::int32_t>(random.between(1, 60)));
      workload.output.push_back(static_cast<std::int32_t>(random.between(1, 30)));
      const auto ids = static_cast<std::uint32_t>(ceil_div(workload.input.back(), prefix.block_tokens));
      // One of three chains of prefixes. Ids chain * 1000 + depth would not be dense, so the chains are interleaved.
      const auto chain = static_cast<std::uint32_t>(random.below(3));
      for (std::uint32_t depth = 0; depth < ids; ++depth) prefix.ids.push_back(depth * 3 + chain);
      prefix.offsets.push_back(prefix.ids.size());
    }
    prefix.distinct = 3 * 61;
    if (setting.block_ids) workload.prefix = &prefix;
    const memory::AllocatorEntry& entry = entry_of(choice);
    std::optional<Choice> policy;
    if (!setting.replacement.empty()) {
      policy =
          parse_component(setting.replacement, "replacement", replacement::replacement_descriptors()).value();
      for (std::size_t i = 0; i < workload.input.size(); ++i)
        tenants.push_back(static_cast<std::int32_t>(random.below(4)) - 1);
      workload.tenant = tenants;
    }
    const memory::AllocatorRequest request{
        .workload = &workload,
        .pool = {.tokens = std::max<std::int64_t>(scale == 8 ? 400 : 160, 12 * alloc_unit)},
        .token_bytes = token_bytes,
        .cells_per_token = layers > 0 ? 1 : 2,
        .metadata_bytes = layers > 0 ? layers : 1,
        .model = layers > 0 || (scale > 0 && random.chance(3, 4)) ? &shape : nullptr,
        .step_tokens = grouped ? 30 : INT32_MAX,
        .prefix_cache = setting.prefix_cache,
        .replacement = policy ? &*policy : nullptr,
        .block_ids = setting.block_ids,
        .max_model_len = 95};
    fast = entry.make(choice, request).value();
    model = entry.make_model(choice, request).value();
  }
};

/// `copying`: slots that are the sources of copies.
void expect_equal(const Allocator& a, const Allocator& b, std::int64_t requests, std::int64_t copying = 0) {
  ASSERT_EQ(a.counts(), b.counts());
  ASSERT_EQ(a.counts().free + a.counts().cached + a.counts().held, a.layout().alloc_units);
  std::set<BlockId> held;
  std::int64_t contiguous_held = 0;
  for (const RequestId r : ids_below<RequestId>(requests)) {
    const core::BlockTable table = a.table(r);
    const auto x = table.ids;
    const auto y = b.table(r).ids;
    if (a.layout().block_ids()) {
      ASSERT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << "table of request " << number(r);
    } else {
      ASSERT_TRUE(x.empty());
    }
    ASSERT_EQ(table.alloc_units, b.table(r).alloc_units);
    ASSERT_EQ(table.tensor_tokens, b.table(r).tensor_tokens);
    for (const BlockId block : y)
      if (block != kNoBlock) held.insert(block);
    contiguous_held += table.alloc_units;
  }
  // Counted from the tables: a block is held if a table names it.
  ASSERT_EQ(a.counts().held, a.layout().returns_alloc_units() ? static_cast<std::int64_t>(held.size())
                                                              : contiguous_held + copying);
}

Ticks equal_delay(Allocator& a, Allocator& b, std::int64_t moved_tokens) {
  const Ticks computed{moved_tokens % 3 * 1'000'000};
  const Ticks delay = test::take_delay(a, moved_tokens, computed);
  EXPECT_EQ(delay, test::take_delay(b, moved_tokens, computed));
  EXPECT_EQ(test::take_delay(a, 0, computed), test::take_delay(b, 0, computed));
  return delay;
}

/// Checks that both report the same costs: moves, and time that grows with the moved tokens; only time if ranges do not
/// move. Adds the sources of copies to `copying`.
void expect_equal_costs(Allocator& a, Allocator& b, std::map<RequestId, std::int64_t>& copying) {
  ASSERT_EQ(a.placing() != nullptr, b.placing() != nullptr);
  const auto x = test::moves(a);
  const auto y = test::moves(b);
  ASSERT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end()));
  if (a.placing() == nullptr || !a.layout().of_tokens()) {
    ASSERT_TRUE(x.empty());
    return;
  }
  std::map<RequestId, core::RangeMove> latest;  // a range may slide, then be copied
  for (const core::RangeMove& move : x) {
    if (latest.count(move.request) != 0) {
      ASSERT_EQ(latest[move.request].to, move.from);
    }
    latest[move.request] = move;
    ASSERT_TRUE(move.slides ? move.to < move.from && move.slots == move.from_slots
                            : move.slots > move.from_slots);
    if (!move.slides) copying[move.request] = move.from_slots;
  }
  for (const auto& [r, move] : latest) {
    ASSERT_EQ(core::amount_of_entry(a.table(r).ids.front()), move.to);
    ASSERT_GE(a.table(r).alloc_units, move.slots);  // more if the range grew in place after that
  }
  const auto tokens = static_cast<std::int64_t>(x.size()) * 7;
  const Ticks delay = equal_delay(a, b, tokens);
  ASSERT_EQ(delay.count > 0, tokens > 0);
}

TEST_P(AllocatorConformance, EqualsItsModelAndConserves) {
  std::int64_t freed = 0;
  std::int64_t dropped = 0;
  std::int64_t cut = 0;
  std::int64_t moved = 0;
  std::int64_t left_windows = 0;
  std::int64_t found_in_windows = 0;
  std::int64_t expired = 0;
  bool in_groups = false;
  bool returns_alloc_units = false;
  bool costs = false;
  bool ranges = false;
  Ticks waited;
  // A policy only changes which block is handed out; everything else is covered by the cases without a policy.
  const std::int64_t cases = test::random_cases(GetParam().replacement.empty() ? 60 : 20, 12);
  for (std::uint64_t seed = 1; std::cmp_less_equal(seed, cases); ++seed) {
    SCOPED_TRACE(GetParam().component + " seed " + std::to_string(seed));
    Random random(seed, "allocator conformance");
    World world(GetParam(), random);
    Allocator& fast = *world.fast;
    Allocator& model = *world.model;
    returns_alloc_units = fast.layout().returns_alloc_units();
    costs = fast.placing() != nullptr;
    ranges = fast.layout().of_tokens();
    const std::int64_t layers = world.layers > 0 ? fast.layout().cells_per_token : 0;
    ASSERT_EQ(fast.layout().token_bytes,
              layers > 0 ? world.token_bytes / world.layers * layers : world.token_bytes);
    ASSERT_EQ(fast.layout().cells_per_token, layers > 0 ? layers : 2);
    ASSERT_EQ(fast.layout().metadata_bytes, 1);
    ASSERT_EQ(fast.clock() != nullptr, !GetParam().replacement.empty());
    ASSERT_EQ(model.clock() != nullptr, !GetParam().replacement.empty());
    const bool groups = in_groups = !fast.layout().groups.empty();
    const bool windows = !model::windows_of(fast.layout().groups).empty();
    for (Allocator* a : {&fast, &model}) {
      ASSERT_EQ(a->contents() != nullptr, returns_alloc_units && (!groups || GetParam().prefix_cache));
      ASSERT_EQ(a->block_returns() != nullptr, returns_alloc_units);
    }
    struct Life {
      std::int64_t tokens;
      std::set<std::int32_t> gone{};  // logical blocks freed by a course
      // with a keep rule: logical blocks after the first ones were freed up to here
      std::int64_t gone_to{0};
      std::int64_t windows_at{0};  // number of tokens when blocks behind windows were last freed
    };
    const auto free_both = [&](RequestId r, const std::vector<std::int32_t>& entries) {
      fast.block_returns()->free_entries(r, entries);
      model.block_returns()->free_entries(r, entries);
    };
    // Requests that follow courses may free any block, and their tokens are never hit.
    const bool courses =
        seed % 3 == 0 && !GetParam().prefix_cache && fast.layout().returns_alloc_units() && !groups;
    std::map<RequestId, Life> running;
    std::map<RequestId, std::int64_t> copying;  // slots of a request's range that a copy reads
    const auto reads = [&] {
      std::int64_t sum = 0;
      for (const auto& [r, slots] : copying) sum += slots;
      return sum;
    };
    const auto end_copies = [&] {
      if (copying.empty()) return;
      test::end_copies(fast);
      test::end_copies(model);
      copying.clear();
    };
    std::set<RequestId> ended;
    std::map<RequestId, std::int64_t> come_back;  // tokens that preempted requests have to compute
    // With few requests, each returns often, so that it hits blocks from several of its own admissions.
    const std::uint64_t requests = seed % 2 == 0 ? 40 : 9;
    std::int64_t seconds = 0;
    for (int operation = 0; operation < 300; ++operation) {
      // Time passes, so that blocks with a lifetime sometimes expire, but seldom all of them.
      seconds += GetParam().replacement.empty() ? 0 : random.between(0, 20);
      for (Allocator* a : {&fast, &model})
        if (a->clock() != nullptr) a->clock()->on_pass_begin(SimTime{Ticks{seconds * 1'000'000'000 * 1024}});
      const auto r = id_at<RequestId>(random.below(requests));
      if (ended.count(r) != 0 || !fast.fits_empty(r)) {
        ASSERT_EQ(fast.fits_empty(r), model.fits_empty(r));
        continue;
      }
      const std::int64_t last = world.workload.final_tokens(r);
      // The step ends. No request leaves or grows before the copy of its range has ended.
      if (copying.count(r) != 0 || random.chance(1, 4)) end_copies();
      if (running.count(r) == 0) {  // admission, with some of its prompt
        const std::int64_t goal = std::max<std::int64_t>(world.workload.input[index(r)], come_back[r]);
        core::PoolCounts before = fast.counts();
        const core::PrefixHit found = test::lookup(fast, r, goal);
        const core::PrefixHit expected = test::lookup(model, r, goal);
        ASSERT_EQ(found.tokens, expected.tokens);
        ASSERT_EQ(found.idle, expected.idle);
        ASSERT_LT(found.tokens, goal);
        if (GetParam().replacement.empty()) {
          ASSERT_EQ(fast.counts(), before);
        } else {  // blocks with a lifetime may have expired
          ASSERT_EQ(fast.counts(), model.counts());
          ASSERT_EQ(fast.counts().held, before.held);
          expired += before.cached - fast.counts().cached;
          before = fast.counts();
        }
        const std::int64_t tokens = found.tokens + random.between(1, goal - found.tokens);
        const bool admitted = fast.admit(r, found, tokens, goal);
        ASSERT_EQ(admitted, model.admit(r, expected, tokens, goal));
        if (!admitted) {
          ASSERT_EQ(fast.counts(), before);
          ASSERT_EQ(fast.refusal(), model.refusal());
          expect_reason(fast, before, GetParam().component, last);
          if (GetParam().component.find("reserve=oracle,compact=on-refusal") != std::string::npos) {
            ASSERT_LT(before.free, last);  // there are really too few blocks
          }
          continue;
        }
        expect_equal_costs(fast, model, copying);
        moved += static_cast<std::int64_t>(test::moves(fast).size());
        running[r] = {.tokens = tokens};
        found_in_windows += windows && found.tokens > 0 ? 1 : 0;
      } else if (random.chance(1, 6)) {  // end or preemption
        const std::int64_t written = running[r].tokens;
        fast.release(r, written);
        model.release(r, written);
        running.erase(r);
        come_back[r] = written + 1;
        if (written == last) {
          test::forget(fast, r);
          test::forget(model, r);
          ended.insert(r);
        }
        expect_equal(fast, model, 40, reads());
        continue;
      } else if (courses && seed % 6 == 0 && random.chance(1, 3)) {  // a table is cut
        const std::int64_t alloc_units = fast.table(r).alloc_units;
        if (alloc_units < 2) continue;
        const std::int64_t left = random.between(1, alloc_units - 1);
        running[r].tokens = random.between((left - 1) * fast.layout().alloc_unit_tokens + 1,
                                           std::min(left * fast.layout().alloc_unit_tokens, last));
        cut += alloc_units - left;
        fast.block_returns()->cut_table(r, left);
        model.block_returns()->cut_table(r, left);
        ASSERT_EQ(fast.table(r).alloc_units, left);
        expect_equal(fast, model, 40, reads());
        continue;
      } else if (courses && seed % 6 != 0 && random.chance(1, 3)) {
        std::vector<std::int32_t> blocks;
        for (std::int32_t b = 0; b < running[r].tokens / fast.layout().alloc_unit_tokens; ++b)
          if (random.chance(1, 3) && running[r].gone.insert(b).second) blocks.push_back(b);
        if (random.chance(1, 2)) std::reverse(blocks.begin(), blocks.end());
        freed += static_cast<std::int64_t>(blocks.size());
        free_both(r, blocks);
        expect_equal(fast, model, 40, reads());
        continue;
      } else if (!courses && !groups && returns_alloc_units && random.chance(1, 6)) {
        // Frees blocks like a keep rule: the first five tokens are kept for the request's whole life.
        const std::int64_t begin = running[r].tokens - random.between(1, 9);
        if (begin <= 5) continue;
        const std::int64_t q = fast.layout().alloc_unit_tokens;
        std::int64_t& gone_to = running[r].gone_to;
        gone_to = std::max(gone_to, ceil_div(std::int64_t{5}, q));
        std::vector<std::int32_t> blocks;
        for (std::int64_t b = begin / q - 1; b >= gone_to; --b)
          blocks.push_back(static_cast<std::int32_t>(b));
        gone_to = std::max(gone_to, begin / q);
        dropped += std::ssize(blocks);
        fast.contents()->close(r, running[r].tokens);
        model.contents()->close(r, running[r].tokens);
        free_both(r, blocks);
        expect_equal(fast, model, 40, reads());
        continue;
      } else {  // more tokens
        const std::int64_t tokens =
            std::min(last, running[r].tokens + (random.chance(1, 2) ? 1 : random.between(1, 12)));
        if (tokens == running[r].tokens) continue;
        if (windows) {
          const auto& all = fast.layout().groups;
          const std::int64_t now = running[r].tokens;
          const std::int64_t before = std::exchange(running[r].windows_at, now);
          std::vector<std::int32_t> left;
          const core::BlockTable table = model.table(r);
          for (std::size_t g = 0; g < all.size(); ++g) {
            const auto gone = [&](std::int64_t held) {
              return std::max<std::int64_t>(held + 1 - all[g].window, 0) / fast.layout().alloc_unit_tokens;
            };
            for (std::int64_t b = gone(now) - 1; all[g].window > 0 && b >= gone(before); --b) {
              const std::int64_t entry = b * std::ssize(all) + static_cast<std::int64_t>(g);
              if (table.ids[static_cast<std::size_t>(entry)] == kNoBlock)
                break;  // the window did not show this block when the prefix was hit
              left.push_back(static_cast<std::int32_t>(entry));
            }
          }
          free_both(r, left);
          left_windows += std::ssize(left);
          expect_equal(fast, model, 40, reads());
        }
        const core::PoolCounts before = fast.counts();
        const std::int64_t alloc_units = fast.table(r).alloc_units;
        const std::int64_t next_growth = fast.growth_tokens() < 0 ? fast.next_growth(r) : 0;
        const bool grown = fast.grow(r, tokens);
        ASSERT_EQ(grown, model.grow(r, tokens));
        if (fast.growth_tokens() < 0) {  // the allocator has said when it needs more
          ASSERT_TRUE(grown || next_growth < tokens);
        } else if (tokens == running[r].tokens + 1) {  // one token more, as for a decoding request
          const bool due =
              fast.growth_tokens() > 0 && running[r].tokens == alloc_units * fast.layout().alloc_unit_tokens;
          ASSERT_EQ(grown, !due || before.free + before.cached > 0);
          ASSERT_EQ(fast.table(r).alloc_units, alloc_units + (due && grown ? 1 : 0));
        }
        if (!grown) {
          ASSERT_EQ(fast.counts(), before);
          ASSERT_EQ(fast.table(r).alloc_units, alloc_units);
          ASSERT_EQ(fast.refusal(), model.refusal());
          ASSERT_NE(fast.refusal(), core::Refusal::kNone);
          continue;
        }
        if (fast.growth_tokens() < 0) {
          if (fast.layout().of_tokens() && !groups) {
            ASSERT_EQ(fast.next_growth(r), fast.table(r).alloc_units);
          }
          ASSERT_EQ(fast.next_growth(r), model.next_growth(r));
          ASSERT_GE(fast.next_growth(r), tokens);
          if (tokens <= next_growth) {
            ASSERT_EQ(fast.counts(), before);
          }
        }
        expect_equal_costs(fast, model, copying);
        moved += static_cast<std::int64_t>(test::moves(fast).size());
        running[r].tokens = tokens;
      }
      test::insert(fast, r, running[r].tokens);
      test::insert(model, r, running[r].tokens);
      expect_equal(fast, model, 40, reads());
      if (HasFatalFailure()) return;
    }
    end_copies();
    for (const auto& [r, life] : running) {
      fast.release(r, life.tokens);
      model.release(r, life.tokens);
    }
    expect_equal(fast, model, 40, reads());
    if (fast.layout().form == core::TableForm::kPages) waited = waited + equal_delay(fast, model, 0);
    ASSERT_EQ(fast.counts().held, 0);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(cut > 0, freed > 0);
  EXPECT_EQ(freed > 0, returns_alloc_units && !GetParam().prefix_cache && !in_groups);
  EXPECT_EQ(dropped > 0, returns_alloc_units && !in_groups);
  EXPECT_EQ(left_windows > 0, in_groups);
  EXPECT_EQ(found_in_windows > 0, in_groups && GetParam().prefix_cache);
  EXPECT_EQ(expired > 0, GetParam().replacement == "ttl");
  // With ranges of one length, no gap is too short.
  if (!returns_alloc_units && GetParam().component.find("reserve=max") == std::string::npos) {
    EXPECT_EQ((ranges ? moved : waited.count) > 0, costs);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, AllocatorConformance, testing::ValuesIn(test::allocator_settings()),
                         [](const auto& suite) {
                           std::string name =
                               suite.param.component + (suite.param.prefix_cache ? "_cached" : "_plain") +
                               (suite.param.replacement.empty() ? "" : "_") + suite.param.replacement +
                               (suite.param.block_ids ? "" : "_without_ids");
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

/// Every member states what must be evicted before memory is freed; that determines which memory a token policy frees.
TEST(Descriptors, EveryAllocatorSaysWhatOneBlockSpans) {
  for (const auto* entry : test::allocator_members()) {
    const std::string_view spans = entry->descriptor.spans;
    EXPECT_TRUE(!spans.empty() && spans.back() == '.') << entry->descriptor.name;
  }
}

}  // namespace
}  // namespace kvplan
