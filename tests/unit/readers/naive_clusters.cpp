// Models of the methods that cluster keys.
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "tests/unit/readers/naive_layer.h"

namespace kvplan::readers::testing {
namespace {

double squared_distance(const Vector& a, const Vector& b) {
  double out = 0;
  for (std::size_t c = 0; c < a.size(); ++c) out += (a[c] - b[c]) * (a[c] - b[c]);
  return out;
}

/// k-means++ and Lloyd's rounds: the centres, and in `before` the centre of each point.
std::vector<Vector> centres_of(const std::vector<Vector>& points, std::int64_t count, std::int64_t rounds,
                               Random draws, std::map<std::size_t, std::size_t>& before) {
  std::vector<std::size_t> chosen;
  while (chosen.size() < std::min(points.size(), static_cast<std::size_t>(count))) {
    const double u = draws.unit();
    Vector distance;
    for (const Vector& point : points) {
      double least = std::numeric_limits<double>::infinity();
      for (const std::size_t k : chosen) least = std::min(least, squared_distance(point, points[k]));
      distance.push_back(least);
    }
    if (chosen.empty()) {
      chosen.push_back(static_cast<std::size_t>(u * static_cast<double>(points.size())));
      continue;
    }
    const double all = std::accumulate(distance.begin(), distance.end(), 0.0);
    std::size_t next = 0;
    if (all == 0) {
      while (std::find(chosen.begin(), chosen.end(), next) != chosen.end()) ++next;
    } else {
      double sum = 0;
      for (next = 0; next + 1 < points.size(); ++next)
        if ((sum += distance[next]) > u * all) break;
    }
    chosen.push_back(next);
  }
  std::vector<Vector> centres;
  for (const std::size_t k : chosen) centres.push_back(points[k]);
  before.clear();
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::map<std::size_t, std::size_t> label;
    for (std::size_t i = 0; i < points.size(); ++i) {
      Vector distance;
      for (const Vector& centre : centres) distance.push_back(squared_distance(points[i], centre));
      label[i] =
          static_cast<std::size_t>(std::min_element(distance.begin(), distance.end()) - distance.begin());
    }
    if (label == before) break;
    before = label;
    for (std::size_t k = 0; k < centres.size(); ++k) {
      Vector sum(centres[k].size());
      int size = 0;
      for (std::size_t i = 0; i < points.size(); ++i) {
        if (label[i] != k) continue;
        ++size;
        for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += points[i][c];
      }
      for (std::size_t c = 0; c < sum.size() && size > 0; ++c) centres[k][c] = sum[c] / size;
    }
  }
  return centres;
}

struct NaiveCluster {
  Vector centre;
  std::vector<std::int32_t> members;
};

/// Clusters of tokens [begin, end) of a head, by direction.
void add_clusters(const NaiveLayer& at, std::int32_t head, std::int64_t begin, std::int64_t end,
                  std::int64_t count, std::vector<NaiveCluster>& to) {
  if (begin >= end) return;
  std::vector<Vector> points;
  for (std::int64_t i = begin; i < end; ++i) points.push_back(at.key(head, i));
  const Random draws(static_cast<std::uint64_t>(at.choice.integer("seed")),
                     "clusterkv layer " + std::to_string(at.number) + " head " + std::to_string(head) +
                         " token " + std::to_string(begin));
  std::vector<NaiveCluster> found;
  std::map<std::size_t, std::size_t> label;
  for (Vector& centre : centres_of(points, count, at.choice.integer("iterations"), draws, label))
    found.push_back({.centre = std::move(centre), .members = {}});
  for (std::int64_t i = begin; i < end; ++i) {
    const Vector key = at.key(head, i);
    Vector cosine;
    for (const NaiveCluster& each : found) {
      const double length = std::sqrt(product(each.centre, each.centre));
      cosine.push_back(length == 0 ? 0 : product(key, each.centre) / length);
    }
    found[static_cast<std::size_t>(std::max_element(cosine.begin(), cosine.end()) - cosine.begin())]
        .members.push_back(static_cast<std::int32_t>(i));
  }
  to.insert(to.end(), found.begin(), found.end());
}

}  // namespace

