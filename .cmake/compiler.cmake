# What every target is compiled with.
add_library(kvplan_options INTERFACE)
target_include_directories(kvplan_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_options(kvplan_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Werror>
  # Where floating point decides anything its order is fixed: no fused multiply-add behind our back.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()
if(KVPLAN_SANITIZE)
  target_compile_options(kvplan_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${KVPLAN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1>)
  target_link_options(kvplan_options INTERFACE -fsanitize=${KVPLAN_SANITIZE})
endif()

find_program(KVPLAN_CCACHE ccache)
if(KVPLAN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KVPLAN_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${KVPLAN_CCACHE})
endif()
