#include "tests/unit/readers/naive.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace kvplan::readers::testing {
namespace {

using Vector = std::vector<double>;

Vector slice(const std::vector<float>& all, std::int64_t token, std::int32_t size) {
  Vector out;
  for (std::int32_t c = 0; c < size; ++c)
    out.push_back(static_cast<double>(all[static_cast<std::size_t>(token * size + c)]));
  return out;
}

double product(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

struct Layer {
  const LayerTensors& in;
  const Choice& choice;
  std::int32_t number;
  std::int64_t prompt;
  std::int64_t t;

  [[nodiscard]] std::int32_t group() const { return in.query_heads / in.kv_heads; }
  [[nodiscard]] std::int64_t first() const {
    return in.window == 0 ? 0 : std::max<std::int64_t>(0, t + 1 - in.window);
  }
  [[nodiscard]] Vector key(std::int32_t head, std::int64_t token) const {
    return slice(in.keys[static_cast<std::size_t>(head)], token, in.key_size);
  }
  [[nodiscard]] Vector query(std::int32_t query_head, std::int64_t token) const {
    return slice(in.queries[static_cast<std::size_t>(query_head)], token, in.key_size);
  }
  /// Tokens of [begin, end) that are seen.
  void add_seen(std::int64_t begin, std::int64_t end, std::set<std::int32_t>& to) const {
    for (std::int64_t i = begin; i < end; ++i)
      if (i >= first() && i <= t) to.insert(static_cast<std::int32_t>(i));
  }
  [[nodiscard]] std::vector<std::set<std::int32_t>> everything() const {
    std::set<std::int32_t> all;
    add_seen(0, t + 1, all);
    return std::vector<std::set<std::int32_t>>(static_cast<std::size_t>(in.query_heads), all);
  }
};

/// Scores by what is ranked; of several query heads as `share` says, for query head `query_head`.
Vector shared(const Layer& at, std::int32_t query_head, const std::vector<Vector>& scores) {
  const std::string& share = at.choice.text("share");
  if (share == "none") return scores[static_cast<std::size_t>(query_head)];
  const std::int32_t begin = query_head / at.group() * at.group();
  Vector out = scores[static_cast<std::size_t>(begin)];
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::int32_t q = begin + 1; q < begin + at.group(); ++q) {
      const double score = scores[static_cast<std::size_t>(q)][i];
      out[i] = share == "max" ? std::max(out[i], score) : out[i] + score;
    }
    if (share == "mean") out[i] /= at.group();
  }
  return out;
}

/// Indices from the greatest score on; of equals the newer one first.
std::vector<std::int32_t> newest_first(const Vector& scores) {
  std::vector<std::pair<double, std::int32_t>> list;
  for (std::size_t i = 0; i < scores.size(); ++i) list.emplace_back(scores[i], static_cast<std::int32_t>(i));
  std::sort(list.rbegin(), list.rend());
  std::vector<std::int32_t> out;
  for (const auto& [score, index] : list) out.push_back(index);
  return out;
}

NaiveRead quest(const Layer& at) {
  const std::int64_t page = at.choice.integer("page");
  const bool kernels = at.choice.text("form") == "kernels";
  std::int64_t budget = at.choice.integer("budget") / page;
  if (!kernels && budget < 3) budget = 3;
  NaiveRead out;
  const std::int64_t bytes = 2 * at.in.key_size * kElementBytes;
  out.kept_metadata.assign(static_cast<std::size_t>(at.in.kv_heads), (at.t / page + 1) * bytes);
  const std::int64_t first = at.first() / page;
  const std::int64_t last = at.t / page;
  if (last - first + 1 <= budget) {
    out.sets = at.everything();
    out.read_metadata.assign(static_cast<std::size_t>(at.in.kv_heads), 0);
    return out;
  }
  const std::int64_t end = kernels ? last : last + 1;  // of those that are ranked
  out.read_metadata.assign(static_cast<std::size_t>(at.in.kv_heads), (end - first) * bytes);
  std::vector<Vector> scores;
  for (std::int32_t q = 0; q < at.in.query_heads; ++q) {
    const Vector query = at.query(q, at.t);
    scores.emplace_back();
    for (std::int64_t p = first; p < end; ++p) {
      double score = 0;
      for (std::size_t c = 0; c < query.size(); ++c) {
        double most = -std::numeric_limits<double>::infinity();
        for (std::int64_t i = p * page; i < (p + 1) * page && i <= at.t; ++i)
          most = std::max(most, query[c] * at.key(q / at.group(), i)[c]);
        score += most;
      }
      scores.back().push_back(score);
    }
  }
  for (std::int32_t q = 0; q < at.in.query_heads; ++q) {
    std::vector<std::int32_t> order = newest_first(shared(at, q, scores));
    order.resize(static_cast<std::size_t>(kernels ? budget - 1 : budget));
    if (kernels) order.push_back(static_cast<std::int32_t>(last - first));
    out.sets.emplace_back();
    for (const std::int32_t p : order)
      at.add_seen((first + p) * page, (first + p + 1) * page, out.sets.back());
  }
  return out;
}

