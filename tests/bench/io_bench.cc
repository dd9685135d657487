// What the preload library adds to one call: the same call through the program's own symbol
// (hooked) and straight into libc (bare), in alternating blocks of one process; medians of the
// paired differences. Run it under the library, and without for the noise floor. Must not compare
// numbers of two runs.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

// The calls of a program, by two ways.
struct Calls {
  decltype(&::read) read;
  decltype(&::pread) pread;
  decltype(&::pwrite) pwrite;
  decltype(&::write) write;
  int (*open)(const char*, int, ...);
  decltype(&::close) close;
  decltype(&::lseek) lseek;
  decltype(&::fwrite) fwrite;
};

Calls Hooked() {
  return {&::read, &::pread, &::pwrite, &::write, &::open, &::close, &::lseek, &::fwrite};
}

template <class Function>
Function FromLibc(const char* name) {
  static void* const kLibc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<Function>(dlsym(kLibc, name));
}

Calls Bare() {
  Calls calls{};
  calls.read = FromLibc<decltype(calls.read)>("read");
  calls.pread = FromLibc<decltype(calls.pread)>("pread64");
  calls.pwrite = FromLibc<decltype(calls.pwrite)>("pwrite64");
  calls.write = FromLibc<decltype(calls.write)>("write");
  calls.open = FromLibc<decltype(calls.open)>("open64");
  calls.close = FromLibc<decltype(calls.close)>("close");
  calls.lseek = FromLibc<decltype(calls.lseek)>("lseek64");
  calls.fwrite = FromLibc<decltype(calls.fwrite)>("fwrite");
  return calls;
}

constexpr int kFileBytes = 1 << 20;
constexpr int kBlockBytes = 4096;
char g_data[kBlockBytes];

struct Case {
  const char* name;
  int calls;  // in a block
  void (*run)(const Calls& calls, int fd, int count, const std::string& directory);
};

void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

void Read(const Calls& calls, int fd, int count, const std::string&) {
  calls.lseek(fd, 0, SEEK_SET);
  for (int i = 0; i < count; ++i) {
    if (calls.read(fd, g_data, kBlockBytes) != kBlockBytes) Fail("read");
  }
}
void Pread(const Calls& calls, int fd, int count, const std::string&) {
  for (int i = 0; i < count; ++i) {
    if (calls.pread(fd, g_data, kBlockBytes, i * kBlockBytes) != kBlockBytes) Fail("pread");
  }
}
void Pwrite(const Calls& calls, int fd, int count, const std::string&) {
  for (int i = 0; i < count; ++i) {
    if (calls.pwrite(fd, g_data, kBlockBytes, i * kBlockBytes) != kBlockBytes) Fail("pwrite");
  }
}
void OpenReadClose(const Calls& calls, int, int count, const std::string& directory) {
  char path[512];
  for (int i = 0; i < count; ++i) {
    std::snprintf(path, sizeof(path), "%s/sample_%03d.jpg", directory.c_str(), i);
    const int fd = calls.open(path, O_RDONLY);
    if (fd < 0 || calls.read(fd, g_data, kBlockBytes) != kBlockBytes) Fail("small file");
    calls.close(fd);
  }
}
// A descriptor that is no file: one load and one comparison.
void WritePipe(const Calls& calls, int, int count, const std::string&) {
  static const int kNull = open("/dev/null", O_WRONLY);
  for (int i = 0; i < count; ++i) {
    if (calls.write(kNull, g_data, kBlockBytes) != kBlockBytes) Fail("write");
  }
}
void SmallFwrite(const Calls& calls, int, int count, const std::string& directory) {
  static FILE* const kFile = std::fopen((directory + "/stream").c_str(), "w");
  std::fseek(kFile, 0, SEEK_SET);
  for (int i = 0; i < count; ++i) calls.fwrite(g_data, 1, 16, kFile);
}

constexpr Case kCases[] = {{"read 4 KiB", 200, Read},
                           {"pread 4 KiB", 200, Pread},
                           {"pwrite 4 KiB", 200, Pwrite},
                           {"open+read+close 4 KiB", 100, OpenReadClose},
                           {"write 4 KiB to /dev/null", 200, WritePipe},
                           {"fwrite 16 B", 200, SmallFwrite}};

double Median(std::vector<double>* values) {
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  return *middle;
}

double BlockNs(const Case& what, const Calls& calls, int fd, const std::string& directory) {
  const auto begin = std::chrono::steady_clock::now();
  what.run(calls, fd, what.calls, directory);
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / what.calls;
}

std::string MakeDirectory() {
  std::string pattern = "/dev/shm/io_bench_XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) Fail("mkdtemp");
  for (int i = 0; i < 100; ++i) {
    char path[512];
    std::snprintf(path, sizeof(path), "%s/sample_%03d.jpg", pattern.c_str(), i);
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (write(fd, g_data, kBlockBytes) != kBlockBytes) Fail("write");
    close(fd);
  }
  return pattern;
}

}  // namespace

int main(int argc, char** argv) {
  const int blocks = argc > 1 ? std::atoi(argv[1]) : 800;
  const std::string directory = MakeDirectory();
  const int fd = open((directory + "/data").c_str(), O_RDWR | O_CREAT, 0600);
  std::vector<char> content(kFileBytes, 'x');
  if (write(fd, content.data(), content.size()) != kFileBytes) Fail("write");
  const Calls hooked = Hooked();
  const Calls bare = Bare();
  std::printf("%-26s %10s %10s %10s %8s\n", "call", "bare ns", "hooked ns", "added ns", "ratio");
  for (const Case& what : kCases) {
    std::vector<double> bare_ns;
    std::vector<double> hooked_ns;
    std::vector<double> added_ns;
    for (int i = 0; i < blocks; ++i) {
      const bool bare_first = i % 2 == 0;
      const double first = BlockNs(what, bare_first ? bare : hooked, fd, directory);
      const double second = BlockNs(what, bare_first ? hooked : bare, fd, directory);
      bare_ns.push_back(bare_first ? first : second);
      hooked_ns.push_back(bare_first ? second : first);
      added_ns.push_back(hooked_ns.back() - bare_ns.back());
    }
    const double bare_median = Median(&bare_ns);
    const double hooked_median = Median(&hooked_ns);
    std::printf("%-26s %10.1f %10.1f %10.1f %8.3f\n", what.name, bare_median, hooked_median,
                Median(&added_ns), hooked_median / bare_median);
  }
  const std::string remove = "rm -rf " + directory;
  return std::system(remove.c_str()) == 0 ? 0 : 1;
}
