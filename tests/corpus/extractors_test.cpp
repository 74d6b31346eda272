#include <gmock/gmock.h>

#include "base/random.h"
#include "corpus/extractor.h"
#include "corpus/markup.h"

namespace windtunnel::corpus {
namespace {

using testing::ElementsAre;

std::vector<std::string> extract(const std::string& kind, std::string_view bytes) {
  return ExtractorRegistry::instance().get(kind, "extractor").entry.documents(bytes);
}

/// The contract that every registered kind keeps.
class EveryExtractor : public testing::TestWithParam<std::string> {};

TEST_P(EveryExtractor, SurvivesAnyBytesAndGivesNoEmptyDocument) {
  base::RandomStream random(3, GetParam());
  const std::string marks = "<>&;=:`*_|.[]\\{}BCLE!-/%\n\n  \t\"'#x\x80\xFF";
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random.below(400), ' ');
    for (char& byte : bytes) {
      byte = random.below(4) == 0 ? static_cast<char>(random.below(256))
                                  : marks[random.below(marks.size())];
    }
    for (const std::string& document : extract(GetParam(), bytes)) {
      EXPECT_FALSE(is_blank(document));
    }
  }
}

TEST_P(EveryExtractor, DeepNestingIsNoProblem) {
  for (const std::string unit : {"B<", "<div><p>", "`", "*a", "   ", ".. note::\n   ", "{", "&"}) {
    std::string text;
    while (text.size() < 200'000) text += unit;
    extract(GetParam(), "=pod\n\n" + text);
  }
}

TEST_P(EveryExtractor, NothingComesFromNothing) {
  EXPECT_THAT(extract(GetParam(), ""), ElementsAre());
  EXPECT_THAT(extract(GetParam(), " \n\t\r\n "), ElementsAre());
}

TEST_P(EveryExtractor, TheSameBytesGiveTheSameText) {
  const std::string text = "=head1 A\n\nword\n\n<p>some `text`</p>\n\n   definition {ref}\n";
  EXPECT_EQ(extract(GetParam(), text), extract(GetParam(), text));
}

INSTANTIATE_TEST_SUITE_P(, EveryExtractor, testing::ValuesIn(ExtractorRegistry::instance().names()),
                         [](const auto& kind) { return kind.param; });

TEST(PlainExtractor, KeepsEveryByte) {
  const std::string bytes("\xFF\x00 a\r\n\n\n b ", 10);
  EXPECT_THAT(extract("plain", bytes), ElementsAre(bytes));
}

TEST(RstExtractor, KeepsWhatAReaderSees) {
  const std::string source = R"(.. _target:

=====
Title
=====

A :func:`~os.open` call, a :ref:`link <there>`, ``code *x``, *soft* and
**strong** words, `a page <http://x.org>`_ and 2 * 3 [#note]_.

.. comment
   more comment

.. note::
   Mind *this*.

.. function:: open(path, mode)
   :module: os

   Opens it. Example::

       open("*a*")  # kept ``as is``

.. image:: picture.png
   :width: 3

.. code-block:: c
   :caption: x

   int *p;

+------+-----+
| a    | b   |
+======+=====+
| one  | two |
+------+-----+

.. [#note] A footnote.
)";
  EXPECT_THAT(extract("rst", source), ElementsAre(R"(Title

A os.open call, a link, code *x, soft and
strong words, a page and 2 * 3 .

Note:
   Mind this.

open(path, mode)

   Opens it. Example:

       open("*a*")  # kept ``as is``

   int *p;

a  b
one  two

A footnote.
)"));
}

TEST(HtmlExtractor, KeepsWhatAReaderSees) {
  const std::string source =
      "<!DOCTYPE html><html><head><title>t</title><style>p{}</style></head><body>\n"
      "<nav>menu</nav><h1>Title</h1><!-- <p>no</p> --><p title='a>b'>One &amp; two,\n   "
      "three&#8217;s "
      "&unknown; <b>bold</b>.</p><script>if (a < b) {}</script><ul><li>first<li>second</ul>"
      "<pre>a\n  b &lt; c</pre>1 < 2</body></html>";
  EXPECT_THAT(
      extract("html", source),
      ElementsAre("Title\n\nOne & two, three\u2019s &unknown; bold.\n\n- first\n- second\n\n"
                  "a\n  b < c\n\n1 < 2\n"));
}

TEST(PodExtractor, KeepsWhatAReaderSees) {
  const std::string source =
      "use strict;\n\n=head1 NAME X<index>\n\nB<bold I<both>>, C<< a->b >>, L<text|page>, "
      "L<perlre/\"Part\">, E<lt>E<gt> S<no break>.\n\n  code B<kept>\n\n=over\n\n=item *\n\none\n\n"
      "=back\n\n=begin html\n\n<p>\n\n=end html\n\n=cut\n\nmy $code;\n";
  EXPECT_THAT(
      extract("pod", source),
      ElementsAre("NAME\n\nbold both, a->b, text, Part, <> no break.\n\n  code B<kept>\n\n-\n\n"
                  "one\n"));
}

TEST(DictExtractor, EveryEntryIsADocument) {
  const std::string source =
      "00-database-short\n     Some dictionary\nwind%%%air\n\n   Moving {air}.\n\n   See {tunnel\n "
      "  "
      "(x)}; {a;b}.\n\ntunnel\n n.\n\n   A tube.\n";
  EXPECT_THAT(extract("dict", "\n" + source), ElementsAre("tunnel\n n.\n\n   A tube.\n"));
  EXPECT_THAT(
      extract("dict", "\nwind%%%air\n\n   Moving {air}.\n\n   See {tunnel\n   (x)}; {a;b}.\n"),
      ElementsAre("wind, air\n\n   Moving air.\n\n   See tunnel\n   (x); {a;b}.\n"));
}

}  // namespace
}  // namespace windtunnel::corpus
