# One target per folder, with explicit one-way links. Sources are globbed, so that a new policy is one new file.

#   kvplan_library(NAME FOLDER LINKS...)   every .cpp of FOLDER (not below it); header-only folders become INTERFACE
function(kvplan_library name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${ARGN} PRIVATE kvplan_options)
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARGN})
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

# Headers that take seconds to read are read once for a target whose files nearly all include them. A file still
# includes what it uses: builds with KVPLAN_PCH=OFF (.ci/full) would fail otherwise.
#   kvplan_precompile(TARGET HEADERS...)
function(kvplan_precompile target)
  if(KVPLAN_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    # g++ 12 forgets that precompiled headers are the system's, and then warns about std::string's own copies.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
    endif()
  endif()
endfunction()

# Where no time is spent when it runs: optimised less, which compiles in three quarters of the time.
#   kvplan_compile_fast(TARGET)
function(kvplan_compile_fast target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
  endif()
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
function(kvplan_test name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cpp)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARGN} GTest::gtest GTest::gtest_main kvplan_options)
  kvplan_say_places(${sources})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  kvplan_compile_fast(${name})
  kvplan_precompile(${name} <gtest/gtest.h> <algorithm> <array> <functional> <map> <optional> <string> <vector>)
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
