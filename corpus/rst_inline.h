#pragma once
// Inline markup of reStructuredText.

#include <string>
#include <string_view>

namespace windtunnel::corpus {

/// The words of a paragraph: ``literal``, *emphasis*, **strong**, :role:`text <target>`,
/// `link <address>`_ and backslashes lose their marks; references to footnotes go.
std::string without_inline_markup(std::string_view paragraph);

}  // namespace windtunnel::corpus
