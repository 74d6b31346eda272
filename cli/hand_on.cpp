#include "cli/hand_on.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "study/runner.h"

namespace windtunnel::cli {

void hand_on(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{study::trainer_program().string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  throw base::Error("cannot start " + command[0] + ": " + std::strerror(errno));
}

}  // namespace windtunnel::cli
