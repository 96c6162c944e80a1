// Rates of a device for the rooflines of kernels: published figures. For dtypes that the device's file lacks, the
// figures of the next wider dtype.
#pragma once

#include <string_view>
#include <vector>

#include "simulator/model/device.h"

namespace kvplan::kernels {

/// Bytes of a stored weight of a dtype of the tables, scales included: "bfloat16", "fp8", "fp8_block" (a scale of 4
/// bytes for 128 x 128), "nvfp4" (one byte for 16), "int4_wo" (2 bytes for 128), "w4a16_mxfp4" (one byte for 32), ...
double weight_bytes(std::string_view dtype);
/// The dtype, and others with kernels that reach similar shares of their rooflines, most alike first.
std::vector<std::string_view> dtypes_like(std::string_view dtype);
/// Dense FLOP/s of products of that dtype.
double product_flops(const model::DeviceShape& device, std::string_view dtype);
/// Bytes/s, published.
double memory_rate(const model::DeviceShape& device);
/// Bytes/s each way between devices; the rate of the host's link if devices have no link of their own.
double link_rate(const model::DeviceShape& device);

}  // namespace kvplan::kernels
