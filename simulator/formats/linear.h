// Linear algebra in a fixed order of operations, from additions, multiplications, divisions and square roots alone.
// IEEE 754 rounds these the same on every machine, so no library decides a last digit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvplan::formats {

/// Numbers row by row.
struct Matrix {
  std::size_t rows{0};
  std::size_t columns{0};
  std::vector<double> data;

  Matrix() = default;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), data(r * c) {}
  [[nodiscard]] double& at(std::size_t r, std::size_t c) { return data[r * columns + c]; }
  [[nodiscard]] double at(std::size_t r, std::size_t c) const { return data[r * columns + c]; }
  [[nodiscard]] std::span<double> row(std::size_t r) { return std::span(data).subspan(r * columns, columns); }
  [[nodiscard]] std::span<const double> row(std::size_t r) const {
    return std::span(data).subspan(r * columns, columns);
  }
};

/// The singular values of a matrix, greatest first, and its right singular vectors as rows. `vectors` has min(rows,
/// columns) rows.
struct RightSingular {
  std::vector<double> values;
  Matrix vectors;
};
/// Householder reflections to a triangle, then one-sided Jacobi rotations of its columns. Small singular values are
/// as accurate, relative to the greatest, as large ones. Time: rows x columns^2, plus some columns^3.
RightSingular right_singular(const Matrix& matrix);

/// Orthonormal rows with the same span as the rows of `matrix`: one for each row that is not in the span of those
/// before it (to 1e-12 of its length).
Matrix orthonormal_rows(Matrix matrix);

/// Replaces x by its projection onto the span of the first `count` rows of `basis`, which are orthonormal.
void project(const Matrix& basis, std::size_t count, std::span<double> x);

/// Eigenvalues of a symmetric matrix, greatest first: Householder's tridiagonal form, then QL steps with implicit
/// shifts. Errors are a few last digits of the greatest one. REQUIRES: square, symmetric (only the lower half is
/// read).
std::vector<double> symmetric_eigenvalues(Matrix matrix);

}  // namespace kvplan::formats
