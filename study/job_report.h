#pragma once
// What the control program did to carry a run out, and what it saw of the machine meanwhile.

#include <map>
#include <optional>
#include <string>

#include "base/config.h"

namespace windtunnel::study {

struct JobReport {
  int64_t training_attempts = 0;
  int64_t evaluation_attempts = 0;
  std::optional<int64_t> micro_batch_rows_requested;
  std::optional<int64_t> micro_batch_rows_effective;
  std::optional<int64_t> evaluation_rows_effective;
  std::string file_rules;
  int64_t orphans_ended = 0;
  std::optional<double> load_average_start;
  std::optional<double> load_average_end;
  std::optional<double> steal_fraction;
  std::optional<double> other_busy_threads;
  std::optional<double> waited_for_device_seconds;
  std::map<std::string, std::string> sha256;
  std::optional<double> hashing_seconds;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("training_attempts", self.training_attempts,
          {.help = "processes started to train; 2: once more with smaller micro-batches after the "
                   "memory ran out"});
    visit("evaluation_attempts", self.evaluation_attempts,
          {.help = "processes started to score; 2: once more with fewer rows after a crash"});
    visit("micro_batch_rows_requested", self.micro_batch_rows_requested,
          {.help = "rows in memory at once that the configuration asks for", .unit = "rows"});
    visit("micro_batch_rows_effective", self.micro_batch_rows_effective,
          {.help = "rows in memory at once in the last training process", .unit = "rows"});
    visit("evaluation_rows_effective", self.evaluation_rows_effective,
          {.help = "rows scored at once in the last evaluating process", .unit = "rows"});
    visit("file_rules", self.file_rules,
          {.help = "landlock: the kernel kept the training process from held-out text and from "
                   "changing anything but its run folder; none: this kernel cannot"});
    visit("orphans_ended", self.orphans_ended,
          {.help = "processes that were left by the run's own and were ended"});
    visit("load_average_start", self.load_average_start, {.help = "of one minute, at the start"});
    visit("load_average_end", self.load_average_end, {.help = "of one minute, at the end"});
    visit("steal_fraction", self.steal_fraction,
          {.help = "CPU time that a hypervisor gave to others, of all, over the run"});
    visit("other_busy_threads", self.other_busy_threads,
          {.help = "threads kept busy by processes that are not the run's, mean over the run"});
    visit("waited_for_device_seconds", self.waited_for_device_seconds,
          {.help = "for another study that had the device", .unit = "seconds"});
    visit("sha256", self.sha256,
          {.help = "of what the score depends on, before, between and after"});
    visit("hashing_seconds", self.hashing_seconds, {.help = "spent on those", .unit = "seconds"});
  }
};

}  // namespace windtunnel::study
