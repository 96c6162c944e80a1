# Sets KVPLAN_HAVE_GUI. gui/ is built only where it is ON; what needs no Qt never asks.
if(NOT KVPLAN_GUI STREQUAL "OFF")
  find_package(Qt6 6.4 QUIET COMPONENTS Widgets Svg Test)
endif()
kvplan_optional(GUI "${KVPLAN_GUI}" Qt6_FOUND "Qt 6.4 (Widgets, Svg, Test) was not found: .ci/setup all installs it")
