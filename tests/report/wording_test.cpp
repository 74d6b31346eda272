#include "report/wording.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/html.h"

namespace windtunnel::report {
namespace {

TEST(Wording, MissingAndNonFiniteNumbersAreADash) {
  EXPECT_EQ(bits(std::nullopt), "-");
  EXPECT_EQ(bits(std::nan("")), "-");
  EXPECT_EQ(percent(INFINITY), "-");
  EXPECT_EQ(change_interval(0.1, std::nullopt), "-");
  EXPECT_EQ(count(std::nullopt), "-");
}

TEST(Wording, NumbersCarryTheirDigitsAndSigns) {
  EXPECT_EQ(bits(2.93614), "2.9361");
  EXPECT_EQ(change(0.034), "+0.0340");
  EXPECT_EQ(change_interval(-0.06, 0.02), "[-0.0600, +0.0200]");
  EXPECT_EQ(percent(0.0421), "4.2 %");
  EXPECT_EQ(percent(0.0421, true), "+4.2 %");
  EXPECT_EQ(plural(1, "run"), "1 run");
  EXPECT_EQ(plural(0, "run"), "0 runs");
  EXPECT_EQ(words("not_identified"), "not identified");
}

TEST(Wording, ConfigurationValuesAreOneLine) {
  EXPECT_EQ(value_text("a\nb"), "a b");
  EXPECT_EQ(value_text(0.02), "0.02");
  EXPECT_EQ(value_text(base::Json::array({1, 2})), "[1,2]");
}

TEST(Wording, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(one_line("a\xff"
                     "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(one_line("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(one_line("cut \xe2\x82"), "cut \xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(one_line("\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(one_line(" tab\tbell\x07 "), "tab bell");
}

TEST(Html, TextIsEscaped) {
  EXPECT_EQ(escape_html("<a href=\"x\" id='y'>&"),
            "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
}

TEST(Html, ATableWithoutRowsIsNothing) {
  HtmlTable table("empty", {{"a"}});
  EXPECT_EQ(table.html(), "");
}

TEST(Html, ATableNamesItsRowsAndColumns) {
  HtmlTable table("Rungs <1>", {{"Rung"}, {"Loss", true}});
  table.add({"<w24>", "2.9"});
  const std::string html = table.html();
  EXPECT_NE(html.find("<caption><span>Rungs &lt;1&gt;</span></caption>"), std::string::npos);
  EXPECT_NE(html.find("<th scope=\"col\" class=\"number\">Loss</th>"), std::string::npos);
  EXPECT_NE(html.find("<th scope=\"row\">&lt;w24&gt;</th><td class=\"number\">2.9</td>"),
            std::string::npos);
}

}  // namespace
}  // namespace windtunnel::report
