// Frontiers with a budget by layer.
#include <gtest/gtest.h>

#include "simulator/frontier/frontier.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/tensor_input.h"
#include "tests/unit/frontier/frontier_cases.h"

namespace kvplan::frontier {
namespace {

using attention::Recording;

/// The grants of a scheme without scores; they are the same for any sequence.
Result<attention::Grants> grants(const Choice& scheme, const Recording& recording, std::int32_t /*sequence*/,
                                 std::int64_t prompt) {
  const auto retained = attention::budget_of(scheme).retained(
      {.choice = scheme, .layers = recording.info().layers, .prompt = prompt});
  KVPLAN_CHECK(retained.ok());
  return attention::grants_of(retained.value());
}

/// One sequence with `layers` layers of the same sizes.
std::shared_ptr<const Recording> layers_of(Random& random, int layers, int tokens, std::int64_t window = 0) {
  std::vector<attention::LayerTensors> out{attention::random_tensors(random, 2, 2, tokens, false)};
  while (std::ssize(out) < layers) {
    auto next = attention::random_tensors(random, 2, 2, tokens, false);
    if (next.key_size == out[0].key_size && next.value_size == out[0].value_size)
      out.push_back(std::move(next));
  }
  out[0].window = window;
  return std::make_shared<attention::RecordedTensors>(std::move(out));
}

/// The first layer has a window, also in the recording's description.
class FirstSeesAWindow final : public Recording {
 public:
  FirstSeesAWindow(std::shared_ptr<const Recording> whole, std::int64_t window)
      : whole_(std::move(whole)), info_(whole_->info()) {
    std::vector<attention::LayerInfo> layers;
    for (std::int32_t l = 0; l < info_.layers; ++l) layers.push_back(info_.layer(l));
    layers[0].window = window;
    info_.recorded_layers = std::move(layers);
  }
  [[nodiscard]] const attention::RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<attention::LayerRows>> open(std::int32_t sequence,
                                                                   std::int32_t layer) const override {
    return whole_->open(sequence, layer);
  }
  [[nodiscard]] Result<attention::LayerTensors> tensors(std::int32_t sequence,
                                                        std::int32_t layer) const override {
    return whole_->tensors(sequence, layer);
  }

