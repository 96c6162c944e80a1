// Courses of requests with encoded tokens (courses/encoded_course.h): compared with blocks that are filled byte by
// byte, and in runs, fast compared with naive.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "simulator/courses/encoded_course.h"
#include "simulator/scenario/run_format.h"
#include "tests/support/encoded_formats.h"
#include "tests/support/observed_run.h"
#include "tests/support/random_case.h"
#include "tests/support/random_cases.h"

namespace kvplan {
namespace {

using core::Course;
using core::CourseShape;
using core::EncodedTokens;
using core::HeldCells;
using core::StoredBytes;
using test::Coverage;
using test::observe_run;
using test::RandomCase;

/// A random format: groups of tokens are encoded when they are complete, or tokens beyond a window one by one; the
/// prompt may lose tokens first, or a fixed number is kept at any time.
EncodedTokens draw_tokens(Random& random, const CourseShape& shape, std::int64_t token_bytes) {
  EncodedTokens out{.token_bytes = token_bytes};
  const std::int64_t kept = random.chance(1, 3) ? random.between(1, shape.prompt) : shape.prompt;
  const std::int64_t budget =
      random.chance(1, 3) ? random.between(1, shape.final_tokens) : shape.final_tokens;
  const std::int64_t group = random.between(1, 12);
  const bool window = random.chance(1, 2);
  const std::int64_t code = random.between(0, token_bytes);
  const std::int64_t scale = random.between(0, token_bytes - code);
  const std::int64_t once = random.chance(1, 3) ? random.between(0, 3 * token_bytes) : 0;  // a codebook
  for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
    const std::int64_t held = std::min(n - shape.prompt + kept, budget);
    const std::int64_t coded = window ? std::max<std::int64_t>(held - group, 0) : held / group * group;
    StoredBytes bytes{
        .coded = coded * code, .metadata = coded * scale + once, .exact = (held - coded) * token_bytes};
    if (bytes.total() > held * token_bytes) bytes = {.exact = held * token_bytes};
    bytes.dropped_cells = (n - held) * token_bytes;
    out.stored.push_back(bytes);
  }
  return out;
}

/// Blocks with their contents, filled byte by byte.
struct Blocks {
  std::int64_t block_bytes;
  std::vector<std::int64_t> used{};

  void fill(std::int64_t bytes) {
    std::int64_t room = 0;
    for (std::int64_t i = 0; i < bytes; ++i, --room) {
      if (room == 0) {
        used.push_back(0);
        room = block_bytes;
      }
      ++used.back();
    }
  }
};

/// Blocks for the stored bytes, with room for one more token.
std::int64_t blocks_wanted(const StoredBytes& bytes, std::int64_t token_bytes, std::int64_t block_bytes) {
  Blocks codes{block_bytes}, exact{block_bytes};
  codes.fill(bytes.coded + bytes.metadata);
  exact.fill(bytes.exact + token_bytes);
  return std::ssize(codes.used) + std::ssize(exact.used);
}

struct Walked {
  std::int64_t granted{0}, came_back{0}, several{0}, alike{0}, late{0};
};

void walk(const CourseShape& shape, const EncodedTokens& tokens, Walked& seen) {
  const auto course = core::make_encoded_course(shape, tokens);
  const std::int64_t token = tokens.token_bytes;
  const std::int64_t block = shape.alloc_unit_tokens * token;
  const auto stored = [&](std::int64_t n) {
    return tokens.stored.at(static_cast<std::size_t>(n - shape.prompt));
  };
  ASSERT_EQ(course->units(), token);
  std::int64_t held = 0;
  while (held * shape.alloc_unit_tokens < shape.prompt) ++held;
  for (std::int64_t n = 1; n <= shape.prompt; ++n) ASSERT_EQ(course->table_slots(n), n);
  const HeldCells granted = course->granted(0, held);
  ASSERT_EQ(granted.sum(), held * block);
  ASSERT_EQ(granted.reserved, std::min(held * block, shape.final_tokens * token));
  ASSERT_EQ(granted.tail, granted.sum() - granted.reserved);

  std::vector<HeldCells> during;  // while token prompt + i is written
  std::vector<bool> changes;      // true if blocks were granted for that step, or freed before it
  for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
    const StoredBytes now = stored(n);
    // The states of `blocks` blocks.
    const auto states = [&](std::int64_t blocks) {
      HeldCells out;
      out.live = now.coded + now.exact;
      out.metadata = now.metadata;
      std::int64_t most = 0;
      for (std::int64_t later = n; later < shape.final_tokens; ++later)
        most = std::max(most, stored(later).total() + token - now.total());
      for (std::int64_t i = now.total(); i < blocks * block; ++i)
        ++(most-- > 0 ? out.reserved : out.internal);
      while (out.internal % block != 0) {
        --out.internal;
        ++out.tail;
      }
      return out;
    };
    const std::int64_t before = held;
    ASSERT_EQ(course->settled(n) + course->returned_cells(n), states(before)) << n;
    std::int64_t wanted = blocks_wanted(now, token, block);
    if (n == shape.prompt && wanted > before) {
      wanted = before;
      ++seen.late;
    }
    held = wanted;
    ASSERT_LE(held, before) << n;
    const auto moved = course->compaction(n);
    ASSERT_EQ(moved.has_value(), held < before) << n;
    ASSERT_EQ(course->returns_blocks(n), moved.has_value()) << n;
    if (moved) {
      ASSERT_EQ(moved->alloc_units_before, before);
      ASSERT_EQ(moved->alloc_units, held);
      const bool cut = n == shape.prompt && now.dropped_cells > 0;
      ASSERT_EQ(moved->kept_cells, cut ? n * token - now.dropped_cells : 0);
      ++seen.came_back;
    }
    ASSERT_EQ(course->settled(n), states(held)) << n;
    ASSERT_EQ(course->dropped_cells(n), now.dropped_cells);
    ASSERT_EQ(course->read_tokens(n), ceil_div(now.total(), token));
    // The next token, and the tokens that its step encodes.
    const std::int64_t settled = held;
    held = std::max(held, blocks_wanted(now, token, block));
    if (n + 1 < shape.final_tokens) held = std::max(held, blocks_wanted(stored(n + 1), token, block));
    ASSERT_EQ(course->table_slots(n + 1), held * shape.alloc_unit_tokens) << n;
    ASSERT_EQ(course->grant(n).sum(), (held - settled) * block) << n;
    ASSERT_EQ(course->settled(n) + course->grant(n), states(held)) << n;
    seen.granted += held - settled;
    seen.several += held - settled > 1 ? 1 : 0;
    // In that step the token has a slot, encoded or not.
    ASSERT_GE((course->settled(n) + course->grant(n)).reserved, token) << n;
    ASSERT_LE(held, ceil_div(shape.final_tokens, shape.alloc_unit_tokens) + core::kEncodedBlocksBeyond);
    during.push_back(states(held));
    changes.push_back(moved.has_value() || held > settled);
  }
  // Steps counted as alike are equal, and their number is right.
  for (std::size_t i = 0; i < during.size(); ++i) {
    const std::int64_t n = shape.prompt + static_cast<std::int64_t>(i);
    std::int64_t steps = 1;
    for (std::size_t j = i + 1; j < during.size() && !changes[j]; ++j, ++steps) {
      const std::int64_t m = shape.prompt + static_cast<std::int64_t>(j);
      const std::int64_t more = course->read_tokens(m) - course->read_tokens(m - 1);
      if (more < 0 || more > 1 || more != course->read_tokens(n + 1) - course->read_tokens(n)) break;
      if (during[j] - during[j - 1] != during[i + 1] - during[i]) break;
    }
    ASSERT_EQ(course->alike_steps(n), steps) << n;
    seen.alike += steps > 1 ? 1 : 0;
  }
}

