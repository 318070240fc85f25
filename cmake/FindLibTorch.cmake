# Finds LibTorch without its own TorchConfig.cmake, which insists on the CUDA toolkit when the wheel was built with CUDA.
# Looks, in this order, at LIBTORCH (cmake or environment), CMAKE_PREFIX_PATH, the project's .venv, and a python3 that
# imports torch. Defines LibTorch::torch (torch_cpu + c10 and their headers) and LibTorch_VERSION. With the component CUDA
# also LibTorch::cuda (torch_cuda + c10_cuda and the toolkit's runtime).

set(_torch_hints ${LIBTORCH} $ENV{LIBTORCH} ${CMAKE_PREFIX_PATH})
file(GLOB _torch_venv ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
list(APPEND _torch_hints ${_torch_venv})

find_path(LibTorch_INCLUDE_DIR torch/csrc/api/include/torch/torch.h HINTS ${_torch_hints} PATH_SUFFIXES include NO_DEFAULT_PATH)
if(NOT LibTorch_INCLUDE_DIR)
  execute_process(COMMAND python3 -c "import os, torch; print(os.path.dirname(torch.__file__))"
                  OUTPUT_VARIABLE _torch_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_path(LibTorch_INCLUDE_DIR torch/csrc/api/include/torch/torch.h HINTS ${_torch_python} PATH_SUFFIXES include)
endif()
cmake_path(GET LibTorch_INCLUDE_DIR PARENT_PATH _torch_root)
find_library(LibTorch_CPU_LIBRARY torch_cpu HINTS ${_torch_root}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 HINTS ${_torch_root}/lib NO_DEFAULT_PATH)
if(LibTorch_INCLUDE_DIR)
  set(_torch_numbers)
  foreach(_part MAJOR MINOR PATCH)
    file(STRINGS ${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h _line REGEX "define TORCH_VERSION_${_part} ")
    string(REGEX MATCH "[0-9]+" _number "${_line}")
    list(APPEND _torch_numbers ${_number})
  endforeach()
  list(JOIN _torch_numbers "." LibTorch_VERSION)
endif()

set(_torch_cuda_variables)
if(CUDA IN_LIST LibTorch_FIND_COMPONENTS)
  find_library(LibTorch_CUDA_LIBRARY torch_cuda HINTS ${_torch_root}/lib NO_DEFAULT_PATH)
  find_library(LibTorch_C10_CUDA_LIBRARY c10_cuda HINTS ${_torch_root}/lib NO_DEFAULT_PATH)
  find_package(CUDAToolkit 13.0)
  set(_torch_cuda_variables LibTorch_CUDA_LIBRARY LibTorch_C10_CUDA_LIBRARY CUDAToolkit_FOUND)
  if(LibTorch_CUDA_LIBRARY AND LibTorch_C10_CUDA_LIBRARY AND CUDAToolkit_FOUND)
    set(LibTorch_CUDA_FOUND TRUE)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR ${_torch_cuda_variables}
  VERSION_VAR LibTorch_VERSION
  HANDLE_COMPONENTS
  REASON_FAILURE_MESSAGE "run ./dev setup, or point LIBTORCH at an unpacked LibTorch")

if(LibTorch_FOUND AND NOT TARGET LibTorch::torch)
  add_library(LibTorch::torch INTERFACE IMPORTED)
  target_include_directories(LibTorch::torch SYSTEM INTERFACE ${LibTorch_INCLUDE_DIR}
                             ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(LibTorch::torch INTERFACE ${LibTorch_CPU_LIBRARY} ${LibTorch_C10_LIBRARY})
  # libtorch_cpu of the CUDA wheel names libcudart and libcupti, which its own rpath finds at run time.
  target_link_options(LibTorch::torch INTERFACE -Wl,--unresolved-symbols=ignore-in-shared-libs -Wl,-rpath,${_torch_root}/lib)
  # LibTorch carries the fmt its own headers use; linking another fmt library beside it clashes.
  if(EXISTS ${LibTorch_INCLUDE_DIR}/fmt/format.h)
    set(LibTorch_HAS_FMT TRUE)
    target_compile_definitions(LibTorch::torch INTERFACE FMT_HEADER_ONLY=1)
  endif()
endif()

if(LibTorch_CUDA_FOUND AND NOT TARGET LibTorch::cuda)
  add_library(LibTorch::cuda INTERFACE IMPORTED)
  # Nothing of gaze calls into torch_cuda by name, but it must be there for CUDA tensors to work.
  target_link_libraries(LibTorch::cuda INTERFACE -Wl,--no-as-needed ${LibTorch_CUDA_LIBRARY} ${LibTorch_C10_CUDA_LIBRARY}
                        -Wl,--as-needed CUDA::cudart)
endif()
