// Reads dynamic symbol tables in memory. why not dlsym: glibc moved it between libraries, and a
// library built with a new glibc would then not load with an old one. Must not trust that an object
// has all tables: anything missing means "not exported".
#include "plugin/nccl_version.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace chokepoint::plugin {
namespace {

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
};

// glibc has relocated these pointers; other loaders leave offsets.
const void* Pointer(const dl_phdr_info& object, std::uint64_t value) noexcept {
  return reinterpret_cast<const void*>(
      static_cast<std::uintptr_t>(value < object.dlpi_addr ? object.dlpi_addr + value : value));
}

Tables TablesOf(const dl_phdr_info& object) noexcept {
  Tables tables;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const void* pointer = Pointer(object, entry->d_un.d_ptr);
      if (entry->d_tag == DT_SYMTAB) tables.symbols = static_cast<const ElfW(Sym)*>(pointer);
      if (entry->d_tag == DT_STRTAB) tables.strings = static_cast<const char*>(pointer);
      if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = static_cast<const std::uint32_t*>(pointer);
    }
  }
  return tables;
}

bool Contains(const dl_phdr_info& object, const void* address) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
    if (place >= begin && place < begin + segment.p_memsz) return true;
  }
  return false;
}

std::uint32_t GnuHash(const char* name) noexcept {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

const ElfW(Sym) * Lookup(const Tables& tables, const char* name) noexcept {
  if (tables.symbols == nullptr || tables.strings == nullptr || tables.gnu_hash == nullptr)
    return nullptr;
  const std::uint32_t buckets = tables.gnu_hash[0];
  const std::uint32_t first_hashed = tables.gnu_hash[1];
  const std::uint32_t bloom_words = tables.gnu_hash[2];
  if (buckets == 0) return nullptr;
  const auto* bucket = reinterpret_cast<const std::uint32_t*>(
      reinterpret_cast<const ElfW(Addr)*>(tables.gnu_hash + 4) + bloom_words);
  const std::uint32_t* chain = bucket + buckets;
  const std::uint32_t hash = GnuHash(name);
  std::uint32_t i = bucket[hash % buckets];
  if (i < first_hashed) return nullptr;
  for (;; ++i) {
    const std::uint32_t chained = chain[i - first_hashed];
    const ElfW(Sym)& symbol = tables.symbols[i];
    if ((chained | 1u) == (hash | 1u) && symbol.st_shndx != SHN_UNDEF &&
        std::strcmp(tables.strings + symbol.st_name, name) == 0) {
      return &symbol;
    }
    if ((chained & 1u) != 0) return nullptr;
  }
}

struct Search {
  const void* caller;
  const char* name;
  const void* found;
};

int VisitObject(dl_phdr_info* object, std::size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  if (search->caller != nullptr && !Contains(*object, search->caller)) return 0;
  const ElfW(Sym)* symbol = Lookup(TablesOf(*object), search->name);
  if (symbol == nullptr || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) return 0;
  search->found = reinterpret_cast<const void*>(object->dlpi_addr + symbol->st_value);
  return 1;
}

}  // namespace

const void* FindExported(const void* caller, const char* name) noexcept {
  Search search{caller, name, nullptr};
  dl_iterate_phdr(&VisitObject, &search);
  return search.found;
}

int NcclVersionOf(const void* caller) noexcept {
  const void* found = FindExported(caller, "ncclGetVersion");
  if (found == nullptr) found = FindExported(nullptr, "ncclGetVersion");
  if (found == nullptr) return 0;
  int version = 0;
  const auto get_version = reinterpret_cast<int (*)(int*)>(reinterpret_cast<std::uintptr_t>(found));
  return get_version(&version) == 0 ? version : 0;
}

}  // namespace chokepoint::plugin
