// The time of decode attention computed from a device's figures, used if no table has the time:
//
//     t0 + max(bytes / bandwidth, elements / element rate, FLOPs / peak)
//
//   t0            12 us: launch, and the time of a call that reads almost nothing (medians of the tables for one
//                 sequence of 128 tokens: 6 to 14 us)
//   bytes         keys and values of the visible tokens, once; queries in and outputs out with 2 bytes an element
//   bandwidth     the bandwidth that such kernels reach, if the device's file has it, else 0.9 of the published one
//   element rate  stored elements below 2 bytes pass through the multiprocessors, which is slower than memory on sm_90:
//                 23e9 elements/s each (FlashAttention-3 with fp8, from the tables); no limit on other architectures
//   FLOPs         4 x query heads x head size x tokens, at 0.6 of the published dense half-precision peak
//
// Not modelled: waves of thread blocks (a term for them does not reduce the error against the tables, because splits
// fill the device), and data that stays in the device's L2 cache between calls.
#pragma once

#include "simulator/kernels/decode_call.h"
#include "simulator/kernels/time_source.h"
#include "simulator/model/device.h"

namespace kvplan::kernels {

/// The bytes per second that such kernels reach on the device.
double bandwidth_reached(const model::DeviceShape& device);

/// The source is always kRoofline.
SourcedTime attention_roofline(const DecodeCall& call, const model::DeviceShape& device);

/// A call for layers that store one latent vector with a rotary part for all query heads (model/model_shape.h),
/// computed in that form: scores over both parts, values over the latent part (DeepSeek-V2, arXiv 2405.04434, section
/// 2.1.2).
struct LatentCall {
  std::int64_t batch{1}, kv_len{1}, q_heads{1};
  std::int64_t latent_size{512}, rope_size{64};
  std::int64_t window{0};
  double kv_elem_bytes{2};
};
SourcedTime latent_roofline(const LatentCall& call, const model::DeviceShape& device);

}  // namespace kvplan::kernels
