# The libraries kvplan stands on, all from Debian 12 (`.ci/setup` installs them by name), and what is optional.
#   linked as: Boost::headers (Boost.Graph) Protobuf::protobuf zstd::libzstd_shared ZLIB::ZLIB simdjson::simdjson
#              CLI11::CLI11 muparser::muparser SQLite::SQLite3 Threads::Threads GTest::gtest benchmark::benchmark
set(CMAKE_FIND_PACKAGE_PREFER_CONFIG OFF)
set(THREADS_PREFER_PTHREAD_FLAG ON)
# Linked in: binding its symbols at every start costs more instructions than a small run.
set(Protobuf_USE_STATIC_LIBS ON)
foreach(package Threads Boost Protobuf zstd ZLIB simdjson CLI11 muparser SQLite3)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND missing ${package})
  endif()
endforeach()
if(missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "kvplan needs ${missing}: run .ci/setup kvplan, or install them yourself")
endif()

# kvplan_optional(NAME WANTED FOUND HINT) sets KVPLAN_HAVE_NAME and, where it is off, KVPLAN_WHY_NAME.
macro(kvplan_optional name wanted found hint)
  set(KVPLAN_HAVE_${name} OFF)
  if("${wanted}" STREQUAL "OFF")
    set(KVPLAN_WHY_${name} "KVPLAN_${name}=OFF")
  elseif(${found})
    set(KVPLAN_HAVE_${name} ON)
  elseif("${wanted}" STREQUAL "AUTO")
    set(KVPLAN_WHY_${name} "${hint}")
  else()
    message(FATAL_ERROR "KVPLAN_${name}=${wanted}, but ${hint}")
  endif()
endmacro()

find_package(GTest QUIET)
kvplan_optional(TESTS "${KVPLAN_TESTS}" GTest_FOUND "GoogleTest was not found: .ci/setup all installs it")
find_package(benchmark QUIET)
kvplan_optional(BENCH "${KVPLAN_BENCH}" benchmark_FOUND "Google Benchmark was not found: .ci/setup all installs it")
