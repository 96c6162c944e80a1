// True if this program is built with a sanitizer that reserves terabytes of address space: its memory cannot be
// limited.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KVPLAN_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KVPLAN_SHADOW_MEMORY 1
#endif
#endif
#ifndef KVPLAN_SHADOW_MEMORY
#define KVPLAN_SHADOW_MEMORY 0
#endif
