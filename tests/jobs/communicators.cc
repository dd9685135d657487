// Communicators from unique ids, which rank 0 passes on in files, or by splitting.
// It must not wait for ever for an id.
#include "tests/jobs/communicators.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/jobs/clock.h"

namespace chokepoint::jobs {
namespace {

constexpr double kPollSeconds = 0.002;

[[noreturn]] void Die(const std::string& path) {
  perror(("training_job: " + path).c_str());
  _exit(3);
}

// The file appears complete: it is written under another name first.
void PublishId(const std::string& path, const ncclUniqueId& id) {
  FILE* file = fopen((path + ".new").c_str(), "w");
  if (file == nullptr) Die(path);
  if (fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) != 0) Die(path);
  if (rename((path + ".new").c_str(), path.c_str()) != 0) Die(path);
}

ncclUniqueId AwaitId(const std::string& path, double timeout_s) {
  const uint64_t start_ns = MonotonicNs();
  ncclUniqueId id;
  for (;;) {
    if (FILE* file = fopen(path.c_str(), "r")) {
      if (fread(&id, sizeof id, 1, file) != 1) Die(path);
      fclose(file);
      return id;
    }
    if (SecondsSince(start_ns) > timeout_s) Die(path);
    Sleep(kPollSeconds);
  }
}

ncclComm_t FromUniqueId(const JobOptions& options, const RankEnvironment& environment,
                        int ordinal) {
  const std::string path =
      options.out_dir + "/nccl-id-" + environment.run_id + "-" + std::to_string(ordinal);
  ncclUniqueId id;
  if (environment.rank == 0) {
    NCCL_CHECK(ncclGetUniqueId(&id));
    PublishId(path, id);
  } else {
    id = AwaitId(path, options.timeout_s);
  }
  ncclComm_t comm = nullptr;
  NCCL_CHECK(ncclCommInitRank(&comm, environment.ranks, id, environment.rank));
  if (environment.rank == 0) remove(path.c_str());  // everybody has read it by now
  return comm;
}

}  // namespace

std::vector<ncclComm_t> CreateCommunicators(const JobOptions& options,
                                            const RankEnvironment& environment) {
  std::vector<ncclComm_t> comms;
  comms.push_back(FromUniqueId(options, environment, 0));
  for (int ordinal = 1; ordinal < options.comms; ordinal++) {
    if (options.comm_source == CommSource::kUniqueIds) {
      comms.push_back(FromUniqueId(options, environment, ordinal));
    } else {
      ncclComm_t comm = nullptr;
      NCCL_CHECK(ncclCommSplit(comms[0], 0, environment.rank, &comm, nullptr));
      comms.push_back(comm);
    }
  }
  return comms;
}

void DestroyCommunicators(std::vector<ncclComm_t>* comms) {
  for (size_t i = comms->size(); i-- > 0;) {
    NCCL_CHECK(ncclCommFinalize((*comms)[i]));
    NCCL_CHECK(ncclCommDestroy((*comms)[i]));
  }
  comms->clear();
}

}  // namespace chokepoint::jobs
