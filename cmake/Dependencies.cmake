# Debian's packages; docs/dependencies.md says what each is for. First those that libmuster needs too.
find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)  # header-only use; src/base/fmt.cpp compiles the code
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Threads REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
# All modules get the folders of headers that no target names, because libraries may be anywhere below CMAKE_PREFIX_PATH.
target_include_directories(muster_flags SYSTEM INTERFACE ${FMT_INCLUDE_DIR} ${XXHASH_INCLUDE_DIR})
if(MUSTER_LIBRARY_ONLY)
  return()
endif()

find_package(CLI11 REQUIRED)
find_path(YAML_CPP_INCLUDE_DIR yaml-cpp/yaml.h REQUIRED)
find_path(CRYPT_INCLUDE_DIR crypt.h REQUIRED)
find_path(UV_INCLUDE_DIR uv.h REQUIRED)
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
target_include_directories(muster_flags SYSTEM INTERFACE ${YAML_CPP_INCLUDE_DIR} ${CRYPT_INCLUDE_DIR} ${UV_INCLUDE_DIR} ${RE2_INCLUDE_DIR})

# muster_find_archive(VARIABLE NAME FILE...): sets VARIABLE to the static library FILE. Without MUSTER_STATIC, the shared library
# NAME will do if its folder has no static one: a static library elsewhere may be of another version than the headers.
function(muster_find_archive variable name)
  set(names ${ARGN})
  if(NOT MUSTER_STATIC)
    list(APPEND names ${name})
  endif()
  find_library(${variable} NAMES ${names} NAMES_PER_DIR REQUIRED)
endfunction()

# libuv's CMake package only provides the shared library.
muster_find_archive(UV_STATIC_LIBRARY uv libuv_a.a libuv.a)
add_library(muster_uv INTERFACE)
target_link_libraries(muster_uv INTERFACE ${UV_STATIC_LIBRARY} Threads::Threads dl rt)

muster_find_archive(YAML_CPP_STATIC_LIBRARY yaml-cpp libyaml-cpp.a)
muster_find_archive(CRYPT_STATIC_LIBRARY crypt libcrypt.a)
muster_find_archive(XXHASH_STATIC_LIBRARY xxhash libxxhash.a)
muster_find_archive(RE2_STATIC_LIBRARY re2 libre2.a)
