# One word, five places: the folder src/NAME, the namespace muster::NAME, the target muster::NAME,
# the test folder tests/NAME and the CTest label NAME.

add_library(muster_flags INTERFACE)
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers)  # designated initialisers name what matters
# GCC 12 takes the members that a designated initialiser leaves out for uninitialised, and a string
# added to a literal for an overlap; neither is.
target_compile_options(muster_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict>)
if(MUSTER_SANITIZE)
  set(MUSTER_STATIC OFF)
  target_compile_options(muster_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(muster_flags INTERFACE -fsanitize=address,undefined)
endif()
if(MUSTER_FUZZ)
  target_compile_options(muster_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# muster_module(NAME SOURCES a.cpp ... DEPENDS base ... LINK external ...)
function(muster_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(muster_${name} STATIC ${arg_SOURCES})
  add_library(muster::${name} ALIAS muster_${name})
  target_include_directories(muster_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM arg_DEPENDS PREPEND muster::)
  target_link_libraries(muster_${name} PUBLIC muster_flags ${arg_DEPENDS} ${arg_LINK})
endfunction()

# muster_test(NAME a_test.cpp ...): one binary a module, every case known to CTest under the label NAME.
include(GoogleTest)
function(muster_test name)
  add_executable(${name}_test ${ARGN})
  target_link_libraries(${name}_test PRIVATE muster::${name} GTest::gtest GTest::gtest_main)
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 30
                       PROPERTIES LABELS ${name} TIMEOUT 180)
endfunction()
