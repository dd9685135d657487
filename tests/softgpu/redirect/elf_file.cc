// Maps an ELF file and finds its symbol tables; every offset in it is checked.
// It must not change the file, nor trust it.
#include "tests/softgpu/redirect/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace chokepoint::softgpu {

std::unique_ptr<ElfFile> ElfFile::Open(const char* path) {
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat status;
  void* data = MAP_FAILED;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    // Only the tables' pages are ever read.
    data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  }
  close(fd);
  if (data == MAP_FAILED) return nullptr;
  std::unique_ptr<ElfFile> file(new ElfFile);
  file->data_ = static_cast<const uint8_t*>(data);
  file->size_ = static_cast<size_t>(status.st_size);
  return file->Parse() ? std::move(file) : nullptr;
}

ElfFile::~ElfFile() {
  if (data_) munmap(const_cast<uint8_t*>(data_), size_);
}

template <class T>
const T* ElfFile::At(uint64_t offset, uint64_t count) const {
  if (offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
  return reinterpret_cast<const T*>(data_ + offset);
}

bool ElfFile::Parse() {
  auto* header = At<Elf64_Ehdr>(0);
  if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64)
    return false;
  auto* sections = At<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (!sections) return true;  // no section table: no symbols to be had
  for (int i = 0; i < header->e_shnum; i++) {
    const Elf64_Shdr& section = sections[i];
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_link >= header->e_shnum) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    SymbolTable t;
    t.count = section.sh_size / sizeof(Elf64_Sym);
    t.symbols = At<Elf64_Sym>(section.sh_offset, t.count);
    t.names = At<char>(strings.sh_offset, strings.sh_size);
    t.name_bytes = strings.sh_size;
    bool usable = t.symbols && t.names && t.name_bytes && !t.names[t.name_bytes - 1];
    if (usable) tables_[section.sh_type == SHT_SYMTAB ? kSymtab : kDynsym] = t;
  }
  return true;
}

const uint8_t* ElfFile::BytesAt(uint64_t address, size_t size) const {
  auto* header = At<Elf64_Ehdr>(0);
  auto* segments = At<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  for (int i = 0; segments && i < header->e_phnum; i++) {
    const Elf64_Phdr& s = segments[i];
    if (s.p_type != PT_LOAD || address < s.p_vaddr || address - s.p_vaddr + size > s.p_filesz)
      continue;
    return At<uint8_t>(s.p_offset + (address - s.p_vaddr), size);
  }
  return nullptr;
}

}  // namespace chokepoint::softgpu
