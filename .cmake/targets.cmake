# One target per folder, with explicit one-way links. Sources are globbed, so that a new policy is one new file.

#   kvplan_library(NAME FOLDER LINKS...)   every .cpp of FOLDER (not below it); header-only folders become INTERFACE
function(kvplan_library name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${ARGN} PRIVATE kvplan_options)
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
    if(NOT folder MATCHES "^gui/")  # compiled with Qt's options
      kvplan_precompile_standard(${name} kvplan_base)
      kvplan_guide_fuzzers(${name})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARGN})
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

# Headers that take seconds to read are read once for a target if nearly all of its files include them. A file still
# includes what it uses: .ci/tidy reads what is shipped without them.
#   kvplan_precompile(TARGET HEADERS...)
function(kvplan_precompile target)
  if(KVPLAN_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    kvplan_quiet_precompiled(${target})
  endif()
endfunction()

# The same for targets that are compiled alike: OWNER, the first of them, reads the headers for all.
#   kvplan_share_precompiled(TARGET OWNER HEADERS...)
function(kvplan_share_precompiled target owner)
  if(target STREQUAL owner)
    kvplan_precompile(${target} ${ARGN})
  elseif(KVPLAN_PCH)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    kvplan_quiet_precompiled(${target})
  endif()
endfunction()

# g++ 12 forgets that precompiled headers are the system's, and then warns about std::string's own copies. Builds
# without them (KVPLAN_PCH=OFF) have all warnings.
function(kvplan_quiet_precompiled target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
      -Wno-stringop-overread)
  endif()
endfunction()

#   kvplan_precompile_standard(TARGET OWNER)     what nearly every file of ours includes
function(kvplan_precompile_standard target owner)
  kvplan_share_precompiled(${target} ${owner} <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory>
    <optional> <span> <string> <string_view> <utility> <vector>)
endfunction()

# What libFuzzer searches has to say which way it went.
#   kvplan_guide_fuzzers(TARGET)
function(kvplan_guide_fuzzers target)
  if(KVPLAN_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Where no time is spent when it runs: optimised less, which compiles in three quarters of the time, and for sanitizers
# not at all, which takes half.
#   kvplan_compile_fast(TARGET [LEVEL])    LEVEL: for sanitizers, 0 if not told
function(kvplan_compile_fast target)
  set(level 1)
  if(KVPLAN_SANITIZE_USED)
    set(level 0)
    if(ARGC GREATER 1)
      set(level ${ARGV1})
    endif()
  endif()
  target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O${level}>)
endfunction()

#   kvplan_program(NAME FOLDER LINKS...)   build/bin/NAME from every .cpp of FOLDER
function(kvplan_program name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARGN} kvplan_options)
endfunction()

# Where the tree and its programs are, for those sources that ask. All others are the same in every build tree, so that
# the compiler's cache serves several.
#   kvplan_say_places(SOURCES...)
function(kvplan_say_places)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} asks REGEX "KVPLAN_(SOURCE|PROGRAM)_DIR" LIMIT_COUNT 1)
    if(asks)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
        KVPLAN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" KVPLAN_PROGRAM_DIR="${CMAKE_BINARY_DIR}/bin")
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})  # one may begin to ask
endfunction()

#   kvplan_test(NAME FOLDER LINKS...)      one GoogleTest program from every .cpp of tests/FOLDER
# Programs that walk every cell after every step themselves say WALKS: they are optimised with sanitizers, too.
function(kvplan_test name folder)
  cmake_parse_arguments(PARSE_ARGV 2 test WALKS "" "")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cpp)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${test_UNPARSED_ARGUMENTS} GTest::gtest GTest::gtest_main kvplan_options)
  kvplan_say_places(${sources})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set(owner base_test)
  set(level 0)
  if(test_WALKS AND KVPLAN_SANITIZE_USED)
    set(owner engine_test)
    set(level 1)
  endif()
  kvplan_compile_fast(${name} ${level})
  kvplan_share_precompiled(${name} ${owner} <gtest/gtest.h> <algorithm> <array> <cmath> <cstdint> <functional> <map>
    <memory> <optional> <span> <string> <string_view> <utility> <vector>)
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
