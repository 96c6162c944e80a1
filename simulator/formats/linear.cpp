#include "simulator/formats/linear.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "simulator/base/check.h"
#include "simulator/formats/loops.h"

namespace kvplan::formats {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double dot(std::span<const double> a, std::span<const double> b) {
  return formats::dot(a.data(), b.data(), a.size());
}

/// y += factor * x.
void add_scaled(double factor, std::span<const double> x, std::span<double> y) {
  formats::add_scaled(factor, x.data(), y.data(), x.size());
}

Matrix transposed(const Matrix& matrix) {
  Matrix out(matrix.columns, matrix.rows);
  for (std::size_t r = 0; r < matrix.rows; ++r)
    for (std::size_t c = 0; c < matrix.columns; ++c) out.at(c, r) = matrix.at(r, c);
  return out;
}

/// Reduces a matrix with more rows than columns to a triangle, by Householder reflections. `columns` is the transpose
/// of the matrix and is used up; the columns of the triangle are returned as rows.
Matrix triangle_columns(Matrix columns) {
  const std::size_t n = columns.rows;
  for (std::size_t k = 0; k < n; ++k) {
    const auto x = columns.row(k).subspan(k);
    const double length = std::sqrt(dot(x, x));
    if (length == 0) continue;
    const double head = x[0] >= 0 ? -length : length;
    // v = x - head e, |v|^2 = 2 (|x|^2 - head x_0).
    x[0] -= head;
    const double square = dot(x, x);
    for (std::size_t c = k + 1; c < n; ++c) {
      const auto y = columns.row(c).subspan(k);
      add_scaled(-2 * dot(x, y) / square, x, y);
    }
    x[0] = head;
    std::fill(x.begin() + 1, x.end(), 0.0);
  }
  Matrix out(n, n);
  for (std::size_t c = 0; c < n; ++c) std::copy_n(columns.row(c).begin(), n, out.row(c).begin());
  return out;
}

/// Rotates pairs of rows of `work` until all are orthogonal, and rotates the rows of `turned` in the same way.
void orthogonalise(Matrix& work, Matrix& turned) {
  constexpr int kMostSweeps = 60;
  const std::size_t n = work.rows;
  // The size of rounding errors in the product of two orthogonal rows.
  const double small = kEpsilon * std::sqrt(static_cast<double>(work.columns));
  std::vector<double> squares(n);
  // Rows that are mere rounding errors of the others are treated as equal.
  const double noise = 16 * kEpsilon * kEpsilon * dot(work.data, work.data);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool rotated = false;
    // Squares of lengths are updated during a sweep, and computed anew for each sweep.
    for (std::size_t i = 0; i < n; ++i) squares[i] = dot(work.row(i), work.row(i));
    for (std::size_t p = 0; p + 1 < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        const auto a = work.row(p);
        const auto b = work.row(q);
        const double aa = squares[p];
        const double bb = squares[q];
        if (aa <= noise && bb <= noise) continue;
        const double ab = dot(a, b);
        if (std::fabs(ab) <= small * std::sqrt(aa) * std::sqrt(bb)) continue;
        rotated = true;
        const double zeta = (bb - aa) / (2 * ab);
        const double tangent = (zeta >= 0 ? 1.0 : -1.0) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
        const double cosine = 1 / std::sqrt(1 + tangent * tangent);
        const double sine = cosine * tangent;
        squares[p] = std::max(aa - tangent * ab, 0.0);
        squares[q] = bb + tangent * ab;
        rotate(cosine, sine, a.data(), b.data(), a.size());
        rotate(cosine, sine, turned.row(p).data(), turned.row(q).data(), turned.columns);
      }
    }
    if (!rotated) return;
  }
}

}  // namespace

RightSingular right_singular(const Matrix& matrix) {
  const std::size_t kept = std::min(matrix.rows, matrix.columns);
  // Columns as rows. With more columns than rows there is nothing to reflect.
  Matrix work = transposed(matrix);
  if (matrix.rows > matrix.columns) work = triangle_columns(std::move(work));
  Matrix turned(work.rows, work.rows);
  for (std::size_t i = 0; i < work.rows; ++i) turned.at(i, i) = 1;
  orthogonalise(work, turned);
  std::vector<double> lengths(work.rows);
  for (std::size_t i = 0; i < work.rows; ++i) lengths[i] = std::sqrt(dot(work.row(i), work.row(i)));
  std::vector<std::size_t> order(work.rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  RightSingular out;
  out.vectors = Matrix(kept, matrix.columns);
  for (std::size_t i = 0; i < kept; ++i) {
    out.values.push_back(lengths[order[i]]);
    std::copy_n(turned.row(order[i]).begin(), matrix.columns, out.vectors.row(i).begin());
  }
  return out;
}

Matrix orthonormal_rows(Matrix matrix) {
  constexpr double kInSpan = 1e-12;
  Matrix out;
  out.columns = matrix.columns;
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    const auto x = matrix.row(r);
    const double before = std::sqrt(dot(x, x));
    // Twice: the second pass removes the rounding errors of the first.
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t i = 0; i < out.rows; ++i) add_scaled(-dot(out.row(i), x), out.row(i), x);
    const double length = std::sqrt(dot(x, x));
    if (length <= kInSpan * before) continue;
    for (double& v : x) v /= length;
    out.data.insert(out.data.end(), x.begin(), x.end());
    ++out.rows;
  }
  return out;
}