 private:
  std::shared_ptr<const Recording> whole_;
  attention::RecordingInfo info_;
};

void expect_equal(const Point& a, const Point& b) {
  EXPECT_EQ(a.bytes_per_token, b.bytes_per_token);
  EXPECT_EQ(a.metadata_bytes_per_token, b.metadata_bytes_per_token);
  EXPECT_EQ(a.mass_mean, b.mass_mean);
  EXPECT_EQ(a.error_mean, b.error_mean);
  EXPECT_EQ(a.error_p95, b.error_p95);
  EXPECT_EQ(a.oracle_mass_mean, b.oracle_mass_mean);
}

TEST(Frontier, ASchemeThatIsUniformIsItsNumber) {
  Random random(4, "uniform");
  const std::vector<std::int64_t> budgets{8, 12};
  const auto schemes = schemes_of("uniform", budgets).value();
  Request request{
      .inputs = {{"one", layers_of(random, 3, 30)}},
      .lanes = lanes_of("h2o;window;snapkv:window=3;streaming-llm;full", budgets, schemes).value(),
      .storages = storages_of("full;int-token").value(),
      .grants = grants,
      .prompt = 16};
  const auto ran = run(request, go_on);
  ASSERT_TRUE(ran.ok()) << ran.error().to_string();
  const auto& points = ran.value().points;
  ASSERT_EQ(points.size(), (4U * 4 + 1) * 2) << "a policy without a budget has no schemes";
  for (std::size_t policy = 0; policy < 4; ++policy)
    for (std::size_t i = 0; i < 4; ++i) {
      SCOPED_TRACE(request.lanes[policy * 4].text);
      ASSERT_TRUE(request.lanes[policy * 4 + 2].scheme.has_value());
      expect_equal(points[(policy * 4) * 2 + i], points[(policy * 4 + 2) * 2 + i]);
    }
}

/// Each layer separately, with the pyramid's number: bytes add up, means are over the samples of all layers.
TEST(Frontier, ASchemeGivesEachLayerItsOwn) {
  Random random(5, "pyramid");
  constexpr std::int64_t kPrompt = 20;
  const std::vector<std::int64_t> budgets{10};
  const std::shared_ptr<const Recording> recording = layers_of(random, 3, 34);
  const auto schemes = schemes_of("pyramidkv:window=2,beta=4", budgets).value();
  Request request{.inputs = {{"one", recording}},
                  .lanes = lanes_of("h2o;streaming-llm", {}, schemes).value(),
                  .storages = storages_of("full;kivi:group=1,residual=4").value(),
                  .grants = grants,
                  .prompt = kPrompt};
  ASSERT_EQ(request.lanes.size(), 2U);
  EXPECT_EQ(request.lanes[0].budget, 10);
  const auto ran = run(request, go_on);
  ASSERT_TRUE(ran.ok()) << ran.error().to_string();
  const attention::Grants granted = grants(schemes.front().choice, *recording, 0, kPrompt).value();
  ASSERT_GT(granted.tokens[0][0], granted.tokens[2][0]);
  std::vector<double> bytes(4), mass(4), error(4);
  for (std::int32_t layer = 0; layer < 3; ++layer) {
    Request alone = request;
    alone.layer = layer;
    alone.lanes = lanes_of("h2o;streaming-llm", granted.tokens[static_cast<std::size_t>(layer)]).value();
    const auto of_layer = run(alone, go_on).value();
    for (std::size_t p = 0; p < 4; ++p) {
      bytes[p] += of_layer.points[p].bytes_per_token;
      mass[p] += *of_layer.points[p].mass_mean / 3;
      error[p] += *of_layer.points[p].error_mean / 3;
    }
  }
  for (std::size_t p = 0; p < 4; ++p) {
    EXPECT_NEAR(ran.value().points[p].bytes_per_token, bytes[p], 1e-9);
    EXPECT_NEAR(*ran.value().points[p].mass_mean, mass[p], 1e-12);
    EXPECT_NEAR(*ran.value().points[p].error_mean, error[p], 1e-12);
  }
}

TEST(Frontier, SchemesAreReadAndRefused) {
  const std::vector<std::int64_t> budgets{8, 9};
  EXPECT_EQ(schemes_of("pyramidkv;uniform:capacity=4", budgets).value().size(), 3U);
  const auto error = [&](const char* text, std::span<const std::int64_t> sizes) {
    const auto found = schemes_of(text, sizes);
    return found.ok() ? std::string() : found.error().to_string();
  };
  EXPECT_NE(error("pyramidkv", {}).find("--budget: pyramidkv:capacity"), std::string::npos)
      << error("pyramidkv", {});
  EXPECT_NE(error("nothing", budgets).find("--budget: "), std::string::npos);
  EXPECT_NE(error("uniform;uniform", budgets).find("given twice"), std::string::npos);
  const auto schemes = schemes_of("uniform", budgets).value();
  const auto lanes = lanes_of("h2o:hh=4,recent=4", {}, schemes);
  ASSERT_FALSE(lanes.ok());
  EXPECT_NE(lanes.error().to_string().find("sets the number of tokens"), std::string::npos);
  EXPECT_NE(lanes_of("streaming-llm:sink=9", {}, schemes).error().to_string().find("--budgets: "),
            std::string::npos);
  // Of 20 tokens the first layer retains 20 and the second 4.
  const auto pyramid = schemes_of("pyramidkv:capacity=12,window=2,beta=10", {}).value();
  Random random(6);
  Request request{.inputs = {{"one", layers_of(random, 2, 30)}},
                  .lanes = lanes_of("streaming-llm:sink=9", {}, pyramid).value(),
                  .storages = full(),
                  .grants = grants,
                  .prompt = 20};
  const auto few = run(request, go_on);
  ASSERT_FALSE(few.ok());
  EXPECT_NE(few.error().to_string().find("layer 1: expected at least 9 tokens"), std::string::npos)
      << few.error().to_string();
}

/// The first layer keeps exactly the 6 tokens that its window shows, whatever the lane says about the other layer.
TEST(Frontier, LayersWithAWindowKeepWhatItShows) {
  Random random(7, "windows");
  constexpr std::int64_t kWindow = 6;
  const auto whole = layers_of(random, 2, 30, kWindow);
  const auto recording = std::make_shared<FirstSeesAWindow>(whole, kWindow);
  const std::vector<std::int64_t> budgets{8};
  Request request{.inputs = {{"one", recording}},
                  .lanes = lanes_of("h2o;full", budgets).value(),
                  .storages = storages_of("full;int-token:bits=4").value(),
                  .window_storage = storages_of("full").value().front(),
                  .prompt = 12};
  const auto ran = run(request, go_on);
  ASSERT_TRUE(ran.ok()) << ran.error().to_string();
  Request other = request;
  other.layer = 1;
  other.window_storage.reset();
  const auto second = run(other, go_on).value();
  Request first = request;
  first.layer = 0;
  first.window_storage.reset();
  first.lanes = lanes_of("window", std::vector<std::int64_t>{kWindow}).value();
  const Point windowed = run(first, go_on).value().points.front();
  const attention::RecordingInfo& info = recording->info();
  EXPECT_EQ(windowed.bytes_per_token,
            static_cast<double>(kWindow * 2 * (info.key_size + info.value_size) * 2) / 30);
  EXPECT_NEAR(*windowed.mass_mean, 1, 1e-12) << "all that its queries see";
  for (std::size_t p = 0; p < ran.value().points.size(); ++p) {
    const Point& point = ran.value().points[p];
    EXPECT_NEAR(point.bytes_per_token, windowed.bytes_per_token + second.points[p].bytes_per_token, 1e-12);
    EXPECT_NEAR(*point.mass_mean, (*windowed.mass_mean + *second.points[p].mass_mean) / 2, 1e-12);
    EXPECT_NEAR(*point.error_mean, (*windowed.error_mean + *second.points[p].error_mean) / 2, 1e-12);
  }
  Request none = request;
  none.inputs = {{"one", layers_of(random, 2, 30)}};
  const auto refused = run(none, go_on);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(
      refused.error().to_string().find("--window-format: expected a recording with sliding-window layers"),
      std::string::npos);
}

}  // namespace
}  // namespace kvplan::frontier
