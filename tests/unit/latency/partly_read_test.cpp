// Step times if layers read a part of the kept tokens: other tokens take no time, metadata takes its own.
#include <gtest/gtest.h>

#include "simulator/latency/latencies.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_catalogue.h"

namespace kvplan::latency {
namespace {

constexpr std::int64_t kRequests = 16, kTokens = 9000, kFetched = 2000;
constexpr std::int64_t kMetadataBytes = 8192;

const model::ModelShape& model_of(std::string_view name) {
  return *model::find_model(name).value();
}

/// `share`: share of the heads of every layer.
std::unique_ptr<core::LatencyModel> make(const std::string& text, const model::ModelShape& shape,
                                         const PartlyRead* partly) {
  LatencyRequest request = LatencyRequest::one_rank(shape);
  request.partly = partly;
  request.device = model::find_device("H100").value();
  const Choice choice = parse_component(text, "latency", latency_descriptors()).value();
  return latency_entry(choice).make(choice, request).value();
}

PartlyRead partly_read(const model::ModelShape& shape, double share, std::int64_t metadata) {
  return {std::vector<double>(static_cast<std::size_t>(shape.layers), share), metadata};
}

/// Decoding requests that see `tokens` tokens each and fetch `fetched`.
core::StepLoad decoding(std::int64_t tokens, std::int64_t fetched) {
  return {.requests = kRequests,
          .tokens = kRequests,
          .context_tokens = kRequests * (tokens - 1),
          .attention_pairs = kRequests * tokens,
          .unread_tokens = kRequests * (tokens - fetched),
          .ranked_tokens = fetched < tokens ? kRequests * tokens : 0};
}

/// Rounded coefficients are multiplied by this many tokens at most.
constexpr double kRounding = 3.0 * kRequests * kTokens;

class PartlyReadSteps : public testing::TestWithParam<std::string> {};

/// All layers: a step takes the time of shorter requests, plus the metadata.
TEST_P(PartlyReadSteps, AreThoseOfWhatIsFetched) {
  const model::ModelShape& shape = model_of("llama-3-8b");
  const PartlyRead all = partly_read(shape, 1, 0);
  const auto whole = make(GetParam(), shape, nullptr);
  const auto part = make(GetParam(), shape, &all);
  const auto ticks = [](const core::LatencyModel& model, const core::StepLoad& load) {
    return static_cast<double>(model.step(load).count);
  };
  EXPECT_EQ(ticks(*part, decoding(kTokens, kTokens)), ticks(*whole, decoding(kTokens, kTokens)));
  EXPECT_NEAR(ticks(*part, decoding(kTokens, kFetched)), ticks(*whole, decoding(kFetched, kFetched)),
              kRounding);
  EXPECT_LT(ticks(*part, decoding(kTokens, kFetched)), 0.99 * ticks(*whole, decoding(kTokens, kTokens)));
}

/// With half of the heads, the time is in the middle.
TEST_P(PartlyReadSteps, LieBetweenWhereSomeHeadsReadAll) {
  const model::ModelShape& shape = model_of("llama-3-8b");
  const PartlyRead none = partly_read(shape, 0, 0), half = partly_read(shape, 0.5, 0),
                   all = partly_read(shape, 1, 0);
  const core::StepLoad load = decoding(kTokens, kFetched);
  const auto ticks = [&](const PartlyRead& partly) {
    return static_cast<double>(make(GetParam(), shape, &partly)->step(load).count);
  };
  EXPECT_NEAR(ticks(half), (ticks(none) + ticks(all)) / 2, kRounding);
  EXPECT_EQ(ticks(none), static_cast<double>(make(GetParam(), shape, nullptr)->step(load).count));
}

/// Durations of a series are those of its steps.
TEST_P(PartlyReadSteps, GoOnAsTheirSeriesSays) {
  const model::ModelShape& shape = model_of("llama-3-8b");
  const PartlyRead partly = partly_read(shape, 0.75, kMetadataBytes);
  const auto model = make(GetParam(), shape, &partly);
  core::StepLoad load = decoding(kTokens, kFetched);
  core::LoadGrowth more = core::LoadGrowth::of_contexts(kRequests);
  more.unread_tokens = kRequests - 3;
  more.ranked_tokens = kRequests - 1;
  const core::StepSeries series = model->decode_series(load, more, 500);
  EXPECT_GT(series.steps, 1);
  for (std::int64_t k = 0; k < series.steps; ++k) {
    ASSERT_EQ(model->step(load).count, series.duration(k).count) << k;
    load.context_tokens += more.context_tokens;
    load.attention_pairs += more.attention_pairs;
    load.unread_tokens += more.unread_tokens;
    load.ranked_tokens += more.ranked_tokens;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PartlyReadSteps,
                         testing::Values("affine:base_ns=5,context_ns=50", "roofline:overhead_ns=0",
                                         "distserve", "composed", "composed:engine=sglang"),
                         [](const auto& each) {
                           std::string name = each.param.substr(0, each.param.find(':'));
                           return name + std::to_string(each.index);
                         });

/// Metadata is read at the bandwidth that kernels reach.
TEST(PartlyRead, MetadataIsReadOnce) {
  const model::ModelShape& shape = model_of("llama-3-8b");
  const PartlyRead without = partly_read(shape, 1, 0), with = partly_read(shape, 1, kMetadataBytes);
  const std::string roofline = "roofline:flops=1e18,bandwidth=2e12,memory_efficiency=0.5";
  const core::StepLoad load = decoding(kTokens, kFetched);
  const double more = static_cast<double>(make(roofline, shape, &with)->step(load).count -
                                          make(roofline, shape, &without)->step(load).count);
  EXPECT_NEAR(more / 1024, static_cast<double>(kRequests * kTokens * kMetadataBytes) / 1e12 * 1e9,
              0.001 * more / 1024);
  const double affine = static_cast<double>(make("affine:context_ns=64", shape, &with)->step(load).count -
                                            make("affine:context_ns=64", shape, &without)->step(load).count);
  // A token of this model takes 131,072 bytes: metadata is a sixteenth of them.
  EXPECT_EQ(affine, 1024.0 * kRequests * kTokens * 4);
}

/// Layers of different width count by their bytes, not by their number.
TEST(PartlyRead, LayersWeighByTheirBytes) {
  model::ModelShape shape = model_of("llama-3-8b");
  shape.runs = {{1, {.heads = 8, .key_size = 128, .value_size = 128}},
                {3, {.heads = 2, .key_size = 128, .value_size = 128}}};
  shape.layers = 4;
  const PartlyRead wide{{1, 0, 0, 0}, 0}, narrow{{0, 1, 1, 1}, 0};
  EXPECT_DOUBLE_EQ(wide.of_bytes(shape), 8.0 / 14);
  EXPECT_DOUBLE_EQ(narrow.of_bytes(shape), 6.0 / 14);
  EXPECT_DOUBLE_EQ(narrow.of_layers(), 0.75);
}

}  // namespace
}  // namespace kvplan::latency