TEST(EncodedCourse, EqualsBlocksFilledByteByByte) {
  Walked seen;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "encoded courses");
    CourseShape shape;
    shape.placement = core::Placement::kCompact;
    shape.prompt = random.between(1, 40);
    shape.final_tokens = shape.prompt + random.between(0, 60);
    shape.alloc_unit_tokens = random.between(1, 9);
    walk(shape, draw_tokens(random, shape, random.between(1, 12)), seen);
    if (HasFatalFailure()) return;
  }
  for (const std::int64_t count : {seen.granted, seen.came_back, seen.several, seen.alike, seen.late})
    EXPECT_GT(count, 100);
}

/// The same for the bytes that codecs store for requests of random lengths, computed from lengths: every member that
/// encodes tokens later.
TEST(EncodedCourse, EveryCodecEqualsBlocksFilledByteByByte) {
  const model::ModelShape shape{.name = "small",
                                .source = "test",
                                .layers = 3,
                                .runs = {{3, {.heads = 2, .key_size = 32, .value_size = 32}}}};
  std::set<std::string_view> walked;
  Walked seen;
  for (const std::string& text : test::encoded_formats()) {
    const runs::RunFormat format = runs::run_format(runs::parse_run_format(text).value());
    ASSERT_TRUE(format.encoded.has_value()) << text;
    walked.insert(format.encoded->choice.name());
    const auto layers =
        runs::encoded_layers({.format = format, .places = format.of_token}, shape, 1, 0, shape.layers);
    ASSERT_TRUE(layers.ok()) << layers.error().to_string();
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(text + ", seed " + std::to_string(seed));
      Random random(seed, "courses of codecs");
      CourseShape course;
      course.placement = core::Placement::kCompact;
      course.prompt = random.between(1, 60);
      course.final_tokens = course.prompt + random.between(0, 40);
      course.alloc_unit_tokens = random.between(1, 16);
      std::vector<runs::KeptTokens> kept;
      if (random.chance(1, 3))
        kept = {{.count = {.budget = random.between(1, course.prompt),
                           .once = !formats::follows_from_count(*format.encoded) || random.chance(1, 2)}}};
      walk(course, runs::encoded_tokens(layers.value(), course.prompt, course.final_tokens, kept), seen);
      if (HasFatalFailure()) return;
    }
  }
  for (const std::int64_t count : {seen.granted, seen.came_back, seen.alike}) EXPECT_GT(count, 10);
  for (const Descriptor* descriptor : runs::run_formats()) {
    const auto choice = make_choice(descriptor->name, {}, "format", runs::run_formats());
    if (choice.ok() && runs::run_format(choice.value()).encoded) {
      EXPECT_TRUE(walked.contains(descriptor->name)) << descriptor->name << " is not walked";
    }
  }
}

