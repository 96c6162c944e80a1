// The search on invented verdicts: as good as trying everything if more replicas are never worse, and with a warning if
// they are.
#include "simulator/planner/search.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

namespace kvplan::planner {
namespace {

/// Shapes with a number of replicas from which targets are met, and one up to which they are overloaded.
struct World {
  std::vector<SearchShape> shapes;
  std::vector<std::int64_t> enough, overloaded;
  std::vector<double> price;       // of a node, by group
  std::vector<std::int64_t> node;  // GPUs of a node, by group
  std::int64_t most_gpus{0};
  std::set<std::pair<std::size_t, std::int64_t>> exceptions;  // the verdict is the other one

  [[nodiscard]] Verdict verdict(std::size_t shape, std::int64_t replicas) const {
    Verdict out;
    out.ran = true;
    out.meets = (replicas >= enough[shape]) != exceptions.contains({shape, replicas});
    out.overload = !out.meets && replicas <= overloaded[shape];
    out.tightness = static_cast<double>(enough[shape]) / static_cast<double>(replicas);
    return out;
  }
  [[nodiscard]] double cost(std::size_t group, std::int64_t gpus) const {
    return price[group] * static_cast<double>((gpus + node[group] - 1) / node[group]);
  }
  [[nodiscard]] SearchRequest request(std::int64_t* runs, bool slices = false) const {
    SearchRequest out;
    out.shapes = shapes;
    out.most_gpus = most_gpus;
    out.most_cost = std::numeric_limits<double>::infinity();
    out.cost = [this](std::size_t group, std::int64_t gpus) { return cost(group, gpus); };
    out.slices = slices;
    out.run = [this, runs](const std::vector<Trial>& trials) -> Result<std::vector<Verdict>> {
      std::vector<Verdict> verdicts;
      for (const Trial& trial : trials) {
        EXPECT_GE(trial.replicas, 1);
        EXPECT_LE(trial.replicas * shapes[trial.shape].gpus_of_replica, most_gpus);
        EXPECT_FALSE(trial.why.empty());
        *runs += trial.slice ? 0 : 1;
        // A slice needs a few more replicas than the whole trace.
        verdicts.push_back(verdict(
            trial.shape, trial.slice ? std::max<std::int64_t>(1, trial.replicas - 2) : trial.replicas));
      }
      return verdicts;
    };
    return out;
  }
  /// The best by trying every case of a group.
  [[nodiscard]] std::optional<Found> exhaustive(std::size_t group) const {
    std::optional<Found> best;
    for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
      if (shapes[shape].group != group) continue;
      for (std::int64_t n = 1; n * shapes[shape].gpus_of_replica <= most_gpus; ++n) {
        const Verdict each = verdict(shape, n);
        const std::int64_t gpus = n * shapes[shape].gpus_of_replica;
        const Found found{shape, n, gpus, cost(group, gpus), each.tightness};
        if (each.meets && (!best || better(found, *best))) best = found;
      }
    }
    return best;
  }
};

World random_world(std::mt19937& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  World world;
  const std::int64_t groups = draw(1, 4);
  for (std::int64_t g = 0; g < groups; ++g) {
    world.price.push_back(static_cast<double>(draw(1, 30)));
    world.node.push_back(std::int64_t{1} << draw(0, 3));
    for (std::int64_t gpus = 1; gpus <= 8; gpus *= 2) {
      world.shapes.push_back({static_cast<std::size_t>(g), gpus});
      world.enough.push_back(draw(1, 80) / gpus + 1);
      world.overloaded.push_back(world.enough.back() * 2 / 3);
    }
  }
  world.most_gpus = draw(16, 200);
  return world;
}

void expect_same(const std::optional<Found>& found, const std::optional<Found>& wanted) {
  ASSERT_EQ(found.has_value(), wanted.has_value());
  if (!found) return;
  EXPECT_EQ(found->shape, wanted->shape);
  EXPECT_EQ(found->replicas, wanted->replicas);
  EXPECT_EQ(found->cost, wanted->cost);
}

TEST(PlanSearch, IsAsGoodAsTryingEverything) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const World world = random_world(random);
    std::int64_t runs = 0, all = 0;
    const SearchResult result = search(world.request(&runs));
    EXPECT_FALSE(result.error);
    EXPECT_TRUE(result.contradictions.empty());
    for (std::size_t group = 0; group < world.price.size(); ++group)
      expect_same(result.of_group[group], world.exhaustive(group));
    for (const SearchShape& shape : world.shapes) all += world.most_gpus / shape.gpus_of_replica;
    EXPECT_LE(runs, all);
    EXPECT_LE(runs, std::ssize(world.shapes) * 16 + std::ssize(world.price) * (kNeighbours + 1));
  }
}

