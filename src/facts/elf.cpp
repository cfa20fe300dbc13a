#include "facts/elf.hpp"

#include <algorithm>
#include <cstring>

#include <elf.h>
#include <fmt/format.h>

namespace muster::facts {
namespace {

template <class T>
std::optional<T> read_at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value{};
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

// Returns an empty text if the range exceeds the file.
std::string_view range(std::string_view file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return {};
  return file.substr(offset, size);
}

std::optional<Elf64_Ehdr> header_of(std::string_view file) {
  if (!is_elf(file) || file.size() < EI_NIDENT || file[EI_CLASS] != ELFCLASS64) {
    return std::nullopt;
  }
  return read_at<Elf64_Ehdr>(file, 0);
}

std::optional<Elf64_Shdr> section_at(std::string_view file, const Elf64_Ehdr& header,
                                     std::uint64_t index) {
  if (header.e_shoff > file.size()) return std::nullopt;
  return read_at<Elf64_Shdr>(file, header.e_shoff + index * sizeof(Elf64_Shdr));
}

std::uint64_t aligned(std::uint64_t size) {
  return (size + 3) / 4 * 4;
}

// Each note consists of a header, a name and the content. The latter two are padded to 4 bytes.
std::string build_id_in(std::string_view notes) {
  constexpr std::size_t kLongest = 64;
  while (const auto note = read_at<Elf64_Nhdr>(notes, 0)) {
    const std::uint64_t at = sizeof *note + aligned(note->n_namesz);
    const std::string_view content = range(notes, at, note->n_descsz);
    if (note->n_type == NT_GNU_BUILD_ID &&
        range(notes, sizeof *note, note->n_namesz) == std::string_view("GNU\0", 4)) {
      std::string text;
      for (const char byte : content.substr(0, kLongest)) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      }
      return text;
    }
    const std::uint64_t size = at + aligned(note->n_descsz);
    if (size > notes.size()) return {};
    notes.remove_prefix(size);
  }
  return {};
}

}  // namespace

bool is_elf(std::string_view file) {
  return file.starts_with(ELFMAG);
}

std::string_view elf_architecture(std::string_view file) {
  const auto header = header_of(file);
  if (!header) return {};
  switch (header->e_machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    default:
      return {};
  }
}

std::optional<std::string> elf_interpreter(std::string_view file) {
  const auto header = header_of(file);
  if (!header || header->e_phoff > file.size()) return std::nullopt;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    if (segment->p_type != PT_INTERP) continue;
    const std::string_view path = range(file, segment->p_offset, segment->p_filesz);
    return std::string(path.substr(0, path.find('\0')));
  }
  return std::nullopt;
}

std::string elf_build_id(std::string_view file) {
  constexpr int kMostSegments = 16;  // most segments with notes that are examined
  constexpr std::size_t kMostBytes = std::size_t{64} << 10;
  const auto header = header_of(file);
  if (!header || header->e_phoff > file.size()) return {};
  int segments = 0;
  for (unsigned i = 0; i < header->e_phnum && segments < kMostSegments; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    if (segment->p_type != PT_NOTE) continue;
    ++segments;
    const std::string_view notes = range(file, segment->p_offset, segment->p_filesz);
    std::string id = build_id_in(notes.substr(0, kMostBytes));
    if (!id.empty()) return id;
  }
  return {};
}

std::string_view elf_constants(std::string_view file) {
  const auto header = header_of(file);
  if (!header) return file;
  const auto names = section_at(file, *header, header->e_shstrndx);
  if (!names) return file;
  const std::string_view text = range(file, names->sh_offset, names->sh_size);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto section = section_at(file, *header, i);
    if (!section) break;
    constexpr std::string_view kName(".rodata\0", 8);
    if (section->sh_name >= text.size() || !text.substr(section->sh_name).starts_with(kName)) {
      continue;
    }
    const std::string_view constants = range(file, section->sh_offset, section->sh_size);
    return constants.empty() ? file : constants;
  }
  return file;
}

}  // namespace muster::facts
