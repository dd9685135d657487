#include "tests/softgpu/redirect/elf_file.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace softgpu {

std::unique_ptr<ElfFile> ElfFile::open(const char *path) {
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat status;
  void *data = MAP_FAILED;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
    data = mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);  // only the tables' pages are ever read
  close(fd);
  if (data == MAP_FAILED) return nullptr;
  std::unique_ptr<ElfFile> file(new ElfFile);
  file->data_ = (const uint8_t *)data;
  file->size_ = status.st_size;
  return file->parse() ? std::move(file) : nullptr;
}

ElfFile::~ElfFile() {
  if (data_) munmap((void *)data_, size_);
}

template <class T> const T *ElfFile::at(uint64_t offset, uint64_t count) const {
  if (offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
  return (const T *)(data_ + offset);
}

bool ElfFile::parse() {
  auto *header = at<Elf64_Ehdr>(0);
  if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_machine != EM_X86_64)
    return false;
  auto *sections = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (!sections) return true;  // no section table: no symbols to be had
  for (int i = 0; i < header->e_shnum; i++) {
    const Elf64_Shdr &section = sections[i];
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_link >= header->e_shnum) continue;
    const Elf64_Shdr &strings = sections[section.sh_link];
    SymbolTable t;
    t.count = section.sh_size / sizeof(Elf64_Sym);
    t.symbols = at<Elf64_Sym>(section.sh_offset, t.count);
    t.names = at<char>(strings.sh_offset, strings.sh_size);
    t.nameBytes = strings.sh_size;
    bool usable = t.symbols && t.names && t.nameBytes && !t.names[t.nameBytes - 1];
    if (usable) tables_[section.sh_type == SHT_SYMTAB ? kSymtab : kDynsym] = t;
  }
  return true;
}

const uint8_t *ElfFile::bytesAt(uint64_t address, size_t size) const {
  auto *header = at<Elf64_Ehdr>(0);
  auto *segments = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  for (int i = 0; segments && i < header->e_phnum; i++) {
    const Elf64_Phdr &s = segments[i];
    if (s.p_type != PT_LOAD || address < s.p_vaddr || address - s.p_vaddr + size > s.p_filesz) continue;
    return at<uint8_t>(s.p_offset + (address - s.p_vaddr), size);
  }
  return nullptr;
}

}  // namespace softgpu
