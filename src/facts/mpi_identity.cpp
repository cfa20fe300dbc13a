#include "facts/mpi_identity.hpp"

#include <algorithm>
#include <cstring>

#include "engines/kind.hpp"
#include "facts/elf.hpp"
#include "facts/mapped_file.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

bool contains(std::string_view text, std::string_view part) {
  if (text.empty()) return false;
  return ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Accepts "5.0.11", "4.1.0rc2" and "2021.18". Rejects addresses, and "v4.1.4", which names a
// revision of the source.
bool is_version(std::string_view text) {
  if (text.size() < 3 || text.size() > 16 || !is_digit(text[0])) return false;
  const auto dots = std::count(text.begin(), text.end(), '.');
  if (dots < 1 || dots > 2 || text.back() == '.') return false;
  const std::size_t after = text.find('.') + 1;
  return is_digit(text[after]) && std::all_of(text.begin(), text.end(), [](char c) {
           return is_digit(c) || c == '.' || (c >= 'a' && c <= 'z');
         });
}

int major_of(std::string_view version) {
  return number<int>(version.substr(0, version.find('.'))).value_or(0);
}

// The first constant that is only a version and whose first number is within the bounds. Versions
// of other libraries (hwloc 2.x, zlib 1.x) may be linked in, so the bounds exclude them.
std::string lone_version(std::string_view constants, int lowest, int highest) {
  while (!constants.empty()) {
    const std::size_t end = std::min(constants.find('\0'), constants.size());
    const std::string_view text = constants.substr(0, end);
    if (is_version(text)) {
      const int major = major_of(text);
      if (major >= lowest && major <= highest) return std::string(text);
    }
    constants.remove_prefix(std::min(end + 1, constants.size()));
  }
  return {};
}

// The version that follows `words_before` in the text.
std::string version_after(std::string_view text, std::string_view words_before) {
  const std::size_t at = text.find(words_before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + words_before.size());
  text = text.substr(0, text.find_first_of(std::string_view(" \t\n,\0", 5)));
  if (text.starts_with('v')) text.remove_prefix(1);
  return is_version(text) ? std::string(text) : std::string();
}

std::string openmpi_version(std::string_view constants) {
  // In every known build, the help text of one parameter has the version ("5.0.11") where it should
  // name the product.
  std::string version = version_after(constants, "setting this string to a valid filename tells ");
  return version.empty() ? lone_version(constants, 1, 19) : version;
}

}  // namespace

MpiIdentity identify_mpi(std::string_view constants) {
  // Intel MPI is derived from MPICH and contains its strings too, so test for Intel first.
  if (contains(constants, "Intel(R) MPI Library")) {
    return {.kind = engines::kIntel, .version = lone_version(constants, 2017, 2099)};
  }
  if (contains(constants, "Open MPI v%d.%d.%d")) {
    return {.kind = engines::kOpenMpi, .version = openmpi_version(constants)};
  }
  if (contains(constants, "MPICH Version:") || contains(constants, "HYDRA build details:")) {
    return {.kind = engines::kMpich, .version = lone_version(constants, 3, 19)};
  }
  return {};
}

MpiIdentity identify_mpi_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file || !is_elf(file->bytes())) return {};
  return identify_mpi(elf_constants(file->bytes()));
}

MpiIdentity identify_mpi_answer(std::string_view text) {
  if (std::string version = version_after(text, "(Open MPI) "); !version.empty()) {
    return {.kind = engines::kOpenMpi, .version = std::move(version)};
  }
  if (text.find("Intel(R) MPI Library") != std::string_view::npos) {
    return {.kind = engines::kIntel, .version = version_after(text, "Version ")};
  }
  if (text.find("HYDRA build details:") == std::string_view::npos) return {};
  const std::size_t at = text.find("Version:");
  if (at == std::string_view::npos) return {.kind = engines::kMpich};
  const auto parts = words(text.substr(at + 8));
  const bool known = !parts.empty() && is_version(parts[0]);
  return {.kind = engines::kMpich, .version = known ? std::string(parts[0]) : ""};
}

}  // namespace muster::facts
