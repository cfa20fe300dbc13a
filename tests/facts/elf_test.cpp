#include "facts/elf.hpp"

#include <cstring>

#include <elf.h>
#include <gtest/gtest.h>

#include "facts/mapped_file.hpp"

namespace muster::facts {
namespace {

template <class T>
void put(std::string& file, std::size_t offset, const T& value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
}

TEST(Elf, of_a_real_program) {
  const auto file = MappedFile::open("/proc/self/exe");  // this test itself, a dynamic program
  ASSERT_TRUE(file);
  EXPECT_TRUE(is_elf(file->bytes()));
  EXPECT_TRUE(elf_interpreter(file->bytes()).value_or("").find("ld-") != std::string::npos);
  const std::string_view constants = elf_constants(file->bytes());
  EXPECT_LT(constants.size(), file->bytes().size());
  EXPECT_NE(constants.find("a string that stands nowhere else but here"), std::string_view::npos);
}

TEST(Elf, architecture_is_in_the_header) {
  std::string file(sizeof(Elf64_Ehdr), '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  for (const auto& [number, name] : std::vector<std::pair<Elf64_Half, std::string>>{
           {EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}, {EM_RISCV, ""}}) {
    header.e_machine = number;
    put(file, 0, header);
    EXPECT_EQ(elf_architecture(file), name);
  }
  header.e_machine = EM_X86_64;
  header.e_ident[EI_CLASS] = ELFCLASS32;  // such programs run on x86_64, too
  put(file, 0, header);
  EXPECT_EQ(elf_architecture(file), "");
  EXPECT_EQ(elf_architecture(ELFMAG), "");
}

TEST(Elf, of_a_script_there_is_nothing) {
  EXPECT_EQ(elf_architecture("#!/bin/sh\n"), "");
  EXPECT_FALSE(is_elf("#!/bin/sh\n"));
  EXPECT_FALSE(elf_interpreter("#!/bin/sh\n"));
  EXPECT_EQ(elf_constants("#!/bin/sh\n"), "#!/bin/sh\n");
}

TEST(Elf, offsets_out_of_the_file_are_harmless) {
  for (const std::uint64_t wild : {std::uint64_t{100}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    std::string file(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), '\0');
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof header;
    header.e_phnum = 65535;
    header.e_shoff = wild;
    header.e_shnum = 65535;
    header.e_shstrndx = 65535;
    put(file, 0, header);
    Elf64_Phdr segment{};
    segment.p_type = PT_INTERP;
    segment.p_offset = wild;
    segment.p_filesz = wild;
    put(file, sizeof header, segment);
    EXPECT_EQ(elf_interpreter(file).value_or(""), "");
    EXPECT_EQ(elf_constants(file), file);
  }
}

// Makes a file whose last note segment has these notes; the other segments have none.
std::string file_with_notes(const std::string& notes, std::uint16_t segments = 1) {
  std::string file(sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr), '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phnum = segments;
  put(file, 0, header);
  for (std::size_t i = 0; i < segments; ++i) {
    Elf64_Phdr segment{};
    segment.p_type = PT_NOTE;
    segment.p_offset = file.size();
    segment.p_filesz = i + 1 == segments ? notes.size() : 0;
    put(file, sizeof header + i * sizeof segment, segment);
  }
  return file + notes;
}

std::string note(std::uint32_t type, const std::string& name, const std::string& content) {
  Elf64_Nhdr header{};
  header.n_namesz = static_cast<std::uint32_t>(name.size());
  header.n_descsz = static_cast<std::uint32_t>(content.size());
  header.n_type = type;
  std::string text(sizeof header, '\0');
  put(text, 0, header);
  for (const std::string& part : {name, content}) {
    text += part;
    text.resize((text.size() + 3) / 4 * 4);
  }
  return text;
}

TEST(Elf, build_id_is_found_among_other_notes) {
  const std::string gnu("GNU\0", 4);
  const std::string id = note(NT_GNU_BUILD_ID, gnu, "\x01\xab\x0f");
  EXPECT_EQ(elf_build_id(file_with_notes(note(1, gnu, "abcde") + id)), "01ab0f");
  EXPECT_EQ(elf_build_id(file_with_notes(note(NT_GNU_BUILD_ID, "xyz", "1") + id)), "01ab0f");
  EXPECT_EQ(elf_build_id(file_with_notes(note(1, gnu, "abcde"))), "");
  EXPECT_EQ(elf_build_id("#!/bin/sh\n"), "");
  const std::string long_id = note(NT_GNU_BUILD_ID, gnu, std::string(500, 'x'));
  EXPECT_EQ(elf_build_id(file_with_notes(long_id)).size(), 128U);
}

TEST(Elf, notes_without_end_are_not_searched) {
  const std::string id = note(NT_GNU_BUILD_ID, std::string("GNU\0", 4), "\x01");
  const auto empty_notes = [](std::size_t count) {
    return std::string(count * sizeof(Elf64_Nhdr), '\0');
  };
  EXPECT_EQ(elf_build_id(file_with_notes(empty_notes(5000) + id)), "01");
  EXPECT_EQ(elf_build_id(file_with_notes(empty_notes(6000) + id)), "");  // 64 KiB
  EXPECT_EQ(elf_build_id(file_with_notes(id, 16)), "01");
  EXPECT_EQ(elf_build_id(file_with_notes(id, 17)), "");
}

TEST(Elf, notes_out_of_the_file_are_harmless) {
  const std::string gnu("GNU\0", 4);
  for (const std::uint32_t wild : {std::uint32_t{100}, ~std::uint32_t{0}, ~std::uint32_t{3}}) {
    const Elf64_Nhdr header{.n_namesz = wild, .n_descsz = wild, .n_type = NT_GNU_BUILD_ID};
    std::string notes(sizeof header, '\0');
    put(notes, 0, header);
    EXPECT_EQ(elf_build_id(file_with_notes(notes)), "");
  }
  const std::string whole = file_with_notes(note(NT_GNU_BUILD_ID, gnu, "abcd"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(elf_build_id(std::string_view(whole).substr(0, size)), "");
  }
}

TEST(Elf, every_cut_of_a_real_program_is_harmless) {
  const auto file = MappedFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  for (std::size_t size = 0; size < 512; ++size) {
    const std::string_view cut = file->bytes().substr(0, size);
    (void)elf_interpreter(cut);
    EXPECT_EQ(elf_constants(cut), cut);
  }
}

}  // namespace
}  // namespace muster::facts
