// Groups of layers that share a block, compared with vLLM's rule worked out by hand.
#include "simulator/model/layer_groups.h"

#include <gtest/gtest.h>

#include "simulator/modelfile/catalogue.h"

namespace kvplan::model {
namespace {

LayerCache seeing(std::int64_t window) {
  return {.heads = 8, .key_size = 64, .value_size = 64, .window = window};
}

LayerGroups groups_of(const std::vector<LayerRun>& runs) {
  ModelShape shape{.name = "made up", .source = "", .runs = runs};
  for (const LayerRun& run : runs) shape.layers += run.layers;
  return layer_groups(shape);
}

/// 10 layers that see everything, and 52 with a window of 1024 in six groups, each with the layers i, i + 6, ...
TEST(LayerGroups, Gemma) {
  const LayerGroups groups = layer_groups(*find_model("gemma-3-27b").value());
  EXPECT_EQ(groups.size, 10);
  std::vector<std::int64_t> windows, full;
  for (const LayerGroup& group : groups.groups) (group.window > 0 ? windows : full).push_back(group.layers);
  EXPECT_EQ(full, (std::vector<std::int64_t>{10}));
  EXPECT_EQ(windows, (std::vector<std::int64_t>{9, 9, 9, 9, 8, 8}));
  EXPECT_EQ(windows_of(groups.groups), (std::vector<WindowLayers>{{1024, 52}}));
  EXPECT_EQ(kinds_of(groups.groups), (std::vector<LayerKind>{{1024, 6, 52}, {0, 1, 10}}));
  EXPECT_EQ(windows_of(*find_model("gemma-3-27b").value()), (std::vector<WindowLayers>{{1024, 52}}));
}

TEST(LayerGroups, OneKindIsOneGroup) {
  EXPECT_EQ(layer_groups(*find_model("llama-3-8b").value()).groups, (std::vector<LayerGroup>{{32, 0}}));
  EXPECT_EQ(layer_groups(*find_model("mistral-7b").value()).groups, (std::vector<LayerGroup>{{32, 4096}}));
  EXPECT_EQ(groups_of({{7, seeing(128)}}).size, 7);
}

/// The example in a comment of vLLM (kv_cache_utils.py): three groups of two layers; every stage has one layer of each.
TEST(LayerGroups, StagesHaveAPartOfEach) {
  const std::vector<LayerRun> runs{{1, seeing(0)}, {2, seeing(64)}, {1, seeing(0)}, {2, seeing(64)}};
  const ModelShape shape{.name = "made up", .source = "", .layers = 6, .runs = runs};
  for (const std::int64_t first : {0, 3}) {
    const LayerGroups groups = layer_groups(shape, first, 3);
    EXPECT_EQ(groups.size, 1);
    EXPECT_EQ(groups.groups, (std::vector<LayerGroup>{{1, 0}, {1, 64}, {1, 64}}));
  }
  // A stage without a layer of some group still has blocks for this group.
  EXPECT_EQ(layer_groups(shape, 1, 2).groups, (std::vector<LayerGroup>{{0, 0}, {1, 64}, {1, 64}}));
  EXPECT_EQ(layer_groups(shape, 5, 1).groups, (std::vector<LayerGroup>{{0, 0}, {0, 64}, {1, 64}}));
  // Gemma's halves: the 26 layers with a window in each are divided among six groups, the second half from group 3 on.
  const ModelShape& gemma = *find_model("gemma-3-27b").value();
  EXPECT_EQ(
      layer_groups(gemma, 0, 31).groups,
      (std::vector<LayerGroup>{{5, 1024}, {5, 1024}, {4, 1024}, {4, 1024}, {4, 1024}, {4, 1024}, {5, 0}}));
  EXPECT_EQ(
      layer_groups(gemma, 31, 31).groups,
      (std::vector<LayerGroup>{{4, 1024}, {4, 1024}, {5, 1024}, {5, 1024}, {4, 1024}, {4, 1024}, {5, 0}}));
  EXPECT_EQ(layer_groups(gemma, 31, 31).size, 5);
}

/// Every other layer sees a window of 128, as in gpt-oss.
TEST(LayerGroups, HalfAndHalf) {
  std::vector<LayerRun> runs;
  for (int i = 0; i < 12; ++i) {
    runs.push_back({1, seeing(128)});
    runs.push_back({1, seeing(0)});
  }
  const LayerGroups groups = groups_of(runs);
  EXPECT_EQ(groups.size, 12);
  EXPECT_EQ(groups.groups, (std::vector<LayerGroup>{{12, 128}, {12, 0}}));
  EXPECT_EQ(layer_groups(*find_model("gpt-oss-20b").value()).groups, groups.groups);
}

/// If the larger number is less than 1.25 times the smaller, it is the group size; from 1.25 on it is not.
TEST(LayerGroups, ALittleMoreIsNoGroupOfItsOwn) {
  EXPECT_EQ(groups_of({{12, seeing(0)}, {14, seeing(256)}}).groups,
            (std::vector<LayerGroup>{{12, 0}, {14, 256}}));
  EXPECT_EQ(groups_of({{12, seeing(0)}, {14, seeing(256)}}).size, 14);
  EXPECT_EQ(groups_of({{12, seeing(0)}, {15, seeing(256)}}).groups,
            (std::vector<LayerGroup>{{12, 0}, {8, 256}, {7, 256}}));
  EXPECT_EQ(groups_of({{12, seeing(0)}, {15, seeing(256)}}).size, 12);
}

TEST(LayerGroups, SeveralWindows) {
  const LayerGroups groups = groups_of({{3, seeing(512)}, {2, seeing(0)}, {2, seeing(64)}, {1, seeing(512)}});
  EXPECT_EQ(groups.size, 2);
  EXPECT_EQ(groups.groups, (std::vector<LayerGroup>{{2, 512}, {2, 512}, {2, 0}, {2, 64}}));
  EXPECT_EQ(windows_of(groups.groups), (std::vector<WindowLayers>{{64, 2}, {512, 4}}));
}

/// 16 layers with attention and 48 with states: the smaller kind decides, so three groups hold states. Both kinds in
/// each layer: a group of each. Seven and twenty layers: groups of 7, 7 and 6.
TEST(LayerGroups, StatesHaveGroupsOfTheirOwn) {
  const LayerGroups qwen = layer_groups(*find_model("qwen3.5-27b").value());
  EXPECT_EQ(qwen.size, 16);
  EXPECT_EQ(qwen.groups, (std::vector<LayerGroup>{{16, 0}}));
  EXPECT_EQ(qwen.states, (StateBlocks{.blocks = 3, .layers = 48}));
  EXPECT_EQ(kinds_of(qwen.groups, qwen.states), (std::vector<LayerKind>{{0, 1, 16}, {0, 3, 48, true}}));
  LayerCache both = seeing(0);
  both.state_bytes = 1000;
  const LayerGroups falcon = groups_of({{44, both}});
  EXPECT_EQ(falcon.size, 44);
  EXPECT_EQ(falcon.groups, (std::vector<LayerGroup>{{44, 0}}));
  EXPECT_EQ(falcon.states, (StateBlocks{.blocks = 1, .layers = 44}));
  const LayerCache state{.kind = CacheKind::kNone, .state_bytes = 1000};
  const LayerCache nothing{.kind = CacheKind::kNone};
  std::vector<LayerRun> runs;
  for (int i = 0; i < 7; ++i) runs.insert(runs.end(), {{i < 6 ? 3 : 2, state}, {1, seeing(0)}, {2, nothing}});
  const LayerGroups kimi = groups_of(runs);
  EXPECT_EQ(kimi.size, 7);
  EXPECT_EQ(kimi.groups, (std::vector<LayerGroup>{{7, 0}}));
  EXPECT_EQ(kimi.states, (StateBlocks{.blocks = 3, .layers = 20}));
  // Its first seven layers: states 0 to 3 are in groups 0, 1, 2 and 0.
  ModelShape shape{.name = "made up", .source = "", .runs = runs};
  for (const LayerRun& run : runs) shape.layers += run.layers;
  const LayerGroups stage = layer_groups(shape, 0, 7);
  EXPECT_EQ(stage.size, 2);
  EXPECT_EQ(stage.groups, (std::vector<LayerGroup>{{1, 0}}));
  EXPECT_EQ(stage.states, (StateBlocks{.blocks = 3, .layers = 4}));
}

}  // namespace
}  // namespace kvplan::model
