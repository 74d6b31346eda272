#include "study/machine_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/clock.h"

namespace windtunnel::study {

MachineLoad machine_load() {
  MachineLoad load;
  load.at_seconds = base::monotonic_seconds();
  if (double average = 0; std::ifstream("/proc/loadavg") >> average) load.load_average = average;

  // cpu user nice system idle iowait irq softirq steal; guests are counted in user already.
  std::ifstream stat("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
  if (stat >> name >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal) {
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    load.busy_seconds = (user + nice + system + irq + soft) / ticks;
    load.steal_seconds = steal / ticks;
    load.all_seconds = *load.busy_seconds + (idle + wait + steal) / ticks;
  }
  struct rusage usage = {};
  if (::getrusage(RUSAGE_CHILDREN, &usage) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    load.children_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  return load;
}

std::optional<double> steal_fraction(const MachineLoad& start, const MachineLoad& end) {
  if (!start.all_seconds || !end.all_seconds) return std::nullopt;
  const double all = *end.all_seconds - *start.all_seconds;
  if (all <= 0) return std::nullopt;
  return (*end.steal_seconds - *start.steal_seconds) / all;
}

std::optional<double> other_busy_threads(const MachineLoad& start, const MachineLoad& end) {
  const double passed = end.at_seconds - start.at_seconds;
  if (!start.busy_seconds || !end.busy_seconds || passed <= 0) return std::nullopt;
  const double busy = *end.busy_seconds - *start.busy_seconds;
  return std::max(0.0, (busy - (end.children_seconds - start.children_seconds)) / passed);
}

}  // namespace windtunnel::study
