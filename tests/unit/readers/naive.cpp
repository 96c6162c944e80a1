#include "tests/unit/readers/naive.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "tests/unit/readers/naive_layer.h"

namespace kvplan::readers::testing {
namespace {

NaiveRead quest(const NaiveLayer& at) {
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
  const std::int64_t end = kernels ? last : last + 1;  // end of the ranked ones
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

/// Eigenvectors of a symmetric matrix, by descending eigenvalue, with Jacobi's rotations.
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

std::vector<Vector> directions(const NaiveLayer& at, std::int32_t head) {
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

NaiveRead infinigen(const NaiveLayer& at) {
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

NaiveRead retrieval_heads(const NaiveLayer& at, const attention::HeadTable& gates) {
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

NaiveRead oracle(const NaiveLayer& at) {
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
  // Weights on the scale of the full row: estimated tokens have that of the mean of their keys.
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
  const NaiveLayer at{.in = in, .choice = choice, .number = layer, .prompt = prompt, .t = t};
  const std::string_view name = choice.name();
  NaiveRead out;
  if (name == "quest") return quest(at);
  if (name == "infinigen") return infinigen(at);
  if (name == "clusterkv") return naive_clusterkv(at);
  if (name == "retro-infer") return naive_retro_infer(at);
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
