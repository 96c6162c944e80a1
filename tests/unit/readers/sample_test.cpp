// Quest's rules on the bundled recording of a real decoder: bounds of pages, and a budget of everything.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/io/attention_json.h"
#include "simulator/readers/page_bounds.h"
#include "tests/unit/readers/support.h"

namespace kvplan::readers::testing {
namespace {

constexpr std::int64_t kPage = 16;
constexpr std::int32_t kShortest = 7;

const attention::Recording& sample() {
  static const std::shared_ptr<const attention::Recording> kSample =
      io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  return *kSample;
}

std::span<const float> token_of(const std::vector<float>& numbers, std::int64_t t, std::int32_t size) {
  return std::span(numbers).subspan(static_cast<std::size_t>(t * size), static_cast<std::size_t>(size));
}

double product(std::span<const float> query, std::span<const float> key) {
  double sum = 0;
  for (std::size_t c = 0; c < query.size(); ++c)
    sum += static_cast<double>(query[c]) * static_cast<double>(key[c]);
  return sum;
}

/// No key of a page has a larger product with a query than the page's bound. Bounds that grew token by token equal
/// those computed from all tokens at once.
TEST(ReadersOfTheSample, BoundsOfPagesHold) {
  for (std::int32_t layer = 0; layer < sample().info().layers; ++layer) {
    const LayerTensors in = sample().tensors(kShortest, layer).value();
    const std::int32_t group = in.query_heads / in.kv_heads;
    for (std::int32_t head = 0; head < in.query_heads; ++head) {
      const std::vector<float>& keys = in.keys[static_cast<std::size_t>(head / group)];
      PageBounds grown(kPage, in.key_size);
      double tightest = 0;
      for (std::int64_t t = 0; t < in.tokens; ++t) {
        grown.add(token_of(keys, t, in.key_size));
        if (t % 7 != 0 && t + 1 < in.tokens) continue;
        PageBounds rebuilt(kPage, in.key_size);
        for (std::int64_t i = 0; i <= t; ++i) rebuilt.add(token_of(keys, i, in.key_size));
        const auto query = token_of(in.queries[static_cast<std::size_t>(head)], t, in.key_size);
        ASSERT_EQ(grown.pages(), t / kPage + 1);
        for (std::int64_t page = 0; page < grown.pages(); ++page) {
          const double bound = grown.bound(page, query);
          ASSERT_EQ(rebuilt.bound(page, query), bound);
          double most = -1e300;
          for (std::int64_t i = page * kPage; i < std::min((page + 1) * kPage, t + 1); ++i)
            most = std::max(most, product(query, token_of(keys, i, in.key_size)));
          ASSERT_GE(bound, most) << "layer " << layer << " head " << head << " page " << page;
          if (bound > 0) tightest = std::max(tightest, most / bound);
        }
      }
      EXPECT_GT(tightest, 0.5);  // a bound that any number satisfies would be useless
    }
  }
}

/// All pages are the full cache.
TEST(ReadersOfTheSample, AllPagesAreTheFullCache) {
  Request request{.lanes = {}, .prompt = 100, .sequence = kShortest};
  for (const char* text : {"quest", "quest:form=kernels", "full"})
    request.lanes.push_back({.reader = parse_reader(text, 200).value(), .budget = 200});
  const auto found = evaluate(sample(), request, go_on);
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  const Tally& full = found.value().lanes[2].total;
  for (std::size_t l = 0; l < 2; ++l) {
    const Tally& quest = found.value().lanes[l].total;
    EXPECT_EQ(quest.mass, full.mass);
    EXPECT_EQ(quest.tokens, full.tokens);
    EXPECT_EQ(quest.read.cells, full.read.cells);
    EXPECT_LT(quest.error_most, 1e-12);
  }
  EXPECT_NEAR(full.mass, static_cast<double>(full.samples), 1e-9);
}

}  // namespace
}  // namespace kvplan::readers::testing
