// Totals by kind of operation over the whole run: what is left when old records had to be given up.
// Must only be called on the drain thread: it has no locks.
#pragma once

#include <cstddef>

namespace chokepoint::plugin {

// Adds a drained record, if it is an operation.
void SummariseRecord(const void* record) noexcept;
// Writes an OperationSummary for each kind. What found no room in the table is under function 0.
void WriteSummary(void (*write)(const void* record, std::size_t bytes, void* argument),
                  void* argument) noexcept;

}  // namespace chokepoint::plugin
