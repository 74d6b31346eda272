#include "base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/secrets.h"
#include "base/text.h"

namespace windtunnel::base {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Progress::Progress(std::FILE* stream, milliseconds every)
    : stream_(stream),
      is_terminal_(::isatty(::fileno(stream)) == 1),
      every_(every),
      phase_start_(steady_clock::now()),
      last_drawn_(phase_start_) {}

Progress::~Progress() { clear(); }

void Progress::phase(const std::string& name, int number, int of) {
  label_ = of > 0 ? "[" + std::to_string(number) + "/" + std::to_string(of) + "] " + name : name;
  phase_start_ = steady_clock::now();
  drawn_in_phase_ = false;
  if (!is_terminal_) line(label_);
}

void Progress::update(std::optional<double> fraction, const std::string& detail) {
  std::optional<double> left;
  const double elapsed = std::chrono::duration<double>(steady_clock::now() - phase_start_).count();
  // An estimate from the first moments would jump about.
  if (fraction && *fraction > 0.02 && elapsed > 1.0) left = elapsed * (1.0 - *fraction) / *fraction;
  draw(fraction, left, detail);
}

void Progress::update_with_left(double fraction, double seconds_left, const std::string& detail) {
  draw(fraction, seconds_left, detail);
}

void Progress::draw(std::optional<double> fraction, std::optional<double> seconds_left,
                    const std::string& detail) {
  const auto now = steady_clock::now();
  const milliseconds pause = is_terminal_ ? milliseconds(100) : every_;
  if ((drawn_in_phase_ || !is_terminal_) && now - last_drawn_ < pause) return;
  last_drawn_ = now;
  drawn_in_phase_ = true;
  std::string text = label_;
  if (fraction) text += " " + std::to_string(static_cast<int>(*fraction * 100)) + " %";
  if (!detail.empty()) text += (text.empty() ? "" : ", ") + detail;
  if (seconds_left) text += ", " + format_duration(*seconds_left) + " left";
  if (!is_terminal_) {
    std::fprintf(stream_, "%s\n", redact(text).c_str());
    std::fflush(stream_);
    return;
  }
  struct winsize size = {};
  const size_t columns =
      ::ioctl(::fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col - 1 : 79;
  std::fprintf(stream_, "\r\033[K%s", shorten(redact(text), columns).c_str());
  std::fflush(stream_);
  line_open_ = true;
}

void Progress::line(const std::string& text) {
  clear();
  std::fprintf(stream_, "%s\n", redact(text).c_str());
  std::fflush(stream_);
}

void Progress::clear() {
  if (!line_open_) return;
  std::fprintf(stream_, "\r\033[K");
  std::fflush(stream_);
  line_open_ = false;
}

}  // namespace windtunnel::base
