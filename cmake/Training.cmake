# The training side: libmuster and its MPI backend, for programs that link PyTorch's C++ library. The tool side
# needs none of this.

set(MUSTER_TRAINING AUTO CACHE STRING "Build libmuster: ON, OFF, or AUTO (when its dependencies are found)")
set_property(CACHE MUSTER_TRAINING PROPERTY STRINGS AUTO ON OFF)

if(DEFINED ENV{MUSTER_DEPS})
  set(muster_deps $ENV{MUSTER_DEPS})
else()
  set(muster_deps /opt/muster-deps)  # where tools/install_deps puts them
endif()
file(GLOB muster_found_torch ${muster_deps}/torch/lib/python3*/site-packages/torch)
set(MUSTER_TORCH "" CACHE PATH "PyTorch: the folder of the Python package, or an unpacked libtorch")
if(NOT MUSTER_TORCH)  # PyTorch may have been installed since the last configuration
  set_property(CACHE MUSTER_TORCH PROPERTY VALUE "${muster_found_torch}")
endif()
set(MUSTER_TORCH_INSTALLED "" CACHE STRING
  "Where the installed libmuster looks for PyTorch: a folder, perhaps relative to the installation prefix (default: MUSTER_TORCH)")
set(MUSTER_OPENMPI ${muster_deps}/openmpi CACHE PATH "Open MPI, or any MPI of its ABI: include/mpi.h, lib/libmpi.so.40")
set(MUSTER_MPICH ${muster_deps}/mpich CACHE PATH "MPICH, Intel MPI, or any MPI of their ABI: include/mpi.h, lib/libmpi.so.12")
set(MUSTER_GLOO_INCLUDE "" CACHE PATH "Where gloo/types.h lies, where neither PyTorch nor the system has it")

# When MUSTER_TORCH changes, forget what was found in the previous PyTorch; otherwise the new one would be ignored.
if(NOT MUSTER_TORCH_SEEN STREQUAL MUSTER_TORCH)
  unset(MUSTER_GLOO_HEADERS CACHE)
  set(MUSTER_TORCH_SEEN ${MUSTER_TORCH} CACHE INTERNAL "The MUSTER_TORCH of the last configuration")
endif()
find_path(MUSTER_GLOO_HEADERS gloo/types.h HINTS ${MUSTER_GLOO_INCLUDE} ${MUSTER_TORCH}/include)

# muster_obstacle says why libmuster cannot be built here. It is empty if libmuster can be built.
set(muster_obstacle "")
if(NOT MUSTER_TORCH)
  set(muster_obstacle "there is no PyTorch in ${muster_deps}/torch; run tools/install_deps --training, or name yours: -DMUSTER_TORCH=/path/to/site-packages/torch")
elseif(NOT EXISTS ${MUSTER_TORCH}/include/torch/headeronly/version.h)
  set(muster_obstacle "MUSTER_TORCH=${MUSTER_TORCH} has no include/torch/headeronly/version.h; name the folder of the Python package torch, or of an unpacked libtorch")
elseif(NOT MUSTER_GLOO_HEADERS)
  set(muster_obstacle "PyTorch's headers need gloo/types.h, which was not found; run tools/install_deps --training, or apt-get install libgloo-dev")
elseif(MUSTER_SANITIZE)
  set(muster_obstacle "MUSTER_SANITIZE is on")
endif()

if(MUSTER_TRAINING STREQUAL "AUTO")
  set(MUSTER_BUILD_TRAINING ON)
  if(muster_obstacle)
    set(MUSTER_BUILD_TRAINING OFF)
    message(STATUS "Without libmuster, the C++ training library: ${muster_obstacle}")
  endif()
else()
  set(MUSTER_BUILD_TRAINING ${MUSTER_TRAINING})
  if(MUSTER_TRAINING AND muster_obstacle)
    message(FATAL_ERROR " MUSTER_TRAINING=ON: ${muster_obstacle}")  # without the leading space, CMake would break the line
  endif()
endif()
if(NOT MUSTER_BUILD_TRAINING)
  return()
endif()

include(PyTorch)
muster_find_pytorch(${MUSTER_TORCH})
if(MUSTER_TORCH_INSTALLED)
  set(muster_torch_installed ${MUSTER_TORCH_INSTALLED})
else()
  set(muster_torch_installed ${MUSTER_TORCH})
endif()
message(STATUS "With libmuster, for PyTorch ${muster_pytorch_version} in ${MUSTER_TORCH}")

# The NCCL backend needs CUDA's headers but no CUDA compiler. pip installs most of those headers with PyTorch.
set(muster_nccl_includes "")
if(EXISTS ${MUSTER_TORCH}/lib/libtorch_cuda.so)
  file(GLOB places ${MUSTER_TORCH}/../nvidia/*/include)
  list(APPEND places $ENV{CUDA_HOME}/include /usr/local/cuda/include)
  set(missing "")
  foreach(header nccl.h cuda_runtime.h crt/host_defines.h nv/target cublas_v2.h cusparse.h cusolverDn.h)
    set(place place-NOTFOUND)
    find_path(place ${header} HINTS ${places} NO_CACHE)
    if(place)
      list(APPEND muster_nccl_includes ${place})
    else()
      list(APPEND missing ${header})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES muster_nccl_includes)
  if(missing)
    set(muster_nccl_includes "")
    list(JOIN missing ", " missing)
    file(GLOB version RELATIVE ${MUSTER_TORCH}/.. ${MUSTER_TORCH}/../nvidia_cuda_runtime-*.dist-info)
    string(REGEX REPLACE ".*-([0-9]+\\.[0-9]+)\\..*" "==\\1.*" version "${version}")
    message(STATUS "Without NCCL: PyTorch has it, but CUDA's headers ${missing} are missing; add them to PyTorch's environment: "
      "pip install 'nvidia-cuda-crt${version}' 'nvidia-cuda-cccl${version}'")
  endif()
endif()

# PyTorch's headers contain another fmt, which must not hide the tool side's, so only targets of the training side link
# this.
add_library(muster_libtorch INTERFACE)
target_link_libraries(muster_libtorch INTERFACE muster::pytorch)
target_include_directories(muster_libtorch SYSTEM INTERFACE ${MUSTER_GLOO_HEADERS})

# muster_torch_program(NAME a.cpp ...): a program that uses libmuster, which it finds in ../lib. It uses libmuster's
# precompiled PyTorch headers, for which it needs the same flags. This reduces 40 s of compiling to 10.
function(muster_torch_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE muster::torch muster_flags)
  set_target_properties(${name} PROPERTIES BUILD_RPATH_USE_ORIGIN ON)
  if(MUSTER_PRECOMPILE)
    target_compile_options(${name} PRIVATE -fPIC)
    set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_precompile_headers(${name} REUSE_FROM muster_torch)
  endif()
endfunction()
