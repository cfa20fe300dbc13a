# A module's name NAME occurs in five places: the folder src/NAME, the namespace muster::NAME, the target muster::NAME, the test folder
# tests/NAME and the CTest label NAME.

add_library(muster_flags INTERFACE)
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers)  # designated initialisers may name only some members
# GCC 12 wrongly warns that members which a designated initialiser leaves out are uninitialised, and that a string added to a
# literal overlaps it.
target_compile_options(muster_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict>)
# libstdc++ 12's stable_sort uses functions that C++17 deprecates, and Clang warns about that.
target_compile_options(muster_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
# Some compilers define _FORTIFY_SOURCE themselves, so it is undefined first. It needs optimisation.
target_compile_options(muster_flags INTERFACE $<$<CONFIG:Release>:-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>)
if(MUSTER_SANITIZE)
  set(MUSTER_STATIC OFF)
  target_compile_options(muster_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(muster_flags INTERFACE -fsanitize=address,undefined)
endif()
if(MUSTER_FUZZ)
  target_compile_options(muster_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# muster_precompile(TARGET KIND): makes TARGET use the precompiled headers of KIND, which is module or test. Each kind has one shared
# set. tools/tidy compiles without precompiled headers, so that missing includes show.
function(muster_precompile target kind)
  if(NOT MUSTER_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET muster_precompiled_${kind})
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/precompiled_${kind}.cpp CONTENT "")
    add_library(muster_precompiled_${kind} OBJECT ${PROJECT_BINARY_DIR}/precompiled_${kind}.cpp)
    target_link_libraries(muster_precompiled_${kind} PRIVATE muster_flags)
    set(headers <algorithm> <array> <charconv> <chrono> <filesystem> <functional> <map> <memory> <optional> <set> <span>
        <sstream> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h> <nlohmann/json_fwd.hpp>
        <tl/expected.hpp>)
    if(kind STREQUAL test)
      list(APPEND headers <gtest/gtest.h>)
      target_link_libraries(muster_precompiled_${kind} PRIVATE GTest::gtest)
    endif()
    target_precompile_headers(muster_precompiled_${kind} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM muster_precompiled_${kind})
endfunction()

# Sets the variable WORDS to the other arguments, with each pattern such as *.cpp replaced with the matching files of the folder.
# CMake must be run again when a file is added.
function(muster_expand words)
  set(expanded "")
  foreach(word IN LISTS ARGN)
    if(word MATCHES "[*]")
      file(GLOB word RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${word})
    endif()
    list(APPEND expanded ${word})
  endforeach()
  set(${words} ${expanded} PARENT_SCOPE)
endfunction()

# muster_module(NAME [FAST] SOURCES a.cpp ... DEPENDS base ... LINK external ...)
# FAST: for modules that handle messages, frames or long lists. The others run once per job. They are built with -O1, which compiles in
# two thirds of the time.
function(muster_module name)
  cmake_parse_arguments(arg "FAST" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  muster_expand(sources ${arg_SOURCES})
  add_library(muster_${name} STATIC ${sources})
  add_library(muster::${name} ALIAS muster_${name})
  target_include_directories(muster_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM arg_DEPENDS PREPEND muster::)
  target_link_libraries(muster_${name} PUBLIC muster_flags ${arg_DEPENDS} ${arg_LINK})
  if(NOT arg_FAST)
    target_compile_options(muster_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  muster_precompile(muster_${name} module)
  # The files of a module are compiled together and share their headers, which halves the time of a whole build. So a name in an
  # unnamed namespace must be unique within a module.
  set_target_properties(muster_${name} PROPERTIES UNITY_BUILD ${MUSTER_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# muster_test(NAME a_test.cpp ...): builds one binary per module, and registers every test case in CTest under the label NAME. With
# sanitisers, whose processes start slowly, the binary is registered as a single test.
include(GoogleTest)
function(muster_test name)
  muster_expand(sources ${ARGN})
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE muster::${name} GTest::gtest GTest::gtest_main)
  muster_precompile(${name}_test test)
  # Compiled together like the files of a module, but more at a time, because most of the work is in shared headers of the tests, the
  # standard library and GoogleTest.
  set_target_properties(${name}_test PROPERTIES UNITY_BUILD ${MUSTER_UNITY} UNITY_BUILD_BATCH_SIZE 16)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)  # for headers shared between tests
  if(MUSTER_SANITIZE)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS ${name} TIMEOUT 600)
    return()
  endif()
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 600
                       PROPERTIES LABELS ${name} TIMEOUT 180)
endfunction()
