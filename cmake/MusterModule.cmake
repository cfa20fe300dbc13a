# One word, five places: the folder src/NAME, the namespace muster::NAME, the target muster::NAME,
# the test folder tests/NAME and the CTest label NAME.

add_library(muster_flags INTERFACE)
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers)  # designated initialisers name what matters
# GCC 12 takes the members that a designated initialiser leaves out for uninitialised, and a string
# added to a literal for an overlap; neither is.
target_compile_options(muster_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict>)
# libstdc++ 12's stable_sort uses what C++17 deprecates, and Clang says so.
target_compile_options(muster_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
# Some compilers define _FORTIFY_SOURCE themselves. It needs optimisation.
target_compile_options(muster_flags INTERFACE $<$<CONFIG:Release>:-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>)
if(MUSTER_SANITIZE)
  set(MUSTER_STATIC OFF)
  target_compile_options(muster_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(muster_flags INTERFACE -fsanitize=address,undefined)
endif()
if(MUSTER_FUZZ)
  target_compile_options(muster_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# muster_precompile(TARGET KIND): TARGET reads its headers from the precompiled ones of KIND, module or test.
# One set a kind is made and shared; tools/tidy compiles without them, so that a missing include shows.
function(muster_precompile target kind)
  if(NOT MUSTER_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET muster_precompiled_${kind})
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/precompiled_${kind}.cpp CONTENT "")
    add_library(muster_precompiled_${kind} OBJECT ${PROJECT_BINARY_DIR}/precompiled_${kind}.cpp)
    target_link_libraries(muster_precompiled_${kind} PRIVATE muster_flags)
    target_include_directories(muster_precompiled_${kind} PRIVATE ${FMT_INCLUDE_DIR})
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

# A pattern such as *.cpp stands for the files of the folder that match it. For a new file, configure again.
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
# FAST: it handles messages, frames or long lists. The others decide once a run, and compile in two thirds of the time with -O1.
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
  # Files of a module in one compiler run share their headers: a whole build takes half the time.
  # So a name in an unnamed namespace is used once in a module.
  set_target_properties(muster_${name} PROPERTIES UNITY_BUILD ${MUSTER_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# muster_test(NAME a_test.cpp ...): one binary a module, every case known to CTest under the label NAME. With the sanitisers, whose
# processes take long to begin, a binary is one test.
include(GoogleTest)
function(muster_test name)
  muster_expand(sources ${ARGN})
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE muster::${name} GTest::gtest GTest::gtest_main)
  muster_precompile(${name}_test test)
  # As the files of a module, and more of them: what tests share, templates of the standard library and of GoogleTest, is most of them.
  set_target_properties(${name}_test PROPERTIES UNITY_BUILD ${MUSTER_UNITY} UNITY_BUILD_BATCH_SIZE 16)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)  # for headers that tests share
  if(MUSTER_SANITIZE)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS ${name} TIMEOUT 600)
    return()
  endif()
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 600
                       PROPERTIES LABELS ${name} TIMEOUT 180)
endfunction()