/// Eigenvectors of a symmetric matrix, of the greatest eigenvalue first: Jacobi's rotations.
std::vector<Vector> eigenvectors(std::vector<Vector> a) {
  const std::size_t n = a.size();
  std::vector<Vector> v(n, Vector(n));
  for (std::size_t i = 0; i < n; ++i) v[i][i] = 1;
  for (int sweep = 0; sweep < 100; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (std::fabs(a[p][q]) < 1e-300) continue;
        const double angle = 0.5 * std::atan2(2 * a[p][q], a[q][q] - a[p][p]);
        const double c = std::cos(angle);
        const double s = std::sin(angle);
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a[k][p];
          const double y = a[k][q];
          a[k][p] = c * x - s * y;
          a[k][q] = s * x + c * y;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a[p][k];
          const double y = a[q][k];
          a[p][k] = c * x - s * y;
          a[q][k] = s * x + c * y;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double x = v[p][k];
          const double y = v[q][k];
          v[p][k] = c * x - s * y;
          v[q][k] = s * x + c * y;
        }
      }
  std::multimap<double, Vector, std::greater<>> sorted;
  for (std::size_t i = 0; i < n; ++i) sorted.emplace(a[i][i], v[i]);
  std::vector<Vector> out;
  for (auto& [value, vector] : sorted) out.push_back(vector);
  return out;
}

std::vector<Vector> directions(const Layer& at, std::int32_t head) {
  const auto size = static_cast<std::size_t>(at.in.key_size);
  std::vector<Vector> gram(size, Vector(size));
  std::vector<Vector> all(size, Vector(size));
  std::vector<Vector> queries;
  for (std::int32_t q = head * at.group(); q < (head + 1) * at.group(); ++q)
    for (std::int64_t i = 0; i < at.prompt; ++i) queries.push_back(at.query(q, i));
  for (const Vector& x : queries)
    for (std::size_t c = 0; c < size; ++c)
      for (std::size_t d = 0; d < size; ++d) gram[c][d] += x[c] * x[d];
  for (std::size_t c = 0; c < size; ++c) all[c][c] = 1;
  if (at.choice.flag("skew")) all = eigenvectors(gram);
  Vector weight;
  for (const Vector& along : all) {
    weight.push_back(0);
    for (const Vector& x : queries) weight.back() += std::fabs(product(x, along));
  }
  std::vector<std::int32_t> order = newest_first(weight);
  const auto count = static_cast<std::size_t>(at.choice.decimal("partial") * static_cast<double>(size));
  order.resize(std::max<std::size_t>(1, count));
  std::vector<Vector> out;
  for (const std::int32_t j : order) out.push_back(all[static_cast<std::size_t>(j)]);
  return out;
}

