#include "tests/conformance/allocator_settings.h"

#include "simulator/replacement/replacements.h"

namespace kvplan::memory::allocator_slots_example {
extern const AllocatorEntry
    kMember;  // of simulator/docs/adding_an_allocator.md, compiled exactly as on the page
}

namespace kvplan::test {

std::vector<const memory::AllocatorEntry*> allocator_members() {
  const auto all = memory::allocators();
  std::vector<const memory::AllocatorEntry*> out(all.begin(), all.end());
  out.push_back(&memory::allocator_slots_example::kMember);
  return out;
}

std::vector<AllocatorSetting> allocator_settings() {
  std::vector<AllocatorSetting> out;
  for (const memory::AllocatorEntry* entry : allocator_members()) {
    const std::string name(entry->descriptor.name);
    std::vector<std::string> variants{name};
    const auto times = [&](const Param& param, std::vector<std::string_view> choices) {
      std::vector<std::string> more;
      for (const std::string& variant : variants)
        for (const auto choice : choices)
          more.push_back(variant + (variant.find(':') == std::string::npos ? ":" : ",") +
                         std::string(param.name) + "=" + std::string(choice));
      variants = more;
    };
    for (const Param& param : entry->descriptor.params) {
      if (!param.choices.empty()) times(param, {param.choices.begin(), param.choices.end()});
      if (param.kind == ParamKind::kFlag) times(param, {"true", "false"});
    }
    // These parameters one by one, each with every combination of the above.
    const std::vector<std::string> combinations = variants;
    for (const Param& param : entry->descriptor.params) {
      std::vector<std::string> values;
      if (param.kind == ParamKind::kInteger) values = {"1", "3", "8"};
      if (param.name == "factor") values = {"1", "1.3"};
      for (const std::string& value : values)
        for (const std::string& c : combinations)
          variants.push_back(c + (c == name ? ":" : ",") + std::string(param.name) + "=" + value);
    }
    if (name == "caching")  // parameters without a list of values, and several that interact
      for (const char* const more :
           {"reserve=oracle,expandable_segments=true", "reserve=pow2,per=request,expandable_segments=true",
            "reserve=oracle,per=request,max_split_size_mb=21",
            "reserve=pow2,garbage_collection_threshold=0.3",
            "reserve=oracle,per=request,garbage_collection_threshold=0.1,max_split_size_mb=40"})
        variants.push_back(name + ":" + more);
    for (const std::string& variant : variants) {
      for (const bool block_ids : {true, false}) {
        out.push_back({variant, false, block_ids});
        if (entry->shares_prefixes) out.push_back({variant, true, block_ids});
      }
    }
    if (!entry->shares_prefixes) continue;
    for (const replacement::ReplacementEntry* policy : replacement::replacements()) {
      if (policy->make == nullptr) continue;
      for (const char* const block : {":block_tokens=1", ":block_tokens=3"})
        out.push_back({name + block, true, true, std::string(policy->descriptor.name)});
      out.push_back({name + ":block_tokens=2", true, false, std::string(policy->descriptor.name)});
    }
  }
  return out;
}

}  // namespace kvplan::test