void project(const Matrix& basis, std::size_t count, std::span<double> x) {
  KVPLAN_CHECK(count <= basis.rows && x.size() == basis.columns);
  std::vector<double> out(x.size());
  for (std::size_t i = 0; i < count; ++i) add_scaled(dot(basis.row(i), x), basis.row(i), out);
  std::copy(out.begin(), out.end(), x.begin());
}

namespace {

/// The diagonal of a similar tridiagonal matrix, and the numbers next to it (beside[0] is unused).
struct Tridiagonal {
  std::vector<double> diagonal;
  std::vector<double> beside;
};

Tridiagonal tridiagonal(Matrix& a) {
  const std::size_t n = a.rows;
  Tridiagonal out{std::vector<double>(n), std::vector<double>(n)};
  std::vector<double> product(n);
  for (std::size_t k = n; k-- > 1;) {
    // Reflects row k, left of its diagonal, onto its last element.
    const auto x = a.row(k).first(k);
    const double length = std::sqrt(dot(x, x));
    out.diagonal[k] = a.at(k, k);
    if (length == 0) continue;
    const double head = x[k - 1] >= 0 ? -length : length;
    out.beside[k] = head;
    x[k - 1] -= head;
    const double square = dot(x, x);
    if (square == 0) continue;
    // A' = A - v w^T - w v^T with p = 2 A v / |v|^2, w = p - (p . v / |v|^2) v; lower half only.
    std::fill_n(product.begin(), k, 0.0);
    for (std::size_t r = 0; r < k; ++r) {
      const auto row = a.row(r).first(r + 1);
      product[r] += dot(row, x.first(r + 1));
      add_scaled(x[r], row.first(r), std::span(product).first(r));
    }
    const auto p = std::span(product).first(k);
    for (double& v : p) v *= 2 / square;
    add_scaled(-dot(p, x) / square, x, p);
    for (std::size_t r = 0; r < k; ++r) {
      const auto row = a.row(r).first(r + 1);
      subtract_two(x[r], p.data(), p[r], x.data(), row.data(), r + 1);
    }
  }
  out.diagonal[0] = a.at(0, 0);
  return out;
}

/// QL steps with implicit shifts (Golub and Van Loan, 8.3).
void diagonalise(Tridiagonal& t) {
  const std::size_t n = t.diagonal.size();
  auto& d = t.diagonal;
  std::vector<double> e(t.beside.begin() + 1, t.beside.end());
  e.push_back(0);
  double greatest = 0;
  for (const double v : d) greatest = std::max(greatest, std::fabs(v));
  for (const double v : e) greatest = std::max(greatest, std::fabs(v));
  const double negligible = 1e-20 * greatest;
  for (std::size_t l = 0; l < n; ++l) {
    for (int iteration = 0;; ++iteration) {
      std::size_t m = l;
      while (m + 1 < n && std::fabs(e[m]) > kEpsilon * (std::fabs(d[m]) + std::fabs(d[m + 1])) + negligible)
        ++m;
      if (m == l) break;
      KVPLAN_CHECK(iteration < 200);
      double g = (d[l + 1] - d[l]) / (2 * e[l]);
      double r = std::sqrt(g * g + 1);
      g = d[m] - d[l] + e[l] / (g + (g >= 0 ? r : -r));
      double s = 1;
      double c = 1;
      double p = 0;
      bool split = false;
      for (std::size_t i = m; i-- > l;) {
        const double f = s * e[i];
        const double b = c * e[i];
        r = std::sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          split = true;
          break;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        const double q = (d[i] - g) * s + 2 * c * b;
        p = s * q;
        d[i + 1] = g + p;
        g = c * q - b;
      }
      if (split) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
}

}  // namespace

std::vector<double> symmetric_eigenvalues(Matrix matrix) {
  KVPLAN_CHECK(matrix.rows == matrix.columns && matrix.rows > 0);
  Tridiagonal t = tridiagonal(matrix);
  diagonalise(t);
  std::sort(t.diagonal.begin(), t.diagonal.end(), [](double a, double b) { return a > b; });
  return std::move(t.diagonal);
}

}  // namespace kvplan::formats
