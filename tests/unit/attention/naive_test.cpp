// The replay against the naive second implementation, on seeded random inputs.
#include <gtest/gtest.h>

#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/naive.h"

namespace kvplan::attention {
namespace {

struct Case {
  std::string text;
  NaivePolicy naive;
};

/// A random policy with budgets around the length of the input: smaller, equal and larger.
Case random_case(Random& random, int tokens, int query_heads) {
  std::vector<int> groups;
  for (int g = 1; g <= query_heads; ++g)
    if (query_heads % g == 0) groups.push_back(g);
  Case out;
  out.naive.group = groups[random.below(groups.size())];
  out.naive.max = random.chance(1, 3);
  const auto most = static_cast<std::uint64_t>(tokens + 4);
  const int a = static_cast<int>(random.below(most));
  const int b = static_cast<int>(random.below(most));
  const auto number = [](int x) { return std::to_string(x); };
  out.naive.a = a;
  out.naive.b = b;
  using Kind = NaivePolicy::Kind;
  switch (random.below(6)) {
    case 0:
      out.naive.kind = Kind::kAll;
      out.text = "full:";
      break;
    case 1:
      out.naive.kind = Kind::kInterval;
      out.naive.a = 0;
      out.naive.b = b + 1;
      out.text = "window:window=" + number(b + 1) + ",";
      break;
    case 2:
      out.naive.kind = Kind::kInterval;
      out.text = "streaming-llm:sink=" + number(a) + ",recent=" + number(b) + ",";
      break;
    case 3:
      out.naive.kind = Kind::kTova;
      out.naive.a = a + 1;
      out.text = "tova:budget=" + number(a + 1) + ",";
      break;
    case 4:
      out.naive.kind = Kind::kTopK;
      out.naive.a = a + 1;
      out.text = "oracle-topk:k=" + number(a + 1) + ",";
      break;
    default:
      out.naive.kind = Kind::kH2o;
      out.naive.a = a / 2;
      out.naive.b = b / 2;
      out.naive.raw = random.chance(1, 2);
      out.text = "h2o:hh=" + number(a / 2) + ",recent=" + number(b / 2) +
                 ",score_rows=" + (out.naive.raw ? "raw" : "renorm") + ",";
  }
  out.text += "group=" + number(out.naive.group) + ",agg=" + (out.naive.max ? "max" : "mean");
  return out;
}

void expect_equal(const Outcome& found, const Outcome& expected) {
  ASSERT_EQ(found.after_prefill, expected.after_prefill);
  ASSERT_EQ(found.retained.size(), expected.retained.size());
  for (std::size_t i = 0; i < found.retained.size(); ++i) {
    ASSERT_EQ(found.retained[i], expected.retained[i]) << "decode step " << i;
    for (std::size_t h = 0; h < found.mass[i].size(); ++h)
      ASSERT_NEAR(found.mass[i][h], expected.mass[i][h], 1e-12) << "decode step " << i << ", head " << h;
  }
}

void compare(std::uint64_t seed, RowKind kind, int max_tokens) {
  Random random(seed, "naive");
  const int heads = 1 + static_cast<int>(random.below(6));
  const int tokens = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(max_tokens)));
  const int prompt = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(tokens)));
  const Rows rows = random_rows(random, heads, tokens, kind);
  const Case it = random_case(random, tokens, heads);
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + it.text + ", heads " + std::to_string(heads) +
               ", tokens " + std::to_string(tokens) + ", prompt " + std::to_string(prompt));
  expect_equal(run_policy(*recording_of({rows}), it.text, prompt), run_naive(rows, it.naive, prompt));
}

TEST(AgainstNaive, RandomRows) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) compare(seed, RowKind::kSmooth, 60);
}

TEST(AgainstNaive, RowsFullOfTies) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) compare(seed, RowKind::kTies, 60);
}

TEST(AgainstNaive, LongSequences) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) compare(seed, RowKind::kSmooth, 500);
}

}  // namespace
}  // namespace kvplan::attention
