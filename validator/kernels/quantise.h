// Quantising and dequantising as kernels of the catalogue (quantise_arguments.h).
//
// Case: format, stored (fp16 or bf16: the numbers to round), head_size, lengths (their sum times kv_heads is the number
// of rows), outliers; retained = compacted means keys by channel (KIVI).
//
// References are written separately, from the table in that header: every byte must be equal.
#pragma once

#include <memory>

#include "validator/kernels/catalogue.h"
#include "validator/kernels/quantise_arguments.h"

namespace kvplan::validator {

std::vector<Case> quantise_cases(CaseSet set, const MachineFacts& machine);
std::vector<Case> dequantise_cases(CaseSet set, const MachineFacts& machine);
Result<std::unique_ptr<Problem>> make_quantise(const Case& of, Purpose purpose, const MachineFacts& machine);

/// Codes and side data of rows, and the decoded numbers: a second implementation, for tests.
struct QuantisedReference {
  std::vector<std::byte> codes, side;
  std::vector<std::uint16_t> back;
};
QuantisedReference quantise_reference(const std::vector<std::uint16_t>& numbers, Stored from, Format format,
                                      std::size_t head_size, bool by_channel, float tensor_scale);

}  // namespace kvplan::validator