NaiveRead infinigen(const Layer& at) {
  NaiveRead out;
  std::vector<Vector> logits;
  std::int64_t wanted = 0;
  const std::int64_t earlier = at.t - at.first();
  double most = 0;
  for (std::int32_t q = 0; q < at.in.query_heads; ++q) {
    const std::vector<Vector> along = directions(at, q / at.group());
    if (q % at.group() == 0) {
      const auto bytes = static_cast<std::int64_t>(along.size()) * kElementBytes;
      out.kept_metadata.push_back((at.t + 1) * bytes);
      out.read_metadata.push_back(earlier * bytes);
    }
    logits.emplace_back();
    for (std::int64_t i = at.first(); i < at.t; ++i) {
      double sum = 0;
      for (const Vector& x : along)
        sum += product(at.query(q, at.t), x) * product(at.key(q / at.group(), i), x);
      sum *= at.in.scale;
      if (at.in.soft_cap > 0) sum = at.in.soft_cap * std::tanh(sum / at.in.soft_cap);
      logits.back().push_back(sum);
    }
    if (earlier > 0 && (q == 0 || at.choice.text("maximum") == "own"))
      most = *std::max_element(logits.back().begin(), logits.back().end());
    for (const double logit : logits.back())
      if (logit > most - at.choice.decimal("alpha")) ++wanted;
  }
  std::int64_t count = wanted / at.in.query_heads;
  if (at.choice.integer("budget") > 0) {
    count = std::min(count, at.choice.integer("budget"));
  } else {
    count =
        std::min(count, static_cast<std::int64_t>(at.choice.decimal("fetch") * static_cast<double>(earlier)));
  }
  for (std::int32_t q = 0; q < at.in.query_heads; ++q) {
    std::vector<std::int32_t> order = newest_first(logits[static_cast<std::size_t>(q)]);
    order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
    out.sets.push_back({static_cast<std::int32_t>(at.t)});
    for (const std::int32_t i : order) out.sets.back().insert(static_cast<std::int32_t>(at.first()) + i);
  }
  return out;
}

double squared_distance(const Vector& a, const Vector& b) {
  double out = 0;
  for (std::size_t c = 0; c < a.size(); ++c) out += (a[c] - b[c]) * (a[c] - b[c]);
  return out;
}

