// How ranks and communicators are called wherever people read of them.
// Must not escape: renderers do.
#include "tools/model/timeline.h"

#include <fmt/format.h>

namespace chokepoint::tools {

std::string RankName(const Timeline& timeline, Index rank) {
  if (rank >= timeline.ranks.size()) return "an unrecorded rank";
  const std::int32_t number = timeline.ranks[rank].number;
  return number < 0 ? fmt::format("pid {}", timeline.processes[timeline.ranks[rank].process].pid)
                    : fmt::format("rank {}", number);
}

std::string RankPlace(const Timeline& timeline, Index rank) {
  std::string name = RankName(timeline, rank);
  if (rank >= timeline.ranks.size()) return name;
  const Process& process = timeline.processes[timeline.ranks[rank].process];
  return fmt::format("{} (host {}, pid {})", name, timeline.hosts[process.host].name, process.pid);
}

std::string Capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string CommunicatorName(const Communicator& communicator) {
  return communicator.name.empty() ? fmt::format("{:#x}", communicator.id) : communicator.name;
}

}  // namespace chokepoint::tools
