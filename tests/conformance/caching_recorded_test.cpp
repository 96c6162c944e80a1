// The rules of PyTorch's caching allocator compared with PyTorch itself: its behaviour on a device, event by event
// (tests/golden/caching, made by record.py there). The pool gets the driver's addresses, since they decide between
// equal blocks. It must then reproduce bytes in use, reserved bytes, refusals and, except in expandable segments, the
// address of every block.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "simulator/memory/caching_pool.h"
#include "simulator/memory/caching_pool_model.h"

namespace kvplan::memory {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> recordings() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(fs::path(KVPLAN_SOURCE_DIR) / "tests/golden/caching"))
    if (entry.path().extension() == ".csv") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// The text after `key` in a line of facts, up to the next separator; empty: the key is absent.
std::string fact(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + key.size();
  return line.substr(begin, line.find_first_of(",;", begin) - begin);
}

CachingRules rules_of(const std::string& line) {
  CachingRules rules{.capacity_bytes = std::stoll(fact(line, "capacity_bytes=")),
                     .device_bytes = std::stoll(fact(line, "device_bytes=")),
                     .by_fraction = fact(line, "limit=") == "fraction",
                     .expandable = fact(line, "expandable_segments:") == "True"};
  if (const std::string mib = fact(line, "max_split_size_mb:"); !mib.empty())
    rules.max_split_bytes = std::stoll(mib) * kCachingMebibyte;
  if (const std::string parts = fact(line, "roundup_power2_divisions:"); !parts.empty())
    rules.power2_divisions = std::stoll(parts);
  if (const std::string share = fact(line, "garbage_collection_threshold:"); !share.empty())
    rules.garbage_threshold = std::stod(share);
  return rules;
}

template <class Pool>
void replay(const fs::path& path) {
  SCOPED_TRACE(path.filename().string());
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const CachingRules rules = rules_of(line);
  Pool pool(rules);
  ASSERT_TRUE(std::getline(file, line));
  ASSERT_EQ(line, "event,ok,address,allocated,reserved");
  std::map<std::int64_t, std::int64_t> held;  // event -> address
  std::int64_t refused = 0;
  std::int64_t event = 0;
  for (; std::getline(file, line); ++event) {
    SCOPED_TRACE("event " + std::to_string(event) + ": " + line);
    std::istringstream fields(line);
    std::string what, ok, address, allocated, reserved;
    for (std::string* field : {&what, &ok, &address, &allocated, &reserved})
      std::getline(fields, *field, ',');
    if (what == "empty") {
      pool.empty_cache();
    } else if (what.starts_with("free ")) {
      const auto gone = held.find(std::stoll(what.substr(5)));
      ASSERT_TRUE(gone != held.end());
      pool.free(gone->second);
      held.erase(gone);
    } else {
      if (ok == "1") pool.put_next_segment(std::stoll(address));
      const auto block = pool.allocate(std::stoll(what.substr(6)));
      ASSERT_EQ(block.has_value(), ok == "1");
      if (block) held.emplace(event, block->address);
      refused += block ? 0 : 1;
      // The driver chose where ranges of expandable segments are, and no event states it.
      if (block && !rules.expandable) {
        ASSERT_EQ(block->address, std::stoll(address));
      }
    }
    ASSERT_EQ(pool.allocated_bytes(), std::stoll(allocated));
    ASSERT_EQ(pool.reserved_bytes(), std::stoll(reserved));
  }
  EXPECT_EQ(event, 1500);
  EXPECT_GT(refused, 0);  // memory ran out, so the freeing of memory was tested too
}

TEST(CachingRecorded, EveryByteIsAsPyTorchHadIt) {
  const auto paths = recordings();
  ASSERT_EQ(paths.size(), 10U);
  for (const fs::path& path : paths) replay<CachingPool>(path);
}

TEST(CachingRecorded, TheNaivePoolToo) {
  for (const fs::path& path : recordings()) replay<CachingPoolModel>(path);
}

}  // namespace
}  // namespace kvplan::memory