/// k-means++ and Lloyd's rounds; the centres, and in `before` the one of each point.
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
void add_clusters(const Layer& at, std::int32_t head, std::int64_t begin, std::int64_t end,
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

NaiveRead clusterkv(const Layer& at) {
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

NaiveRead retro_infer(const Layer& at) {
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

NaiveRead retrieval_heads(const Layer& at, const attention::HeadTable& gates) {
  NaiveRead out;
  std::multiset<double> all;
  for (const auto& layer : gates) all.insert(layer.begin(), layer.end());
  const Vector sorted(all.begin(), all.end());
  const double place = at.choice.decimal("sparsity") * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double part = place - static_cast<double>(below);
  const double next = below + 1 < sorted.size() ? sorted[below + 1] : sorted[below];
  double threshold = sorted[below] + (next - sorted[below]) * part;
  if (at.choice.decimal("sparsity") == 1) threshold = 2;
  out.sets = at.everything();
  for (std::int32_t q = 0; q < at.in.query_heads; ++q) {
    const double gate = gates[static_cast<std::size_t>(at.number)][static_cast<std::size_t>(q / at.group())];
    if (gate >= threshold) continue;
    auto& set = out.sets[static_cast<std::size_t>(q)];
    set.clear();
    at.add_seen(0, at.choice.integer("sink"), set);
    at.add_seen(at.t + 1 - at.choice.integer("recent"), at.t + 1, set);
  }
  return out;
}

NaiveRead oracle(const Layer& at) {
  NaiveRead out;
  for (std::int32_t q = 0; q < at.in.query_heads; ++q) {
    const NaiveRow row = naive_row(at.in, q, at.t);
    out.sets.emplace_back();
    for (const std::int32_t i : newest_first(row.weights))
      if (i >= at.first() && static_cast<std::int64_t>(out.sets.back().size()) < at.choice.integer("budget"))
        out.sets.back().insert(i);
  }
  return out;
}

}  // namespace

NaiveRow naive_row(const LayerTensors& in, std::int32_t query_head, std::int64_t t) {
  NaiveRow out;
  const Vector query = slice(in.queries[static_cast<std::size_t>(query_head)], t, in.key_size);
  const std::int32_t head = query_head / (in.query_heads / in.kv_heads);
  for (std::int64_t i = 0; i <= t; ++i) {
    double logit = product(query, slice(in.keys[static_cast<std::size_t>(head)], i, in.key_size)) * in.scale;
    if (in.soft_cap > 0) logit = in.soft_cap * std::tanh(logit / in.soft_cap);
    if (in.window > 0 && i + in.window <= t) logit = -std::numeric_limits<double>::infinity();
    out.logits.push_back(logit);
  }
  double most = *std::max_element(out.logits.begin(), out.logits.end());
  const double sink = in.sink_logits.empty() ? -std::numeric_limits<double>::infinity()
                                             : in.sink_logits[static_cast<std::size_t>(query_head)];
  most = std::max(most, sink);
  double sum = std::exp(sink - most);
  for (const double logit : out.logits) sum += std::exp(logit - most);
  for (const double logit : out.logits) out.weights.push_back(std::exp(logit - most) / sum);
  return out;
}

double naive_error(const LayerTensors& in, std::int32_t query_head, std::int64_t t,
                   const std::set<std::int32_t>& set, const std::vector<std::set<std::int32_t>>& estimated) {
  const NaiveRow row = naive_row(in, query_head, t);
  const auto head = static_cast<std::size_t>(query_head / (in.query_heads / in.kv_heads));
  // Weights of the full row's scale: what is estimated has that of the mean of its keys.
  std::map<std::int32_t, double> weights;
  for (const std::int32_t i : set) weights[i] = row.weights[static_cast<std::size_t>(i)];
  for (const auto& cluster : estimated) {
    double logit = 0;
    for (std::int32_t c = 0; c < in.key_size; ++c) {
      double mean = 0;
      for (const std::int32_t i : cluster)
        mean += slice(in.keys[head], i, in.key_size)[static_cast<std::size_t>(c)] /
                static_cast<double>(cluster.size());
      logit += mean * slice(in.queries[static_cast<std::size_t>(query_head)], t,
                            in.key_size)[static_cast<std::size_t>(c)];
    }
    logit *= in.scale;
    if (in.soft_cap > 0) logit = in.soft_cap * std::tanh(logit / in.soft_cap);
    const auto own = static_cast<std::size_t>(t);
    for (const std::int32_t i : cluster) weights[i] = row.weights[own] * std::exp(logit - row.logits[own]);
  }
  double sum = 1;  // the sink's weight
  for (const double weight : row.weights) sum -= weight;
  if (in.sink_logits.empty()) sum = 0;
  for (const auto& [i, weight] : weights) sum += weight;
  double off = 0;
  double whole = 0;
  for (std::int32_t c = 0; c < in.value_size; ++c) {
    const auto value = [&](std::int32_t i) {
      return slice(in.values[head], i, in.value_size)[static_cast<std::size_t>(c)];
    };
    double full = 0;
    double part = 0;
    for (std::size_t i = 0; i < row.weights.size(); ++i)
      full += row.weights[i] * value(static_cast<std::int32_t>(i));
    for (const auto& [i, weight] : weights) part += weight / sum * value(i);
    off += (full - part) * (full - part);
    whole += full * full;
  }
  return std::sqrt(off / whole);
}

NaiveRead naive_read(const Lane& lane, const LayerTensors& in, std::int32_t layer, std::int64_t prompt,
                     std::int64_t t) {
  const Choice& choice = lane.reader.choice;
  const Layer at{.in = in, .choice = choice, .number = layer, .prompt = prompt, .t = t};
  const std::string_view name = choice.name();
  NaiveRead out;
  if (name == "quest") return quest(at);
  if (name == "infinigen") return infinigen(at);
  if (name == "clusterkv") return clusterkv(at);
  if (name == "retro-infer") return retro_infer(at);
  if (name == "retrieval-heads") {
    out = retrieval_heads(at, lane.reader.tables.at(0));
  } else if (name == "oracle") {
    out = oracle(at);
  } else {
    out.sets = at.everything();
  }
  out.kept_metadata.assign(static_cast<std::size_t>(in.kv_heads), 0);
  out.read_metadata = out.kept_metadata;
  return out;
}

}  // namespace kvplan::readers::testing
