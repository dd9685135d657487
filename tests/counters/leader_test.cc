// One leader at a time, and another soon after it dies, stops, resigns, or leaves its lock to a
// child. Must not wait for more than it takes: heartbeats are counted in checks, not in seconds.
#include "counters/leader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

namespace chokepoint::tests {
namespace {

using counters::HostLeader;

class Leader : public testing::Test {
 protected:
  Leader() {
    char name[] = "/tmp/chokepoint-leader-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~Leader() override { std::filesystem::remove_all(directory_); }
  void Init(HostLeader* leader, const char* scope = "job", std::uint64_t network = 1) {
    leader->Init(directory_.c_str(), scope, network);
  }
  // A process that leads, says so through the pipe, and then does `then`.
  pid_t StartLeader(const std::function<void()>& then) {
    int pipe_fds[2];
    EXPECT_EQ(pipe(pipe_fds), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      HostLeader leader;
      Init(&leader);
      const char leads = leader.Check() ? 'y' : 'n';
      if (write(pipe_fds[1], &leads, 1) != 1) _exit(1);
      then();
      _exit(0);
    }
    char leads = '?';
    EXPECT_EQ(read(pipe_fds[0], &leads, 1), 1);
    EXPECT_EQ(leads, 'y');
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return pid;
  }
  // Number of checks until `leader` leads; -1 after `most`.
  static int ChecksUntilItLeads(HostLeader* leader, int most) {
    for (int i = 1; i <= most; ++i) {
      if (leader->Check()) return i;
    }
    return -1;
  }
  std::string directory_;
};

TEST_F(Leader, OneAtATime) {
  HostLeader first, second;
  Init(&first);
  Init(&second);
  EXPECT_TRUE(first.Check());
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(second.Check());
    EXPECT_TRUE(first.Check());
  }
}

TEST_F(Leader, OtherScopesAndNamespacesHaveTheirOwn) {
  HostLeader first, other_job, other_network;
  Init(&first);
  Init(&other_job, "another job");
  Init(&other_network, "job", 2);
  EXPECT_TRUE(first.Check());
  EXPECT_TRUE(other_job.Check());
  EXPECT_TRUE(other_network.Check());
  other_network.Resign();
  other_job.Resign();
  first.Resign();
}

TEST_F(Leader, ResigningLeavesNothingBehindAndAnotherLeadsAtTheNextCheck) {
  HostLeader first, second;
  Init(&first);
  Init(&second);
  ASSERT_TRUE(first.Check());
  ASSERT_FALSE(second.Check());
  first.Resign();
  EXPECT_LE(ChecksUntilItLeads(&second, 3), 2);
  second.Resign();
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(Leader, AKilledLeaderIsReplacedAtOnce) {
  const pid_t pid = StartLeader([] { pause(); });
  HostLeader next;
  Init(&next);
  EXPECT_FALSE(next.Check());
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(ChecksUntilItLeads(&next, 10), 1);
  next.Resign();
}

TEST_F(Leader, AStoppedLeaderIsReplacedAndGivesUpWhenItGoesOn) {
  HostLeader stopped, next;
  Init(&stopped);
  Init(&next);
  ASSERT_TRUE(stopped.Check());
  ASSERT_FALSE(next.Check());  // sees the first heartbeat
  const int checks = ChecksUntilItLeads(&next, 20);
  EXPECT_GE(checks, HostLeader::kPatience);
  EXPECT_LE(checks, HostLeader::kPatience + 2);
  EXPECT_FALSE(stopped.Check());
  EXPECT_TRUE(next.Check());
  next.Resign();
}

TEST_F(Leader, AChildThatHoldsADeadLeadersLockDoesNotBlockTheOthers) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t pid = StartLeader([&] {
    const pid_t child = fork();  // why: as clone() does it, without any handler
    if (child == 0) pause();
    if (write(pipe_fds[1], &child, sizeof(child)) < 0) _exit(1);
    pause();
  });
  pid_t child = 0;
  ASSERT_EQ(read(pipe_fds[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  HostLeader next;
  Init(&next);
  EXPECT_FALSE(next.Check());
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  const int checks = ChecksUntilItLeads(&next, 20);
  kill(child, SIGKILL);
  EXPECT_GT(checks, 0);
  EXPECT_LE(checks, HostLeader::kPatience + 2);
  next.Resign();
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST_F(Leader, AForkedChildThatForgetsLeavesTheLockToItsParent) {
  HostLeader leader, other;
  Init(&leader);
  Init(&other);
  ASSERT_TRUE(leader.Check());
  const pid_t pid = fork();
  if (pid == 0) {
    leader.ForgetAfterFork();
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
  EXPECT_FALSE(other.Check());
  EXPECT_TRUE(leader.Check());
  leader.Resign();
}

TEST_F(Leader, ADirectoryThatCannotBeWrittenMakesItImpossible) {
  HostLeader leader;
  leader.Init("/nonexistent/directory", "job", 1);
  EXPECT_FALSE(leader.Check());
  EXPECT_FALSE(leader.possible());
}

TEST_F(Leader, AForeignFileOrALinkIsNotTrusted) {
  HostLeader leader;
  Init(&leader);
  std::filesystem::create_symlink("/tmp/chokepoint-should-not-exist", leader.path());
  EXPECT_FALSE(leader.Check());
  EXPECT_FALSE(std::filesystem::exists("/tmp/chokepoint-should-not-exist"));
  std::filesystem::remove(leader.path());
  if (geteuid() != 0) GTEST_SKIP() << "making a file of another user needs root";
  close(open(leader.path(), O_CREAT | O_RDWR, 0666));
  ASSERT_EQ(chown(leader.path(), 12345, 12345), 0);
  EXPECT_FALSE(leader.Check());
}

TEST_F(Leader, AProgramThatClosesAllDescriptorsLosesTheLeadAndNothingElse) {
  HostLeader leader;
  Init(&leader);
  ASSERT_TRUE(leader.Check());
  int closed = -1;
  for (int fd = 4095; fd >= 3 && closed < 0; --fd) {
    if (fcntl(fd, F_GETFD) >= 0) closed = fd;
  }
  const int programs_own = open("/dev/null", O_RDONLY);
  ASSERT_EQ(dup2(programs_own, closed), closed);
  leader.Check();
  leader.Check();
  EXPECT_TRUE(leader.leads());
  leader.Resign();
  struct stat status;
  ASSERT_EQ(fstat(closed, &status), 0) << "the program's descriptor was closed";
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  close(closed);
  close(programs_own);
}

}  // namespace
}  // namespace chokepoint::tests
