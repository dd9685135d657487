// Reads and writes RANK, WORLD_SIZE and the like.
// It must not overwrite NCCL settings that the user has made.
#include "tests/jobs/rank_environment.h"

#include <unistd.h>

#include <cstdlib>

namespace chokepoint::jobs {
namespace {

int ReadInt(const char* name, int fallback) {
  const char* text = getenv(name);
  return text == nullptr ? fallback : atoi(text);
}

std::string ReadText(const char* name, const char* fallback) {
  const char* text = getenv(name);
  return text == nullptr ? fallback : text;
}

void Set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

}  // namespace

bool IsRankProcess() { return getenv("RANK") != nullptr && getenv("WORLD_SIZE") != nullptr; }

RankEnvironment ReadRankEnvironment() {
  RankEnvironment environment;
  environment.rank = ReadInt("RANK", 0);
  environment.ranks = ReadInt("WORLD_SIZE", 1);
  environment.local_rank = ReadInt("LOCAL_RANK", environment.rank);
  environment.local_ranks = ReadInt("LOCAL_WORLD_SIZE", environment.ranks);
  environment.node = ReadInt("GROUP_RANK", ReadInt("NODE_RANK", 0));
  environment.run_id = ReadText("TORCHELASTIC_RUN_ID", ReadText("MASTER_PORT", "run").c_str());
  return environment;
}

RankEnvironment RankOf(const JobOptions& options, int rank, const std::string& run_id) {
  RankEnvironment environment;
  environment.rank = rank;
  environment.ranks = options.ranks;
  environment.local_ranks = options.ranks / options.nodes;
  environment.local_rank = rank % environment.local_ranks;
  environment.node = rank / environment.local_ranks;
  environment.run_id = run_id;
  return environment;
}

void ExportRankEnvironment(const RankEnvironment& environment) {
  Set("RANK", std::to_string(environment.rank));
  Set("WORLD_SIZE", std::to_string(environment.ranks));
  Set("LOCAL_RANK", std::to_string(environment.local_rank));
  Set("LOCAL_WORLD_SIZE", std::to_string(environment.local_ranks));
  Set("NODE_RANK", std::to_string(environment.node));
  Set("GROUP_RANK", std::to_string(environment.node));
  Set("TORCHELASTIC_RUN_ID", environment.run_id);
  Set("MASTER_ADDR", "127.0.0.1");
  Set("MASTER_PORT", std::to_string(20000 + getppid() % 20000));  // for show: nobody listens there
  // Nodes are told apart by this; between them NCCL uses sockets, within one shared memory.
  Set("NCCL_HOSTID", "node" + std::to_string(environment.node));
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
}

}  // namespace chokepoint::jobs
