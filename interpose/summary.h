// Totals of all file calls of the process by kind, class and mount: what remains when old records
// must be given up. Must run on the drain thread only.
#pragma once

#include <cstddef>

namespace chokepoint::interpose {

// Adds one record that was drained; others than FileCall, FileWindow and FileObject are passed
// over.
void AddToSummary(const void* record) noexcept;

// Writes the totals as FileSummary records.
void WriteSummary(void (*write)(const void* record, std::size_t bytes, void* argument),
                  void* argument) noexcept;

// In a forked child: they are the parent's.
void ForgetSummary();

}  // namespace chokepoint::interpose
