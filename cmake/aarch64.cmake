# Cross-builds the command and its unit tests for arm64 on an x86-64 Debian 12:
#   tools/install_deps --arm64 && cmake --preset arm64 && cmake --build --preset arm64 --target muster
# The compiler is Debian's. Headers and libraries are those of Debian's arm64 packages, which tools/install_deps unpacks into a folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(DEFINED ENV{MUSTER_DEPS})
  set(CMAKE_SYSROOT $ENV{MUSTER_DEPS}/arm64)
else()
  set(CMAKE_SYSROOT /opt/muster-deps/arm64)
endif()
if(NOT EXISTS ${CMAKE_SYSROOT}/usr/include)
  message(FATAL_ERROR "${CMAKE_SYSROOT} has no headers for arm64; run: sudo tools/install_deps --arm64")
endif()

# The compiler's own packages have an older C library, which lacks later fixes. So the one in the folder must come first: -B finds
# crt1.o, with which every program starts, and -L finds libc.a.
set(muster_arm64_libraries ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT "-isystem =/usr/include/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-B${muster_arm64_libraries}/ -L${muster_arm64_libraries}")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})
