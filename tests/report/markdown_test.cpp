#include "report/markdown.h"

#include <gmock/gmock.h>

namespace windtunnel::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string rendered(const std::string& text) { return render_markdown(escape_markdown(text)); }

TEST(Markdown, EscapedTextComesBackAsItWas) {
  EXPECT_EQ(rendered("a *b* _c_ [d](e) `f` # g | h ~~i~~ \\j !k"),
            "<p>a *b* _c_ [d](e) `f` # g | h ~~i~~ \\j !k</p>\n");
  EXPECT_EQ(rendered("train.optimizer.learning_rate"), "<p>train.optimizer.learning_rate</p>\n");
  EXPECT_EQ(rendered("see http://example.invalid/a"), "<p>see http://example.invalid/a</p>\n");
}

TEST(Markdown, NamesStayReadableInTheSource) {
  EXPECT_EQ(escape_markdown("learning_rate"), "learning_rate");
}

TEST(Markdown, NoTextBecomesAnElement) {
  for (const char* text :
       {"<script>alert(1)</script>", "![x](http://e.invalid/p.png)", "[x](javascript:alert(1))",
        "<http://e.invalid>", "&lt;script&gt;", "<img src=x onerror=alert(1)>"}) {
    const std::string html = rendered(text);
    EXPECT_THAT(html, Not(HasSubstr("<script"))) << text;
    EXPECT_THAT(html, Not(HasSubstr("<img"))) << text;
    EXPECT_THAT(html, Not(HasSubstr("<a"))) << text;
  }
}

TEST(Markdown, RawHtmlInADocumentIsDropped) {
  const std::string html = render_markdown("a <script>x</script>\n\n<b>block</b>\n");
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
}

TEST(Markdown, LineBreaksDoNotStartBlocks) {
  EXPECT_EQ(rendered("first\n# second\n- third"), "<p>first # second - third</p>\n");
}

TEST(Markdown, CodeSurvivesBackticks) {
  EXPECT_EQ(render_markdown(code_markdown("a `b` c")), "<p><code>a `b` c</code></p>\n");
  EXPECT_EQ(code_markdown(""), "");
}

TEST(Markdown, TablesAndDeeperHeadings) {
  const std::string html = render_markdown("## t\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", 1);
  EXPECT_THAT(html, HasSubstr("<h3>t</h3>"));
  EXPECT_THAT(html, HasSubstr("<td>1</td>"));
}

}  // namespace
}  // namespace windtunnel::report
