// Recordings of version 2 opened from bytes.
#pragma once

#include <gtest/gtest.h>

#include "simulator/attention/evaluation.h"
#include "simulator/io/kva_reader.h"
#include "tests/unit/io/kva2_samples.h"
#include "tests/unit/io/kva_samples.h"

namespace kvplan::io {

using attention::Recording;

inline std::shared_ptr<const Recording> opened(const std::string& bytes) {
  auto recording = open_kva(random_access_of(bytes, "x.kva"));
  EXPECT_TRUE(recording.ok()) << recording.error().to_string();
  return recording.ok() ? recording.value() : nullptr;
}

}  // namespace kvplan::io