/// Tokens of 8 bytes in blocks of 2; groups of 4 are encoded in 2 bytes per token and one scale of 2 bytes: a prompt of
/// 9 in 5 blocks becomes 2 x (8 + 2) bytes in 2 blocks, and a token of 8 with room for the next one in one more.
TEST(EncodedCourse, WorkedByHand) {
  CourseShape shape;
  shape.placement = core::Placement::kCompact;
  shape.prompt = 9;
  shape.final_tokens = 13;
  shape.alloc_unit_tokens = 2;
  const auto course =
      core::make_encoded_course(shape, {.token_bytes = 8,
                                        .stored = {{.coded = 16, .metadata = 4, .exact = 8},
                                                   {.coded = 16, .metadata = 4, .exact = 16},
                                                   {.coded = 16, .metadata = 4, .exact = 24},
                                                   {.coded = 24, .metadata = 6, .exact = 0}}});
  EXPECT_EQ(course->granted(0, 5), (HeldCells{.reserved = 80}));
  ASSERT_TRUE(course->compaction(9));
  EXPECT_EQ(course->compaction(9)->alloc_units_before, 5);
  EXPECT_EQ(course->compaction(9)->alloc_units, 3);
  EXPECT_EQ(course->compaction(9)->kept_cells, 0);
  EXPECT_EQ(course->settled(9), (HeldCells{.live = 24, .reserved = 20, .metadata = 4}));
  EXPECT_EQ(course->grant(9).sum(), 16);  // room for token 10 in addition to token 9
  EXPECT_EQ(course->table_slots(10), 8);
  EXPECT_EQ(course->read_tokens(9), 4);  // 28 bytes
  EXPECT_EQ(course->grant(10).sum(), 0);
  EXPECT_EQ(course->settled(11), (HeldCells{.live = 40, .reserved = 8, .tail = 12, .metadata = 4}));
  // Four tokens of the tail became 10 bytes: 30 bytes in 2 blocks, and one block with room for the last token.
  ASSERT_TRUE(course->compaction(12));
  EXPECT_EQ(course->compaction(12)->alloc_units, 3);
  EXPECT_EQ(course->settled(12), (HeldCells{.live = 24, .reserved = 8, .tail = 10, .metadata = 6}));
}

// ---- runs ----

/// Courses made from the seed, the request and its prompt, so that both engines get the same.
class Courses final : public core::CourseSource {
 public:
  Courses(const RandomCase& c, std::uint64_t seed) : case_(c), seed_(seed) {}
  Result<const Course*> begin(RequestId r, std::int64_t prompt) override {
    const auto allocator = case_.make_allocator(false);
    const CourseShape shape{.prompt = prompt,
                            .final_tokens = case_.workload.final_tokens(r),
                            .alloc_unit_tokens = allocator.value()->layout().alloc_unit_tokens,
                            .returns_alloc_units = true,
                            .placement = core::Placement::kCompact,
                            .reads_holes = case_.reads_holes};
    Random random(seed_ + static_cast<std::uint64_t>(r) * 131, "encoded runs");
    EncodedTokens tokens = draw_tokens(random, shape, case_.token_bytes);
    EXPECT_EQ(in_use_.count(r), 0U);
    return (in_use_[r] = core::make_encoded_course(shape, std::move(tokens))).get();
  }
  void end(RequestId r) override { EXPECT_EQ(in_use_.erase(r), 1U); }

 private:
  const RandomCase& case_;
  std::uint64_t seed_;
  std::map<RequestId, std::unique_ptr<const Course>> in_use_;
};

TEST(EncodedRuns, FastEqualsNaive) {
  Coverage coverage;
  const std::int64_t cases = test::random_cases(600);
  for (std::int64_t seed = 1; seed <= cases; ++seed) {
    const auto c = test::draw_case(static_cast<std::uint64_t>(seed));
    if (c->allocator.rfind("paged", 0) != 0) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    c->keep = {};
    c->prefix_cache = false;
    c->workload.prefix = nullptr;
    c->block_ids = false;
    c->alloc_units_beyond = core::kEncodedBlocksBeyond;
    c->token_bytes = Random(static_cast<std::uint64_t>(seed), "bytes").between(1, 9);
    c->cells_per_token = c->token_bytes;
    Courses naive(*c, static_cast<std::uint64_t>(seed));
    Courses fast(*c, static_cast<std::uint64_t>(seed));
    ASSERT_EQ(observe_run(*c, true, &naive), observe_run(*c, false, &fast, &coverage));
  }
  for (const std::int64_t count :
       {coverage.preempted, coverage.refused, coverage.in_runs, coverage.compactions, coverage.rejected})
    EXPECT_GT(count, cases / 6);
}

}  // namespace
}  // namespace kvplan
