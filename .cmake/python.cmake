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

# Sets KVPLAN_HAVE_RECORDER and, with it, KVPLAN_TORCH_PYTHON: a Python that has what traces/recorder needs.
set(usable OFF)
if(KVPLAN_HAVE_PYTHON)
  set(cache "$ENV{XDG_CACHE_HOME}")
  if(NOT cache)
    set(cache "$ENV{HOME}/.cache")
  endif()
  foreach(candidate ${KVPLAN_TORCH_PYTHON} $ENV{KVPLAN_RECORDER_ENV}/bin/python ${cache}/kvplan/recorder/bin/python
      ${KVPLAN_PYTHON3})
    execute_process(COMMAND ${candidate} -c "
import importlib.util
for name in ('numpy', 'zstandard', 'tokenizers', 'torch', 'transformers'): assert importlib.util.find_spec(name)"
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(KVPLAN_TORCH_PYTHON ${candidate} CACHE STRING "Python with PyTorch and Transformers")
      mark_as_advanced(KVPLAN_TORCH_PYTHON)
      set(usable ON)
      break()
    endif()
  endforeach()
endif()
kvplan_optional(RECORDER "${KVPLAN_RECORDER}" usable
  "no python3 with PyTorch and Transformers was found: .ci/setup recorder installs them")
