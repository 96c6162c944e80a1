// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace kvplan {

/// Calls piece(i) once for every i in [0, pieces), on up to `threads` threads including this one (fewer if the system
/// gives fewer). All have ended on return. Throws what the piece with the least i threw; pieces that had not begun
/// when one threw may be skipped.
void on_threads(int threads, std::size_t pieces, const std::function<void(std::size_t)>& piece);

}  // namespace kvplan
