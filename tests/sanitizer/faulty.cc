// Does one wrong thing on purpose, so that a test can see that the sanitizer of this build notices
// it. Must not do anything right: argument "heap" reads past an allocation, "race" writes from two
// threads at once.
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

int g_shared = 0;

int ReadPastTheEnd(int bytes) {
  std::vector<char> buffer(static_cast<std::size_t>(bytes));
  volatile const char* data = buffer.data();
  return data[bytes];
}

int Race() {
  std::thread other([] {
    for (int i = 0; i < 1000; ++i) ++g_shared;
  });
  for (int i = 0; i < 1000; ++i) ++g_shared;
  other.join();
  return g_shared;
}

}  // namespace

int main(int argc, char** argv) {
  const bool heap = argc > 1 && std::strcmp(argv[1], "heap") == 0;
  std::printf("done, %d\n", heap ? ReadPastTheEnd(argc * 8) : Race());
  return 0;
}