TEST(PlanSearch, SlicesSaveRunsAndDoNotChangeTheReplicasOfTheAnswer) {
  std::mt19937 random(2);
  std::int64_t with = 0, without = 0;
  for (int i = 0; i < 200; ++i) {
    const World world = random_world(random);
    const SearchResult whole = search(world.request(&without));
    const SearchResult sliced = search(world.request(&with, true));
    for (std::size_t group = 0; group < world.price.size(); ++group) {
      if (!sliced.of_group[group]) continue;
      const Found& found = *sliced.of_group[group];
      EXPECT_EQ(found.replicas, world.enough[found.shape]);
      EXPECT_LE(whole.of_group[group]->cost, found.cost);
    }
  }
  EXPECT_LT(with, without);
}

TEST(PlanSearch, ContradictionsAreNamedAndTheSmallerCountIsTaken) {
  World world;
  world.shapes = {{0, 1}};
  world.price = {1};
  world.node = {1};
  world.enough = {12};
  world.overloaded = {6};
  world.most_gpus = 64;
  world.exceptions = {{0, 9}};  // meets the targets below those that miss them
  std::int64_t runs = 0;
  const SearchResult result = search(world.request(&runs));
  ASSERT_TRUE(result.best());
  EXPECT_EQ(result.best()->replicas, 9);
  ASSERT_FALSE(result.contradictions.empty());
  EXPECT_EQ(result.contradictions.front().fewer, 9);
  EXPECT_EQ(result.contradictions.front().more, 10);
}

TEST(PlanSearch, OneMoreThatMissesIsNamed) {
  World world;
  world.shapes = {{0, 1}};
  world.price = {1};
  world.node = {1};
  world.enough = {5};
  world.overloaded = {4};
  world.most_gpus = 64;
  world.exceptions = {{0, 6}};
  std::int64_t runs = 0;
  const SearchResult result = search(world.request(&runs));
  ASSERT_TRUE(result.best());
  EXPECT_EQ(result.best()->replicas, 5);
  ASSERT_EQ(result.contradictions.size(), 1U);
  EXPECT_EQ(result.contradictions.front().more, 6);
}

TEST(PlanSearch, ShapesThatCannotWinByPriceTakeOneRun) {
  World world;
  world.shapes = {{0, 1}, {0, 4}};
  world.price = {1};
  world.node = {1};
  world.enough = {3, 9};  // 3 GPUs, or 36
  world.overloaded = {2, 8};
  world.most_gpus = 200;
  std::int64_t runs = 0;
  const SearchResult result = search(world.request(&runs));
  EXPECT_EQ(result.best()->gpus, 3);
  EXPECT_TRUE(result.tried[1].empty()) << "3 GPUs are less than one replica";
  world.enough = {30, 9};
  world.overloaded = {29, 8};
  const SearchResult more = search(world.request(&runs));
  EXPECT_EQ(more.tried[1].size(), 1U);
  EXPECT_EQ(more.best()->gpus, 30);
}

TEST(PlanSearch, AnErrorKeepsWhatWasFound) {
  World world;
  world.shapes = {{0, 1}};
  world.price = {1};
  world.node = {1};
  world.enough = {20};
  world.overloaded = {2};
  world.most_gpus = 200;
  std::int64_t runs = 0;
  SearchRequest request = world.request(&runs);
  request.run = [inner = request.run,
                 &runs](const std::vector<Trial>& trials) -> Result<std::vector<Verdict>> {
    if (runs >= 7) return interrupted_error();
    return inner(trials);
  };
  const SearchResult result = search(request);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->kind, ErrorKind::kInterrupted);
  ASSERT_TRUE(result.best());
  EXPECT_EQ(result.best()->replicas, 24) << "1, 2, 4, 8, 16, 32 and 24 were tried";
}

}  // namespace
}  // namespace kvplan::planner
