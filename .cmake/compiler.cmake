# What every target of ours is compiled with: link `kvplan_options` (PRIVATE).
set(sanitize "${KVPLAN_SANITIZE}")
if(KVPLAN_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "KVPLAN_FUZZ=ON needs clang (libFuzzer), this is ${CMAKE_CXX_COMPILER_ID}: "
      "use the preset `asan`")
  endif()
  if(NOT sanitize)
    set(sanitize address,undefined)
  endif()
endif()

add_library(kvplan_options INTERFACE)
target_include_directories(kvplan_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(kvplan_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Werror>
  # Where floating point decides anything its order is fixed: no fused multiply-add behind our back.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ takes the files of a unity build for headers, and warns where their types have members of private types.
  target_compile_options(kvplan_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(optimise -O2)
  if(sanitize)  # most of their time is the compiler's
    set(optimise -O1)
  endif()
  string(REPLACE "-O3" "${optimise}" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()
if(sanitize)
  target_compile_options(kvplan_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1>)
  target_link_options(kvplan_options INTERFACE -fsanitize=${sanitize})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # instrumented code makes g++ 12 see uninitialised reads in <regex>
    target_compile_options(kvplan_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  endif()
endif()
set(KVPLAN_SANITIZE_USED "${sanitize}")

# Decided once per build tree: a ccache that is installed later must not make ninja build everything again.
if(NOT DEFINED KVPLAN_CCACHE)
  find_program(KVPLAN_CCACHE ccache DOC "Compiler cache, used where found; empty: none")
endif()
if(KVPLAN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the first two, ccache passes over everything that is compiled with a precompiled header. With the third,
  # paths below the tree are relative to it: another build tree, or another clone, finds what this one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=true
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${KVPLAN_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${KVPLAN_CCACHE})
endif()
