#pragma once
// The colours of figures and page, each with its dark counterpart. The hues are those of Okabe and
// Ito 2008, which people with any colour vision can tell apart; marks differ in shape as well.

#include <string>
#include <string_view>

namespace windtunnel::report {

struct Colour {
  /// Name of the CSS variable, without "--".
  const char* name;
  /// What gnuplot draws with, unique among the colours: "#rrggbb".
  const char* light;
  const char* dark;
};

namespace colour {
inline constexpr Colour kPaper{"paper", "#ffffff", "#14181d"};
inline constexpr Colour kInk{"ink", "#1f2328", "#e6e9ec"};
inline constexpr Colour kMuted{"muted", "#59636e", "#a2abb4"};
inline constexpr Colour kGrid{"grid", "#dde1e6", "#2c333b"};
inline constexpr Colour kFaint{"faint", "#b4bcc5", "#4d5761"};
inline constexpr Colour kBlue{"blue", "#0072b2", "#58b5ec"};
inline constexpr Colour kOrange{"orange", "#c65102", "#ff9d57"};
inline constexpr Colour kGreen{"green", "#00785a", "#35cba0"};
inline constexpr Colour kYellow{"yellow", "#d99a00", "#f0c243"};
inline constexpr Colour kPurple{"purple", "#a8518a", "#dd94c3"};
}  // namespace colour

inline constexpr Colour kPalette[] = {
    colour::kPaper, colour::kInk,    colour::kMuted, colour::kGrid,   colour::kFaint,
    colour::kBlue,  colour::kOrange, colour::kGreen, colour::kYellow, colour::kPurple};

}  // namespace windtunnel::report