NaiveRead naive_clusterkv(const NaiveLayer& at) {
  NaiveRead out;
  const std::int64_t sinks = std::min(at.choice.integer("sinks"), at.prompt);
  const std::int64_t window = at.choice.integer("window");
  std::int64_t count = at.choice.integer("clusters");
  if (count == 0) count = std::max<std::int64_t>(1, at.prompt / 80);
  std::int64_t end = at.prompt;
  std::vector<std::vector<NaiveCluster>> clusters(static_cast<std::size_t>(at.in.kv_heads));
  for (std::int32_t h = 0; h < at.in.kv_heads; ++h)
    add_clusters(at, h, sinks, at.prompt, count, clusters[static_cast<std::size_t>(h)]);
  for (; window > 0 && end + window <= at.t; end += window)
    for (std::int32_t h = 0; h < at.in.kv_heads; ++h)
      add_clusters(at, h, end, end + window, at.choice.integer("window_clusters"),
                   clusters[static_cast<std::size_t>(h)]);
  std::vector<std::int64_t> tables;
  for (const auto& of_head : clusters)
    tables.push_back(static_cast<std::int64_t>(of_head.size()) * (at.in.key_size * kElementBytes + 8));
  for (const std::int64_t bytes : tables) out.kept_metadata.push_back(bytes + 4 * (end - sinks));
  std::set<std::int32_t> listed;
  at.add_seen(sinks, end, listed);
  const std::int64_t wanted = at.choice.integer("budget") - sinks;
  if (static_cast<std::int64_t>(listed.size()) <= wanted) {
    out.sets = at.everything();
    out.read_metadata.assign(tables.size(), 0);
    return out;
  }
  out.read_metadata = tables;
  out.listed = listed;
  std::vector<Vector> scores;
  for (std::int32_t q = 0; q < at.in.query_heads; ++q) {
    scores.emplace_back();
    for (const NaiveCluster& each : clusters[static_cast<std::size_t>(q / at.group())])
      scores.back().push_back(product(at.query(q, at.t), each.centre));
  }
  for (std::int32_t q = 0; q < at.in.query_heads; ++q) {
    Vector score = shared(at, q, scores);
    std::set<std::int32_t> set;
    while (static_cast<std::int64_t>(set.size()) < wanted) {
      const auto best =
          static_cast<std::size_t>(std::max_element(score.begin(), score.end()) - score.begin());
      score[best] = -std::numeric_limits<double>::infinity();
      for (const std::int32_t i : clusters[static_cast<std::size_t>(q / at.group())][best].members)
        if (listed.count(i) == 1 && static_cast<std::int64_t>(set.size()) < wanted) set.insert(i);
    }
    at.add_seen(0, sinks, set);
    at.add_seen(end, at.t + 1, set);
    out.sets.push_back(set);
  }
  return out;
}

