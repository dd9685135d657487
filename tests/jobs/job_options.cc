// Parses the job's command line.
// It must not read the environment.
#include "tests/jobs/job_options.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace chokepoint::jobs {
namespace {

constexpr char kUsage[] =
    R"(usage: training_job [OPTIONS]
A training-like NCCL program. It starts one process per rank, or is itself a rank where RANK is set (torchrun, mpirun).

  --ranks N               processes (4)
  --nodes N               nodes that they pretend to be on, in equal parts (2)
  --steps N               training steps (60)
  --out DIR               folder for checkpoints, truth-rank<N>.json, ranks.json (training-job-out)
  --seed S                seed of the compute jitter (1)
  --fault late-rank:RANK:MS   RANK computes MS longer in each step
  --fault die:RANK:STEP       RANK kills itself at STEP
  --fault hang:RANK:STEP      RANK stops taking part at STEP
compute
  --compute-ms MS         per step (10)          --no-compute   the same as 0
  --busy                  burn the CPU instead of sleeping
  --jitter SHARE          random share of the compute time (0.1)
communication
  --sizes LIST            all-reduce buckets in bytes, e.g. 4K,1M (256K,1M,4M)
  --iterations N          rounds per step (1)
  --barriers operation|step|none  4-byte all-reduce before each operation, each step, never (operation)
  --no-all-gather         leave the all-gather out
  --send-recv             exchange a bucket with the ring neighbours
  --alltoall              all-to-all by grouped send/recv
  --group                 the buckets of all communicators of a thread in one group
  --verify-every N        check results in every Nth step (10), 0 never
  --comms N               communicators (1)      --comm-source split|ids  how the further ones are made (split)
  --threads N             threads, which share the communicators out among them (1)
checkpoint
  --checkpoint-every N    steps (20), 0 never    --checkpoint-size BYTES  per rank (8M)
  --checkpoint-ranks all|first                   who writes one (all)
ending
  --timeout S             kill a job that takes longer (120)
  --keep-going-on-death   when a rank dies leave the others hanging for --hang-timeout S (10)
exit status: 0 well, 1 wrong results, 2 bad usage, 3 a rank died or failed, 4 timeout
)";

bool ParseNumber(const std::string& text, double* value) {
  char* end = nullptr;
  *value = strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' && *value >= 0;
}

bool ParseCount(const std::string& text, int least, int* value) {
  double number = 0;
  if (!ParseNumber(text, &number) || number > 1e9) return false;
  *value = static_cast<int>(number);
  return *value == number && *value >= least;
}

