// Which NCCL called us: the version that the library says of itself.
// Must not load anything or look a symbol up by the dynamic linker: it reads the tables of objects
// that are mapped already.
#pragma once

namespace chokepoint::plugin {

// 22809 for 2.28.9, of the object that `caller` lies in, else of any object that exports
// ncclGetVersion; 0 = unknown.
int NcclVersionOf(const void* caller) noexcept;

// Address of a function in the object that holds `caller` (null: in any object). Null: not exported
// there.
const void* FindExported(const void* caller, const char* name) noexcept;

}  // namespace chokepoint::plugin