NaiveRead naive_retro_infer(const NaiveLayer& at) {
  NaiveRead out;
  out.sets = at.everything();
  out.estimated.resize(out.sets.size());
  const Choice& choice = at.choice;
  const std::int64_t sinks = std::min(choice.integer("sinks"), at.prompt);
  const std::int64_t of_each = choice.integer("cluster_tokens");
  const std::int64_t recent = choice.integer("recent");
  const std::int64_t update = choice.integer("update");
  // Ranges that are clustered at step t, with their numbers of clusters.
  std::vector<std::array<std::int64_t, 3>> ranges;
  std::int64_t end = sinks;
  if (at.prompt - recent > end) {
    ranges.push_back({end, at.prompt - recent, std::max<std::int64_t>(1, at.prompt / of_each)});
    end = at.prompt - recent;
  }
  for (std::int64_t now = at.prompt; now <= at.t; ++now)
    if (now - end == recent + update) {
      ranges.push_back({end, end + update, std::max<std::int64_t>(1, update / of_each)});
      end += update;
    }
  for (std::int32_t h = 0; h < at.in.kv_heads; ++h) {
    std::int64_t centres = 0;
    std::vector<NaiveCluster> clusters;
    for (const auto& [from, to, count] : ranges) {
      std::vector<Vector> points;
      for (std::int64_t i = from; i < to; ++i) points.push_back(at.key(h, i));
      const Random draws(static_cast<std::uint64_t>(choice.integer("seed")),
                         "retro-infer layer " + std::to_string(at.number) + " head " + std::to_string(h) +
                             " token " + std::to_string(from));
      std::map<std::size_t, std::size_t> label;
      const auto found = centres_of(points, count, choice.integer("iterations"), draws, label);
      centres += static_cast<std::int64_t>(found.size());
      for (std::size_t k = 0; k < found.size(); ++k) {
        NaiveCluster one{.centre = found[k], .members = {}};
        for (const auto& [point, of] : label)
          if (of == k)
            one.members.push_back(static_cast<std::int32_t>(from) + static_cast<std::int32_t>(point));
        if (!one.members.empty()) clusters.push_back(std::move(one));
      }
    }
    const std::int64_t bytes = kElementBytes;
    out.kept_metadata.push_back(centres * bytes * (at.in.key_size + at.in.value_size + 1));
    auto wanted = static_cast<std::int64_t>(choice.decimal("retrieve") * static_cast<double>(centres));
    if (choice.integer("budget") > 0) wanted = choice.integer("budget") / of_each;
    wanted = std::max<std::int64_t>(1, wanted);
    if (static_cast<std::int64_t>(clusters.size()) <= wanted) {
      out.read_metadata.push_back(0);
      continue;
    }
    const auto estimated =
        std::min(static_cast<std::int64_t>(choice.decimal("estimate") * static_cast<double>(centres)),
                 static_cast<std::int64_t>(clusters.size()) - wanted);
    out.read_metadata.push_back(bytes * (centres * at.in.key_size + estimated * (at.in.value_size + 1)));
    std::vector<double> score(clusters.size());
    for (std::int32_t q = h * at.group(); q < (h + 1) * at.group(); ++q) {
      Vector weight;
      for (const NaiveCluster& each : clusters) {
        double logit = product(at.query(q, at.t), each.centre) * at.in.scale;
        if (at.in.soft_cap > 0) logit = at.in.soft_cap * std::tanh(logit / at.in.soft_cap);
        weight.push_back(logit);
      }
      const double most = *std::max_element(weight.begin(), weight.end());
      for (double& w : weight) w = std::exp(w - most);
      const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
      for (std::size_t k = 0; k < score.size(); ++k) score[k] += weight[k] / sum;
    }
    std::vector<double> falling = score;
    std::sort(falling.rbegin(), falling.rend());
    for (const std::int64_t end_of_choice : {wanted, wanted + estimated})
      if (const auto next = static_cast<std::size_t>(end_of_choice); next < falling.size())
        out.by_a_hair = out.by_a_hair || falling[next - 1] - falling[next] < 1e-12;
    std::set<std::int32_t> read;
    std::vector<std::set<std::int32_t>> guessed;
    at.add_seen(0, sinks, read);
    at.add_seen(end, at.t + 1, read);
    for (std::int64_t i = 0; i < wanted + estimated; ++i) {
      const auto best = std::max_element(score.begin(), score.end());
      *best = -1;
      const auto& members = clusters[static_cast<std::size_t>(best - score.begin())].members;
      if (i < wanted) {
        read.insert(members.begin(), members.end());
      } else {
        guessed.emplace_back(members.begin(), members.end());
      }
    }
    for (std::int32_t q = h * at.group(); q < (h + 1) * at.group(); ++q) {
      out.sets[static_cast<std::size_t>(q)] = read;
      out.estimated[static_cast<std::size_t>(q)] = guessed;
    }
  }
  return out;
}

}  // namespace kvplan::readers::testing
