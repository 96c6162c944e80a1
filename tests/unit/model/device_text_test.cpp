// Devices that a user says: in place, in files of both forms, and nonsense, which is one line each.
#include "simulator/modelfile/device_text.h"

#include <gtest/gtest.h>

#include <string>

#include "simulator/base/random.h"
#include "simulator/modelfile/device_catalogue.h"

namespace kvplan::model {
namespace {

const std::string kCard = "name=mine,total_bytes=25250627584,bandwidth=1008e9,bf16_flops=165.2e12";

std::string error_of(const std::string& text) {
  const auto device = device_in_place(text);
  return device.ok() ? "none" : device.error().to_string();
}

TEST(DeviceInPlace, HasItsFigures) {
  const DeviceShape device = device_in_place(kCard + ",fp4_flops=1e15,title=\"My card, new\"").value();
  EXPECT_EQ(device.name, "mine");
  EXPECT_EQ(device.title, "My card, new");
  EXPECT_EQ(device.at(DeviceFigure::kUsableBytes).value, 25250627584);
  EXPECT_EQ(device.at(DeviceFigure::kBandwidth).value, 1'008'000'000'000);
  EXPECT_EQ(device.at(DeviceFigure::kBf16Flops).value, 165'200'000'000'000);
  EXPECT_EQ(device.find(DeviceFigure::kFp4Flops)->value, 1'000'000'000'000'000);
  EXPECT_FALSE(device.find(DeviceFigure::kFp8Flops));
  EXPECT_EQ(device_in_place("total_bytes=25250627584,bandwidth=1e12,bf16_flops=1e14").value().name, "device");
}

TEST(DeviceInPlace, TheTextOfADeviceSaysIt) {
  for (const DeviceShape& device : devices()) {
    const std::string text = in_place(device);
    const DeviceShape back = device_in_place(text).value();
    EXPECT_EQ(in_place(back), text);
    for (std::size_t i = 0; i < kDeviceFigures; ++i)
      EXPECT_EQ(back.figures[i] ? back.figures[i]->value : -1,
                device.figures[i] ? device.figures[i]->value : -1)
          << device.name << " " << i;
    EXPECT_EQ(back.architecture, device.architecture);
  }
}

TEST(DeviceInPlace, NonsenseIsOneLine) {
  EXPECT_EQ(
      error_of("total_bytes=80,bandwidth=1e12,bf16_flops=1e14"),
      "total_bytes: expected a whole number from 268435456 to 1125899906842624, in bytes, found \"80\"");
  EXPECT_EQ(
      error_of("total_bytes=8e10,bandwidth=3350,bf16_flops=1e14"),
      "bandwidth: expected a whole number from 1000000000 to 62500000000000000, in bytes/s, found \"3350\"");
  EXPECT_EQ(
      error_of("total_bytes=8e10,bandwidth=1e12"),
      "bf16_flops: expected a whole number from 1000000000 to 62500000000000000, in FLOP/s, found nothing");
  EXPECT_NE(error_of(kCard + ",bandwith=1")
                .find("unknown key of a device \"bandwith\"; did you mean \"bandwidth\""),
            std::string::npos);
  EXPECT_EQ(error_of(kCard + ",bandwidth=1e12"), "bandwidth: expected one value, found a second");
  EXPECT_EQ(error_of(kCard + ",name=x"), "name: expected one value, found a second");
  EXPECT_EQ(error_of(kCard + ",usable_bytes=25250627584"),
            "usable_bytes: expected one value, found a second");
  EXPECT_EQ(error_of(kCard + ",usable_bytes_most=1e9"),
            "usable_bytes_most: expected at least total_bytes, found 1000000000");
  for (const char* value : {"", "-1", "nan", "inf", "1e400", "0x10", "fast", "8 GiB"}) {
    const std::string error =
        error_of("total_bytes=" + std::string(value) + ",bandwidth=1e12,bf16_flops=1e14");
    EXPECT_NE(error.find("total_bytes: expected"), std::string::npos) << value;
    EXPECT_EQ(error.find('\n'), std::string::npos) << value;
  }
  EXPECT_NE(error_of("=").find("unknown key"), std::string::npos);
  EXPECT_NE(error_of("total_bytes=8e10,,bandwidth=1").find("expected key=value,key=value"),
            std::string::npos);
}

TEST(DeviceInPlace, AnyBytesAreADeviceOrOneLine) {
  Random random(45);
  for (int i = 0; i < 2000; ++i) {
    std::string text = kCard;
    for (int k = 0; k < 3; ++k) {
      const auto at = static_cast<std::size_t>(random.below(text.size()));
      text[at] = static_cast<char>(random.between(32, 126));
    }
    const auto device = device_in_place(text);
    if (device.ok()) {
      EXPECT_TRUE(device_in_place(in_place(device.value())).ok()) << text;
    } else {
      EXPECT_EQ(device.error().to_string().find('\n'), std::string::npos) << text;
    }
  }
}

TEST(DeviceFiles, HaveTwoForms) {
  const auto flat = device_of_file(
      R"({"name":"mine","total_bytes":25250627584,"bandwidth":1008e9,"bf16_flops":165200000000000})",
      "d.json");
  ASSERT_TRUE(flat.ok()) << flat.error().to_string();
  EXPECT_EQ(in_place(flat.value()), in_place(device_in_place(kCard).value()));
  const auto error = [](const std::string& text) {
    return device_of_file(text, "d.json").error().to_string();
  };
  EXPECT_EQ(
      error(R"({"total_bytes":true})"),
      "d.json: total_bytes: expected a whole number from 268435456 to 1125899906842624, in bytes, found "
      "\"true\"");
  EXPECT_EQ(error("{}").find("d.json: "), 0U);
  EXPECT_EQ(error("["), "d.json: expected a JSON object with the figures of a device");
  EXPECT_EQ(error(R"({"name":"d","figures":{}})"), "d.json: title: expected a string");
}

}  // namespace
}  // namespace kvplan::model
