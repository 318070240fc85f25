# The functions every folder's CMakeLists.txt uses.
#   gaze_library(NAME [SHARED] [TORCH] SOURCES ... DEPENDS ...)   target gaze_NAME, alias gaze::NAME
#   gaze_cuda_sources(NAME KERNELS ... ROOMS ...)                 .cu files, which include no torch, and .cpp files with CUDA
#   gaze_test(NAME [TORCH] SOURCES ... DEPENDS ...)               one test program a folder
# TORCH says that the sources may include LibTorch's heavy headers: they get the shared precompiled header.
# Without it a source is compiled without one, and should include no more than ATen/core/Tensor.h.

macro(gaze_settings)
  set(CMAKE_CXX_STANDARD 17)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)  # programs share the libraries' precompiled header
  set(CMAKE_CXX_VISIBILITY_PRESET default)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
  find_program(GAZE_CCACHE ccache)
  if(GAZE_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${GAZE_CCACHE}
       )
  endif()

  # What every gaze target is compiled with.
  add_library(gaze_options INTERFACE)
  add_library(gaze::options ALIAS gaze_options)
  target_compile_features(gaze_options INTERFACE cxx_std_17)
  target_include_directories(gaze_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/gaze>)
  target_compile_options(gaze_options INTERFACE $<BUILD_INTERFACE:-Wall;-Wextra;-Wno-unused-parameter>
                         $<BUILD_INTERFACE:$<$<BOOL:${GAZE_WERROR}>:-Werror>>)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # ccache needs a precompiled header whose bytes depend on its content alone.
    target_compile_options(gaze_options INTERFACE "$<BUILD_INTERFACE:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
  if(GAZE_SANITIZE)
    target_compile_options(gaze_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${GAZE_SANITIZE};-fno-omit-frame-pointer>)
    # A shared library finds the sanitizer's runtime in the program that loads it.
    target_link_options(gaze_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${GAZE_SANITIZE}>
      $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>:-Wl,--unresolved-symbols=ignore-all>)
  endif()
  # Formatting is LibTorch's own fmt, header-only; Debian's where LibTorch has none.
  if(NOT LibTorch_HAS_FMT)
    find_package(fmt REQUIRED)
    target_link_libraries(gaze_options INTERFACE fmt::fmt-header-only)
  endif()

  # torch/torch.h costs most of a minute to parse: it is parsed once, here, and shared.
  file(WRITE ${PROJECT_BINARY_DIR}/pch.cpp "")
  add_library(gaze_pch OBJECT ${PROJECT_BINARY_DIR}/pch.cpp)
  target_precompile_headers(gaze_pch PRIVATE <torch/torch.h> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp> <fstream>
                            <filesystem> <map> <string> <vector>)
  target_link_libraries(gaze_pch PRIVATE LibTorch::torch nlohmann_json::nlohmann_json gaze_options)
endmacro()

function(_gaze_common TARGET TORCH DEPENDS)
  target_link_libraries(${TARGET} PUBLIC LibTorch::torch gaze_options)
  target_link_libraries(${TARGET} PUBLIC ${DEPENDS})
  if(TORCH)
    target_precompile_headers(${TARGET} REUSE_FROM gaze_pch)
  endif()
endfunction()

function(gaze_library NAME)
  cmake_parse_arguments(ARG "SHARED;TORCH" "" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_SOURCES)
    add_library(gaze_${NAME} INTERFACE)
  elseif(ARG_SHARED)
    add_library(gaze_${NAME} SHARED ${ARG_SOURCES})
  else()
    add_library(gaze_${NAME} STATIC ${ARG_SOURCES})
  endif()
  add_library(gaze::${NAME} ALIAS gaze_${NAME})
  set_target_properties(gaze_${NAME} PROPERTIES EXPORT_NAME ${NAME})
  if(ARG_SOURCES)
    _gaze_common(gaze_${NAME} "${ARG_TORCH}" "${ARG_DEPENDS}")
  else()
    target_link_libraries(gaze_${NAME} INTERFACE LibTorch::torch gaze_options ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY GAZE_LIBRARIES gaze_${NAME})
endfunction()

function(gaze_cuda_sources NAME)
  cmake_parse_arguments(ARG "" "" "KERNELS;ROOMS" ${ARGN})
  add_library(gaze_${NAME}_cuda OBJECT ${ARG_KERNELS})
  target_include_directories(gaze_${NAME}_cuda PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(gaze_${NAME}_cuda PRIVATE -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter
                         $<$<BOOL:${GAZE_WERROR}>:-Werror=all-warnings>)
  # The runtime is LibTorch's: one copy of it in the process.
  set_target_properties(gaze_${NAME}_cuda PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Shared)
  target_sources(gaze_${NAME} PRIVATE ${ARG_ROOMS} $<TARGET_OBJECTS:gaze_${NAME}_cuda>)
  target_link_libraries(gaze_${NAME} PRIVATE LibTorch::cuda)
endfunction()

function(gaze_test NAME)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(test_${NAME} ${ARG_SOURCES})
  _gaze_common(test_${NAME} "${ARG_TORCH}" "${ARG_DEPENDS}")
  target_link_libraries(test_${NAME} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${NAME} PRIVATE GAZE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" GAZE_PROGRAM="$<TARGET_FILE:gaze>")
  set(timeout 600)
  if(GAZE_SANITIZE)
    set(timeout 3600)  # whole trainings, several times as slow
  endif()
  gtest_discover_tests(test_${NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${timeout} ENVIRONMENT OMP_NUM_THREADS=1)
endfunction()
