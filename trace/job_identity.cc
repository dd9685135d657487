// The variables of Slurm, Kubernetes, LSF, PBS, SGE, torchrun and the MPI launchers, in order of
// preference. Must not record any value that is not on a list here.
#include "trace/job_identity.h"

#include <cstdlib>
#include <cstring>

#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::trace {
namespace {

constexpr const char* kRankVariables[] = {
    "RANK",      "SLURM_PROCID",       "OMPI_COMM_WORLD_RANK", "PMI_RANK",
    "PMIX_RANK", "JSM_NAMESPACE_RANK", "PALS_RANKID",          "MV2_COMM_WORLD_RANK"};
constexpr const char* kLocalRankVariables[] = {"LOCAL_RANK",
                                               "SLURM_LOCALID",
                                               "OMPI_COMM_WORLD_LOCAL_RANK",
                                               "MPI_LOCALRANKID",
                                               "JSM_NAMESPACE_LOCAL_RANK",
                                               "PALS_LOCAL_RANKID",
                                               "MV2_COMM_WORLD_LOCAL_RANK"};
constexpr const char* kWorldSizeVariables[] = {"WORLD_SIZE",           "SLURM_NTASKS",
                                               "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                               "JSM_NAMESPACE_SIZE",   "MV2_COMM_WORLD_SIZE"};
constexpr const char* kJobVariables[] = {"SLURM_JOB_ID",
                                         "LSB_JOBID",
                                         "PBS_JOBID",
                                         "COBALT_JOBID",
                                         "FLUX_JOB_ID",
                                         "JOB_ID",
                                         "KUBEFLOW_JOB_NAME",
                                         "TORCHELASTIC_RUN_ID",
                                         "OMPI_MCA_ess_base_jobid",
                                         "PMIX_NAMESPACE",
                                         "PMI_JOBID"};
constexpr const char* kAlsoRecorded[] = {
    "OMP_NUM_THREADS",    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
    "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID",  "SLURM_STEP_ID",
    "SLURM_NNODES",       "SLURM_RESTART_COUNT",  "TORCHELASTIC_RESTART_COUNT",
    "GROUP_RANK",         "LOCAL_WORLD_SIZE"};
constexpr const char* kRecordedPrefixes[] = {"NCCL_", "CHOKEPOINT_"};

template <std::size_t N>
long FirstNumber(const char* const (&names)[N], const char** source) noexcept {
  for (const char* name : names) {
    const long number = ParseNumber(std::getenv(name));
    if (number < 0) continue;
    *source = name;
    return number;
  }
  return -1;
}

template <std::size_t N>
bool Contains(const char* const (&names)[N], const char* name, std::size_t bytes) noexcept {
  for (const char* candidate : names) {
    if (std::strlen(candidate) == bytes && std::memcmp(candidate, name, bytes) == 0) return true;
  }
  return false;
}

bool IsUsableJobId(const char* text) noexcept {
  // why: torchrun's default run id is the same for every job.
  return text != nullptr && *text != '\0' && std::strcmp(text, "none") != 0;
}

void CopyFileSafe(const char* from, Text* to) noexcept {
  for (; *from != '\0'; ++from) {
    const bool plain = (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') ||
                       (*from >= '0' && *from <= '9') || *from == '-' || *from == '_' ||
                       *from == '.';
    to->AddChar(plain ? *from : '_');
  }
}

}  // namespace

void ReadJobIdentity(long rank, long ranks, JobIdentity* out) noexcept {
  *out = JobIdentity{};
  const char* ignored = "";
  out->rank = FirstNumber(kRankVariables, &out->rank_source);
  out->local_rank = FirstNumber(kLocalRankVariables, &ignored);
  out->world_size = FirstNumber(kWorldSizeVariables, &ignored);
  if (rank >= 0) {
    out->rank = rank;
    out->rank_source = "caller";
  }
  if (ranks > 0) out->world_size = ranks;
  Text id(out->job_id, sizeof(out->job_id));
  for (const char* name : kJobVariables) {
    const char* value = std::getenv(name);
    if (!IsUsableJobId(value)) continue;
    CopyFileSafe(value, &id);
    out->job_id_source = name;
    return;
  }
  // why: the processes of one shell command share their group, whoever of them starts first.
  id.AddNumber(static_cast<std::uint64_t>(raw::Call(SYS_getpgid, 0)));
}

bool MayRecordVariable(const char* assignment, std::size_t name_bytes) noexcept {
  for (const char* prefix : kRecordedPrefixes) {
    const std::size_t length = std::strlen(prefix);
    if (name_bytes > length && std::memcmp(assignment, prefix, length) == 0) return true;
  }
  return Contains(kJobVariables, assignment, name_bytes) ||
         Contains(kRankVariables, assignment, name_bytes) ||
         Contains(kLocalRankVariables, assignment, name_bytes) ||
         Contains(kWorldSizeVariables, assignment, name_bytes) ||
         Contains(kAlsoRecorded, assignment, name_bytes);
}

}  // namespace chokepoint::trace
