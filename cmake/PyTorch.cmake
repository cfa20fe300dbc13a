# Uses PyTorch's files directly. For a CUDA build, such as the one that pip installs by default, PyTorch's own CMake package would
# need a CUDA toolkit. This file is also part of the installed package.

# muster_find_pytorch(FOLDER): defines the target muster::pytorch and muster_pytorch_version. FOLDER is the Python package torch or
# an unpacked libtorch.
function(muster_find_pytorch folder)
  set(version "")
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS "${folder}/include/torch/headeronly/version.h" number REGEX "#define TORCH_VERSION_${part} ")
    string(REGEX MATCH "[0-9]+$" number "${number}")
    list(APPEND version ${number})
  endforeach()
  list(JOIN version . version)
  set(muster_pytorch_version ${version} PARENT_SCOPE)
  if(NOT TARGET muster::pytorch)
    add_library(muster::pytorch INTERFACE IMPORTED)
    # libtorch.so contains no code itself. It loads the CUDA part of a CUDA build, so the linker must not drop it.
    set_target_properties(muster::pytorch PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${folder}/include;${folder}/include/torch/csrc/api/include"
      INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO"
      INTERFACE_LINK_LIBRARIES
        "-Wl,--push-state,--no-as-needed,${folder}/lib/libtorch.so,--pop-state;${folder}/lib/libtorch_cpu.so;${folder}/lib/libc10.so")
  endif()
endfunction()
