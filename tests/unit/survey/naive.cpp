#include "tests/unit/survey/naive.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace kvplan::survey {
namespace {

int size_of(const Matrix& rows) {
  return static_cast<int>(rows.size());
}

double sum_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

/// The mean of `of(t)` over rows from `first` on; empty if there are no rows.
std::optional<double> over_rows(const Matrix& rows, int first, const std::function<double(int)>& of) {
  double sum = 0;
  for (int t = first; t < size_of(rows); ++t) sum += of(t);
  if (first >= size_of(rows)) return std::nullopt;
  return sum / (size_of(rows) - first);
}

double weights_in(const Matrix& rows, int t, int from, int to) {
  double sum = 0;
  for (int i = std::max(0, from); i <= to; ++i) sum += rows.at(std::size_t(t)).at(std::size_t(i));
  return sum;
}

double entropy(const std::vector<double>& row) {
  double out = 0;
  for (const double weight : row)
    if (weight > 0) out -= weight * std::log(weight);
  return out;
}

double tokens_with(std::vector<double> row, double share) {
  const double all = sum_of(row);
  std::sort(row.begin(), row.end(), std::greater<>());
  double sum = 0;
  for (std::size_t n = 1; n <= row.size(); ++n) {
    sum += row[n - 1];
    if (sum >= share * all) return static_cast<double>(n) / static_cast<double>(row.size());
  }
  return 1;
}

/// got(i) and the rows it sums over, for i = 1 .. T - 17.
struct Got {
  double sum{0};
  int rows{0};
};
std::map<int, Got> got_of(const std::vector<Matrix>& heads) {
  std::map<int, Got> out;
  const int tokens = size_of(heads.front());
  for (int t = 64; t < tokens; ++t)
    for (int i = 1; i <= t - 16; ++i) {
      Got& got = out[i];
      for (const Matrix& rows : heads) got.sum += rows[std::size_t(t)][std::size_t(i)];
      ++got.rows;
    }
  return out;
}

bool is_pivotal_on_the_mean(const Matrix& rows, int token, int from, int to) {
  double weights = 0;
  double even = 0;
  for (int t = std::max(from, token); t < to; ++t) {
    weights += rows[std::size_t(t)][std::size_t(token)];
    even += 1.0 / (t + 1);
  }
  return weights > even + 1e-12;
}

bool is_pivotal(const Matrix& rows, int token, int from, int to) {
  for (int t = std::max(from, token); t < to; ++t)
    if (rows[std::size_t(t)][std::size_t(token)] > 1.0 / (t + 1)) return true;
  return false;
}

double rank_of(const std::vector<double>& numbers, double number) {
  double below = 0;
  double equal = 0;
  for (const double other : numbers) {
    below += other < number ? 1 : 0;
    equal += other == number ? 1 : 0;
  }
  return below + (equal + 1) / 2;
}

std::optional<double> pearson(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = sum_of(a) / static_cast<double>(a.size());
  const double mean_b = sum_of(b) / static_cast<double>(b.size());
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (aa == 0 || bb == 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

/// Token `token` of a tensor.
std::vector<double> vector_of(const std::vector<float>& tensor, int size, int token) {
  const auto begin = tensor.begin() + static_cast<std::ptrdiff_t>(token) * size;
  return {begin, begin + size};
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Singular values of a matrix by Jacobi's rotations of its columns, greatest first.
std::vector<double> singular_values(const Matrix& rows) {
  const std::size_t n = rows.front().size();
  Matrix columns(n, std::vector<double>(rows.size()));
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < n; ++c) columns[c][r] = rows[r][c];
  bool turned = true;
  for (int sweep = 0; turned && sweep < 60; ++sweep) {
    turned = false;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        const double pq = product(columns[p], columns[q]);
        const double pp = product(columns[p], columns[p]);
        const double qq = product(columns[q], columns[q]);
        if (std::fabs(pq) <= 1e-15 * std::sqrt(pp * qq)) continue;
        turned = true;
        const double angle = 0.5 * std::atan2(2 * pq, qq - pp);
        const double c = std::cos(angle);
        const double s = std::sin(angle);
        for (std::size_t r = 0; r < rows.size(); ++r) {
          const double x = columns[p][r];
          const double y = columns[q][r];
          columns[p][r] = c * x - s * y;
          columns[q][r] = s * x + c * y;
        }
      }
  }
  std::vector<double> out;
  for (const auto& column : columns) out.push_back(std::sqrt(product(column, column)));
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

void add_ranks(const std::string& side, const Matrix& matrix, NaiveFigures& out) {
  const auto values = singular_values(matrix);
  std::vector<double> squares;
  for (const double value : values) squares.push_back(value * value);
  const auto rank_of_sums = [](const std::vector<double>& parts) {
    const double all = sum_of(parts);
    double sum = 0;
    int rank = 0;
    while (all > 0 && sum < 0.99 * all) sum += parts[std::size_t(rank++)];
    return rank;
  };
  const double all = sum_of(squares);
  out[side + "_effective_rank"] = rank_of_sums(squares);
  out[side + "_value_rank"] = rank_of_sums(values);
  out[side + "_stable_rank"] = all > 0 ? all / squares.front() : 0;
  const auto tail = [&](std::size_t from) {
    double beyond = 0;
    for (std::size_t i = from; i < squares.size(); ++i) beyond += squares[i];
    return all > 0 ? std::sqrt(beyond / all) : 0;
  };
  const std::size_t columns = matrix.front().size();
  out[side + "_tail_eighth"] = tail(columns / 8);
  out[side + "_tail_quarter"] = tail(columns / 4);
  out[side + "_tail_half"] = tail(columns / 2);
}

Matrix matrix_of(const std::vector<float>& tensor, int size) {
  Matrix out;
  for (int t = 0; t < static_cast<int>(tensor.size()) / size; ++t) out.push_back(vector_of(tensor, size, t));
  return out;
}

void add_cosine(const std::string& key, const std::vector<float>& a, const std::vector<float>& b, int size,
                NaiveFigures& out) {
  double sum = 0;
  int count = 0;
  for (int t = 0; t < static_cast<int>(std::min(a.size(), b.size())) / size; ++t) {
    const auto x = vector_of(a, size, t);
    const auto y = vector_of(b, size, t);
    if (product(x, x) == 0 || product(y, y) == 0) continue;
    sum += product(x, y) / std::sqrt(product(x, x) * product(y, y));
    ++count;
  }
  if (count > 0) out[key] = sum / count;
}

}  // namespace

std::set<int> naive_heavy(const std::vector<Matrix>& heads) {
  const auto got = got_of(heads);
  std::vector<std::pair<double, int>> order;  // largest last; among equal ones the newer is last
  for (const auto& [token, each] : got) order.emplace_back(each.sum, token);
  std::sort(order.begin(), order.end());
  std::set<int> out;
  const std::size_t count = got.empty() ? 0 : std::max<std::size_t>(1, got.size() / 10);
  for (std::size_t i = 0; i < count; ++i) out.insert(order[order.size() - 1 - i].second);
  return out;
}

std::optional<double> naive_top_mass(const Matrix& rows, int k) {
  return over_rows(rows, 64, [&](int t) {
    std::vector<double> row = rows[std::size_t(t)];
    std::sort(row.begin(), row.end(), std::greater<>());
    row.resize(std::min(row.size(), std::size_t(k)));
    return sum_of(row);
  });
}

std::vector<double> naive_angles(const std::vector<float>& a, const std::vector<float>& b, int size) {
  std::vector<double> out(12, 0.0);
  int count = 0;
  for (int t = 0; t < static_cast<int>(std::min(a.size(), b.size())) / size; ++t) {
    const auto x = vector_of(a, size, t);
    const auto y = vector_of(b, size, t);
    if (product(x, x) == 0 || product(y, y) == 0) continue;
    const double cosine = product(x, y) / std::sqrt(product(x, x) * product(y, y));
    const double degrees = std::acos(std::clamp(cosine, -1.0, 1.0)) * 180 / std::acos(-1.0);
    // An angle on the border of a step belongs to the step above, whatever its last digits are.
    ++out[std::min<std::size_t>(11, static_cast<std::size_t>((degrees + 1e-9) / 15))];
    ++count;
  }
  if (count == 0) return {};
  for (double& share : out) share /= count;
  return out;
}

NaiveFigures naive_row_figures(const Matrix& rows) {
  NaiveFigures out;
  const auto put = [&](const char* key, std::optional<double> value) {
    if (value) out[key] = *value;
  };
  const auto row = [&](int t) -> const std::vector<double>& { return rows[std::size_t(t)]; };
  const int tokens = size_of(rows);
  int above = 0;
  for (const auto& each : rows)
    above += static_cast<int>(std::count_if(each.begin(), each.end(), [](double w) { return w > 0.01; }));
  put("sparsity_full", 1 - above / (1.0 * tokens * tokens));
  put("sparsity_causal", 1 - above / (tokens * (tokens + 1) / 2.0));
  put("entropy", over_rows(rows, 0, [&](int t) { return entropy(row(t)); }));
  put("relative_entropy", over_rows(rows, 1, [&](int t) { return entropy(row(t)) / std::log(t + 1); }));
  put("effective_tokens", over_rows(rows, 0, [&](int t) { return std::exp(entropy(row(t))); }));
  put("first_mass", over_rows(rows, 64, [&](int t) { return row(t).front(); }));
  put("sink_mass", over_rows(rows, 4, [&](int t) { return weights_in(rows, t, 0, 3); }));
  put("near_mass", over_rows(rows, 64, [&](int t) { return weights_in(rows, t, t - 15, t); }));
  put("near_even", over_rows(rows, 64, [&](int t) { return 16.0 / (t + 1); }));
  put("half_share", over_rows(rows, 64, [&](int t) { return tokens_with(row(t), 0.5); }));
  put("most_share", over_rows(rows, 64, [&](int t) { return tokens_with(row(t), 0.9); }));
  double heavy = 0;
  double all = 0;
  const auto set = naive_heavy({rows});
  for (const auto& [token, got] : got_of({rows})) {
    all += got.sum;
    if (set.contains(token)) heavy += got.sum;
  }
  if (all > 0) put("heavy_share", heavy / all);
  for (const bool of_means : {false, true}) {
    const auto pivotal = of_means ? is_pivotal_on_the_mean : is_pivotal;
    int first = 0;
    int second = 0;
    int both = 0;
    for (int i = 0; i < tokens / 2; ++i) {
      const bool early = pivotal(rows, i, 0, tokens / 2);
      const bool late = pivotal(rows, i, tokens / 2, tokens);
      first += early ? 1 : 0;
      second += late ? 1 : 0;
      both += early && late ? 1 : 0;
    }
    if (second > 0) put(of_means ? "mean_persistence" : "persistence", static_cast<double>(both) / second);
    if (tokens >= 2)
      put(of_means ? "mean_pivotal_share" : "pivotal_share", static_cast<double>(first) / (tokens / 2));
  }
  return out;
}

NaiveFigures naive_query_head(const NaiveLayer& layer, std::size_t h) {
  NaiveFigures out = naive_row_figures(layer.heads[h]);
  if (size_of(layer.heads[h]) <= kNaiveRankTokens) {
    Matrix square = layer.heads[h];
    for (auto& row : square) row.resize(square.size(), 0.0);
    add_ranks("map", square, out);
  }
  const auto mine = naive_heavy({layer.heads[h]});
  if (layer.heads.size() > 1 && !mine.empty()) {
    double sum = 0;
    for (std::size_t other = 0; other < layer.heads.size(); ++other) {
      if (other == h) continue;
      const auto theirs = naive_heavy({layer.heads[other]});
      const auto common =
          std::count_if(mine.begin(), mine.end(), [&](int token) { return theirs.contains(token); });
      sum += static_cast<double>(common) / static_cast<double>(mine.size());
    }
    out["heads_overlap"] = sum / static_cast<double>(layer.heads.size() - 1);
  }
  const auto got = got_of({layer.heads[h]});
  if (!layer.tensors || got.empty()) return out;
  std::vector<double> norms;
  std::vector<double> means;
  const std::size_t stored = h / (layer.heads.size() / layer.tensors->keys.size());
  for (const auto& [token, each] : got) {
    const auto key = vector_of(layer.tensors->keys[stored], layer.tensors->key_size, token);
    norms.push_back(std::sqrt(product(key, key)));
    means.push_back(each.sum / each.rows);
  }
  std::vector<double> a;
  std::vector<double> b;
  for (const double norm : norms) a.push_back(rank_of(norms, norm));
  for (const double mean : means) b.push_back(rank_of(means, mean));
  if (const auto found = pearson(a, b)) out["key_norm_correlation"] = *found;
  return out;
}

NaiveFigures naive_kv_head(const NaiveLayer& layer, const NaiveLayer* next, std::size_t h) {
  NaiveFigures out;
  const attention::LayerTensors& here = *layer.tensors;
  add_ranks("key", matrix_of(here.keys[h], here.key_size), out);
  if (!here.values.empty()) add_ranks("value", matrix_of(here.values[h], here.value_size), out);
  if (next == nullptr || !next->tensors || next->tensors->keys.size() != here.keys.size()) return out;
  const attention::LayerTensors& there = *next->tensors;
  if (there.key_size == here.key_size)
    add_cosine("key_cosine_next", here.keys[h], there.keys[h], here.key_size, out);
  if (!here.values.empty() && !there.values.empty() && there.value_size == here.value_size)
    add_cosine("value_cosine_next", here.values[h], there.values[h], here.value_size, out);
  return out;
}

}  // namespace kvplan::survey
