# Sets KVPLAN_HAVE_PYTHON and, with it, KVPLAN_PYTHON3: a Python that has the modules which traces/python and its tests
# need. The python3 that comes first in PATH may be one without them; then Debian's is taken.
set(usable OFF)
if(NOT KVPLAN_PYTHON STREQUAL "OFF")
  foreach(candidate ${KVPLAN_PYTHON3} python3 /usr/bin/python3)
    execute_process(COMMAND ${candidate} -c "import sys, numpy, pandas, zstandard; assert sys.version_info >= (3, 8)"
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(KVPLAN_PYTHON3 ${candidate} CACHE STRING "Python with numpy, pandas and zstandard")
      mark_as_advanced(KVPLAN_PYTHON3)
      set(usable ON)
      break()
    endif()
  endforeach()
endif()
kvplan_optional(PYTHON "${KVPLAN_PYTHON}" usable
  "no python3 with numpy, pandas and zstandard was found: .ci/setup all installs them")
