// The launcher: fork and exec per rank, bounded waiting, and killing by process id.
// It must not leave a child behind, however it ends.
#include "tests/jobs/launcher.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/jobs/clock.h"
#include "tests/jobs/rank_environment.h"

namespace chokepoint::jobs {
namespace {

constexpr double kTermGraceSeconds = 3;   // between SIGTERM and SIGKILL
constexpr double kDeathGraceSeconds = 2;  // for the others to notice a death and end by themselves
constexpr double kPollSeconds = 0.01;

volatile sig_atomic_t stop_requested = 0;
void OnStopSignal(int) { stop_requested = 1; }

struct Child {
  int rank = 0;
  pid_t pid = 0;
  bool running = true;
  int status = 0;
};

class Job {
 public:
  explicit Job(const JobOptions& options) : options_(options) {}

  void Start(char** argv);
  int Wait();

 private:
  void Reap();
  void WriteProcessList() const;
  void KillAll();
  int Running() const;
  int ExitStatus(bool timed_out) const;

  const JobOptions& options_;
  std::vector<Child> children_;
  uint64_t first_failure_ns_ = 0;
};

void Job::Start(char** argv) {
  const std::string run_id = std::to_string(getpid()) + "-" + std::to_string(RealtimeNs());
  const pid_t launcher = getpid();
  for (int rank = 0; rank < options_.ranks; rank++) {
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != launcher) _exit(kExitRankFailed);
      ExportRankEnvironment(RankOf(options_, rank, run_id));
      execv("/proc/self/exe", argv);
      perror("training_job: exec");
      _exit(kExitRankFailed);
    }
    if (pid < 0) {
      perror("training_job: fork");
      first_failure_ns_ = MonotonicNs();
      break;
    }
    Child child;
    child.rank = rank;
    child.pid = pid;
    children_.push_back(child);
  }
  WriteProcessList();
}

// For tests that kill a rank: who is who.
void Job::WriteProcessList() const {
  const std::string path = options_.out_dir + "/ranks.json";
  FILE* file = fopen((path + ".new").c_str(), "w");
  if (file == nullptr) return;
  fprintf(file, "{\"launcher\": %d, \"ranks\": [", getpid());
  for (const Child& child : children_) {
    fprintf(file, "%s{\"rank\": %d, \"pid\": %d}", child.rank == 0 ? "" : ", ", child.rank,
            child.pid);
  }
  fprintf(file, "]}\n");
  fclose(file);
  rename((path + ".new").c_str(), path.c_str());
}

int Job::Running() const {
  int running = 0;
  for (const Child& child : children_) running += child.running;
  return running;
}

void Job::Reap() {
  for (Child& child : children_) {
    if (!child.running || waitpid(child.pid, &child.status, WNOHANG) != child.pid) continue;
    child.running = false;
    const bool died = WIFSIGNALED(child.status) || WEXITSTATUS(child.status) > kExitWrongResults;
    if (!died) continue;
    if (first_failure_ns_ == 0) first_failure_ns_ = MonotonicNs();
    fprintf(stderr, "training_job: rank %d (process %d) ended with %s %d\n", child.rank, child.pid,
            WIFSIGNALED(child.status) ? "signal" : "status",
            WIFSIGNALED(child.status) ? WTERMSIG(child.status) : WEXITSTATUS(child.status));
  }
}

void Job::KillAll() {
  for (const int signal_number : {SIGTERM, SIGKILL}) {
    for (const Child& child : children_) {
      if (child.running) kill(child.pid, signal_number);
    }
    const uint64_t start_ns = MonotonicNs();
    while (Running() > 0 &&
           (signal_number == SIGKILL || SecondsSince(start_ns) < kTermGraceSeconds)) {
      Reap();
      Sleep(kPollSeconds);
    }
  }
}

int Job::Wait() {
  const uint64_t start_ns = MonotonicNs();
  const double after_failure_s =
      options_.keep_going_on_death ? options_.hang_timeout_s : kDeathGraceSeconds;
  bool timed_out = false;
  for (Reap(); Running() > 0; Reap()) {
    timed_out = SecondsSince(start_ns) > options_.timeout_s;
    const bool given_up =
        first_failure_ns_ != 0 && SecondsSince(first_failure_ns_) > after_failure_s;
    if (timed_out || given_up || stop_requested) {
      fprintf(stderr, "training_job: %s; ending %d ranks\n",
              stop_requested ? "interrupted"
              : timed_out    ? "timeout"
                             : "the others wait for a rank that is gone",
              Running());
      KillAll();
    } else {
      Sleep(kPollSeconds);
    }
  }
  return ExitStatus(timed_out);
}

int Job::ExitStatus(bool timed_out) const {
  if (timed_out) return kExitTimeout;
  if (first_failure_ns_ != 0 || stop_requested) return kExitRankFailed;
  for (const Child& child : children_) {
    if (WEXITSTATUS(child.status) != 0) return kExitWrongResults;
  }
  return kExitWell;
}

}  // namespace

int Launch(const JobOptions& options, char** argv) {
  if (mkdir(options.out_dir.c_str(), 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "training_job: %s: %s\n", options.out_dir.c_str(), strerror(errno));
    return kExitUsage;
  }
  signal(SIGTERM, OnStopSignal);
  signal(SIGINT, OnStopSignal);
  Job job(options);
  job.Start(argv);
  return job.Wait();
}

}  // namespace chokepoint::jobs
