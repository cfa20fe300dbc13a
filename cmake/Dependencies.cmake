# Debian's packages; docs/dependencies.md says what each is for.
find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)  # header-only use; src/base/fmt.cpp compiles the code
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Threads REQUIRED)

# libuv's CMake package only provides the shared library.
find_path(UV_INCLUDE_DIR uv.h REQUIRED)
find_library(UV_STATIC_LIBRARY libuv_a.a REQUIRED)
add_library(muster_uv INTERFACE)
target_include_directories(muster_uv SYSTEM INTERFACE ${UV_INCLUDE_DIR})
target_link_libraries(muster_uv INTERFACE ${UV_STATIC_LIBRARY} Threads::Threads dl rt)

find_library(YAML_CPP_STATIC_LIBRARY libyaml-cpp.a REQUIRED)
find_library(CRYPT_STATIC_LIBRARY libcrypt.a REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_STATIC_LIBRARY libxxhash.a REQUIRED)
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_library(RE2_STATIC_LIBRARY libre2.a REQUIRED)