// 4096, 64K, 8M, 1G (powers of 1024).
bool ParseBytes(const std::string& text, uint64_t* bytes) {
  char* end = nullptr;
  const double number = strtod(text.c_str(), &end);
  if (end == text.c_str() || number < 0) return false;
  const char* kUnits = "KMG";
  uint64_t unit = 1;
  if (*end != '\0') {
    const char* at = strchr(kUnits, *end);
    if (at == nullptr || end[1] != '\0') return false;
    unit = 1ull << (10 * (at - kUnits + 1));
  }
  *bytes = static_cast<uint64_t>(number * static_cast<double>(unit));
  return true;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool ParseSizes(const std::string& text, std::vector<uint64_t>* sizes) {
  sizes->clear();
  for (const std::string& part : Split(text, ',')) {
    uint64_t bytes = 0;
    if (!ParseBytes(part, &bytes) || bytes < sizeof(float)) return false;
    sizes->push_back(bytes);
  }
  return true;
}

bool ParseFault(const std::string& text, Fault* fault) {
  const std::vector<std::string> parts = Split(text, ':');
  if (parts.size() != 3 || !ParseCount(parts[1], 0, &fault->rank)) return false;
  if (parts[0] == "late-rank") {
    fault->kind = FaultKind::kLateRank;
    return ParseNumber(parts[2], &fault->extra_ms);
  }
  if (parts[0] != "die" && parts[0] != "hang") return false;
  fault->kind = parts[0] == "die" ? FaultKind::kDie : FaultKind::kHang;
  return ParseCount(parts[2], 0, &fault->step);
}

template <class Value>
bool Choose(const std::string& text, std::vector<std::pair<const char*, Value>> choices,
            Value* value) {
  for (const auto& [name, choice] : choices) {
    if (text == name) {
      *value = choice;
      return true;
    }
  }
  return false;
}

struct Option {
  const char* name;
  bool has_value;
  std::function<bool(const std::string&)> parse;
};

std::vector<Option> CountOptions(JobOptions* o) {
  const auto count = [](int least, int* to) {
    return [least, to](const std::string& text) { return ParseCount(text, least, to); };
  };
  return {
      {"--ranks", true, count(1, &o->ranks)},
      {"--nodes", true, count(1, &o->nodes)},
      {"--steps", true, count(1, &o->steps)},
      {"--iterations", true, count(1, &o->iterations)},
      {"--verify-every", true, count(0, &o->verify_every)},
      {"--comms", true, count(1, &o->comms)},
      {"--threads", true, count(1, &o->threads)},
      {"--checkpoint-every", true, count(0, &o->checkpoint_every)},
  };
}

std::vector<Option> NumberOptions(JobOptions* o) {
  const auto number = [](double* to) {
    return [to](const std::string& text) { return ParseNumber(text, to); };
  };
  return {
      {"--compute-ms", true, number(&o->compute_ms)},
      {"--jitter", true, number(&o->jitter)},
      {"--timeout", true, number(&o->timeout_s)},
      {"--hang-timeout", true, number(&o->hang_timeout_s)},
  };
}

std::vector<Option> SwitchOptions(JobOptions* o) {
  const auto set = [](bool value, bool* to) {
    return [value, to](const std::string&) { return *to = value, true; };
  };
  return {
      {"--no-compute", false, [o](const std::string&) { return o->compute_ms = 0, true; }},
      {"--busy", false, set(true, &o->busy_compute)},
      {"--no-all-gather", false, set(false, &o->all_gather)},
      {"--send-recv", false, set(true, &o->send_recv)},
      {"--alltoall", false, set(true, &o->all_to_all)},
      {"--group", false, set(true, &o->group)},
      {"--keep-going-on-death", false, set(true, &o->keep_going_on_death)},
  };
}

std::vector<Option> TextOptions(JobOptions* o) {
  return {
      {"--out", true, [o](const std::string& t) { return o->out_dir = t, !t.empty(); }},
      {"--seed", true, [o](const std::string& t) { return ParseBytes(t, &o->seed); }},
      {"--fault", true, [o](const std::string& t) { return ParseFault(t, &o->fault); }},
      {"--sizes", true, [o](const std::string& t) { return ParseSizes(t, &o->sizes_bytes); }},
      {"--checkpoint-size", true,
       [o](const std::string& t) { return ParseBytes(t, &o->checkpoint_bytes); }},
      {"--barriers", true,
       [o](const std::string& t) {
         return Choose<Barriers>(t,
                                 {{"none", Barriers::kNone},
                                  {"step", Barriers::kPerStep},
                                  {"operation", Barriers::kPerOperation}},
                                 &o->barriers);
       }},
      {"--comm-source", true,
       [o](const std::string& t) {
         return Choose<CommSource>(
             t, {{"split", CommSource::kSplit}, {"ids", CommSource::kUniqueIds}}, &o->comm_source);
       }},
      {"--checkpoint-ranks", true,
       [o](const std::string& t) {
         return Choose<bool>(t, {{"all", true}, {"first", false}}, &o->checkpoint_all_ranks);
       }},
  };
}

std::vector<Option> AllOptions(JobOptions* o) {
  std::vector<Option> all = CountOptions(o);
  for (auto part : {NumberOptions(o), SwitchOptions(o), TextOptions(o)}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

bool Fail(int* status, const char* format, const char* what) {
  fprintf(stderr, "training_job: ");
  fprintf(stderr, format, what);
  fprintf(stderr, " (--help lists the options)\n");
  *status = 2;
  return false;
}

}  // namespace

bool ParseOptions(int argc, char** argv, JobOptions* options, int* status) {
  const std::vector<Option> known = AllOptions(options);
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--help")) {
      fputs(kUsage, stdout);
      *status = 0;
      return false;
    }
    const Option* option = nullptr;
    for (const Option& one : known) {
      if (!strcmp(argv[i], one.name)) option = &one;
    }
    if (option == nullptr) return Fail(status, "unknown option %s", argv[i]);
    if (option->has_value && i + 1 == argc) return Fail(status, "%s needs a value", option->name);
    const char* value = option->has_value ? argv[++i] : "";
    if (!option->parse(value)) return Fail(status, "bad value for %s", option->name);
  }
  if (options->ranks % options->nodes != 0) {
    return Fail(status, "%s must be a multiple of --nodes", "--ranks");
  }
  if (options->comms < options->threads) options->comms = options->threads;
  return true;
}

}  // namespace chokepoint::jobs
