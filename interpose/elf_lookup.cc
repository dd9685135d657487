// Walks the loaded objects and their GNU hash tables.
// Must not trust that an object has any of the tables.
#include "interpose/elf_lookup.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace chokepoint::interpose {

namespace {

// The tables of one object.
struct Object {
  ElfW(Addr) base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* hash = nullptr;
  const ElfW(Half) * versions = nullptr;
};

std::uint32_t HashOf(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

bool Open(const dl_phdr_info& info, Object* out) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  }
  if (dynamic == nullptr) return false;
  out->base = info.dlpi_addr;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    // The linker has made addresses of the offsets, but for the kernel's own object.
    ElfW(Addr) at = dynamic->d_un.d_ptr;
    if (at < info.dlpi_addr) at += info.dlpi_addr;
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        out->symbols = reinterpret_cast<const ElfW(Sym)*>(at);
        break;
      case DT_STRTAB:
        out->strings = reinterpret_cast<const char*>(at);
        break;
      case DT_GNU_HASH:
        out->hash = reinterpret_cast<const std::uint32_t*>(at);
        break;
      case DT_VERSYM:
        out->versions = reinterpret_cast<const ElfW(Half)*>(at);
        break;
      default:
        break;
    }
  }
  return out->symbols != nullptr && out->strings != nullptr && out->hash != nullptr;
}

// A defined function, of the version that is the default one.
bool IsWanted(const Object& object, std::uint32_t index, const char* name) {
  constexpr ElfW(Half) kHidden = 0x8000;
  const ElfW(Sym)& symbol = object.symbols[index];
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
  if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return false;
  if (object.versions != nullptr && (object.versions[index] & kHidden) != 0) return false;
  return std::strcmp(object.strings + symbol.st_name, name) == 0;
}

void* Find(const Object& object, const char* name, std::uint32_t hash) {
  const std::uint32_t bucket_count = object.hash[0];
  const std::uint32_t first_symbol = object.hash[1];
  const std::uint32_t bloom_words = object.hash[2];
  const std::uint32_t bloom_shift = object.hash[3];
  if (bucket_count == 0 || bloom_words == 0) return nullptr;
  constexpr std::uint32_t kBits = sizeof(ElfW(Addr)) * 8;
  const auto* bloom = reinterpret_cast<const ElfW(Addr)*>(object.hash + 4);
  const ElfW(Addr) word = bloom[hash / kBits % bloom_words];
  if (((word >> (hash % kBits)) & (word >> ((hash >> bloom_shift) % kBits)) & 1) == 0)
    return nullptr;
  const auto* buckets = reinterpret_cast<const std::uint32_t*>(bloom + bloom_words);
  const std::uint32_t* chain = buckets + bucket_count;
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const std::uint32_t found = chain[index - first_symbol];
    if ((found | 1) == (hash | 1) && IsWanted(object, index, name)) {
      return reinterpret_cast<void*>(object.base + object.symbols[index].st_value);
    }
    if ((found & 1) != 0) return nullptr;
  }
}

bool Contains(const dl_phdr_info& info, const void* address) {
  const auto at = reinterpret_cast<ElfW(Addr)>(address);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const ElfW(Addr) begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && at >= begin && at < begin + part.p_memsz) return true;
  }
  return false;
}

struct NextSearch {
  const Wanted* wanted;
  std::size_t count;
  bool after_us;
};

int LookAfterUs(dl_phdr_info* info, std::size_t /*bytes*/, void* argument) {
  auto* search = static_cast<NextSearch*>(argument);
  if (!search->after_us) {
    search->after_us = Contains(*info, reinterpret_cast<const void*>(&LookAfterUs));
    return 0;
  }
  Object object;
  if (!Open(*info, &object)) return 0;
  for (std::size_t i = 0; i < search->count; ++i) {
    const Wanted& wanted = search->wanted[i];
    if (*wanted.place == nullptr) *wanted.place = Find(object, wanted.name, HashOf(wanted.name));
  }
  return 0;
}

struct PartSearch {
  const char* part;
  const char* name;
  void* found;
};

int LookInPart(dl_phdr_info* info, std::size_t /*bytes*/, void* argument) {
  auto* search = static_cast<PartSearch*>(argument);
  if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, search->part) == nullptr) return 0;
  Object object;
  if (Open(*info, &object)) search->found = Find(object, search->name, HashOf(search->name));
  return search->found != nullptr ? 1 : 0;
}

}  // namespace

void FindNext(const Wanted* wanted, std::size_t count) {
  NextSearch search{wanted, count, false};
  dl_iterate_phdr(&LookAfterUs, &search);
}

void* FindIn(const char* part, const char* name) {
  PartSearch search{part, name, nullptr};
  dl_iterate_phdr(&LookInPart, &search);
  return search.found;
}

}  // namespace chokepoint::interpose
