# What `cmake --install` puts where: the programs, and what a person starts from. Models, devices and measured times are
# compiled into the programs, which find nothing by a path of the build: an installed folder can be moved. The one file
# that a program looks for is the sample, beside itself (kvplan-gui, gui/viewmodel/sample.h).
#   components   programs: the command line, examples and the sample     desktop: kvplan-gui, its entry and its icon
include(GNUInstallDirs)
set(data ${CMAKE_INSTALL_DATADIR}/kvplan)

install(TARGETS kvplan kvplan-validate RUNTIME COMPONENT programs)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/simulator/examples ${CMAKE_SOURCE_DIR}/traces/samples
  DESTINATION ${data} COMPONENT programs)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
if(TARGET kvplan-gui)
  install(TARGETS kvplan-gui RUNTIME COMPONENT desktop)
  install(FILES ${CMAKE_SOURCE_DIR}/gui/desktop/kvplan-gui.desktop
    DESTINATION ${CMAKE_INSTALL_DATADIR}/applications COMPONENT desktop)
  install(FILES ${CMAKE_SOURCE_DIR}/gui/desktop/kvplan-gui.svg
    DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps COMPONENT desktop)
endif()

# Debian packages, one for each component (.ci/package deb). What they depend on is read from the programs.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "kvplan maintainers <kvplan@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL programs)
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "Replays traces of requests through a model of the server's scheduler and
memory, and says where the bytes of its KV cache go. Command line, examples and a sample.")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME kvplan)
if(TARGET kvplan-gui)
  list(APPEND CPACK_COMPONENTS_ALL desktop)
  set(CPACK_COMPONENT_DESKTOP_DEPENDS programs)
  set(CPACK_COMPONENT_DESKTOP_DESCRIPTION "The desktop program of kvplan: shows where the KV memory of a trace goes, and
simulates the whole trace again while the scenario changes.")
  set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
  set(CPACK_DEBIAN_DESKTOP_PACKAGE_NAME kvplan-gui)
  # Letters to write with, without which it shows none; the rest only for Chinese.
  set(CPACK_DEBIAN_DESKTOP_PACKAGE_DEPENDS "fonts-dejavu-core | fonts-freefont-ttf")
  set(CPACK_DEBIAN_DESKTOP_PACKAGE_SUGGESTS "fonts-wqy-microhei, qt6-translations-l10n")
endif()
include(CPack)
