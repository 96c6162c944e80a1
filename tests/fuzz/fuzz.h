// A fuzz entry is one file of this folder and one line `kvplan_fuzz(NAME FILE LINKS...)`. The file defines
// LLVMFuzzerTestOneInput and, where files under corpus/NAME are not the best start, fuzz_seeds.
//
// Two programs come from it. NAME (any compiler, part of the tests) replays the corpus, the seeds and a fixed
// number of seeded mutations of each; NAME_libfuzzer (preset `asan`) is libFuzzer's search, run by .ci/full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Reads the input in the way in which a hostile file would be read. An error that the reader reports is right; the
/// entry aborts if an answer is wrong. Returns 0. Must depend only on its arguments, and keep no memory.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

/// Well-formed inputs, made by the writer of the format: short ones (mutations then reach every field) of
/// every kind. Optional: an entry without it starts from its corpus files alone.
[[gnu::weak]] std::vector<std::string> fuzz_seeds();
