# `find_package(gaze)` for other projects: gaze::ops, gaze::attention, gaze::captioner ...
include(CMakePackageConfigHelpers)
get_property(_libraries GLOBAL PROPERTY GAZE_LIBRARIES)
install(TARGETS ${_libraries} gaze_options EXPORT gazeTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS gaze DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY modules models DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gaze FILES_MATCHING PATTERN "*.h")
install(EXPORT gazeTargets NAMESPACE gaze:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gaze)
configure_package_config_file(cmake/gazeConfig.cmake.in ${PROJECT_BINARY_DIR}/gazeConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gaze)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gazeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gazeConfig.cmake ${PROJECT_BINARY_DIR}/gazeConfigVersion.cmake
              cmake/FindLibTorch.cmake cmake/FindSentencePiece.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gaze)
