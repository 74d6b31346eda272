#pragma once
// The page's style sheet but for its colours, which come from figures/palette.h.

namespace windtunnel::report {

inline constexpr const char* kPageStyle = R"css(
* { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main, header, footer { max-width: 72rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .75rem; padding-top: .75rem;
  border-top: 1px solid var(--grid); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; }
p { margin: .5rem 0; max-width: 50rem; }
a { color: var(--blue); text-underline-offset: .15em; }
a:focus-visible, .scroll:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
nav { margin: 1rem 0 0; display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; font-size: .92rem; }
.subtitle, .caption, footer, caption { color: var(--muted); }
.caption { font-size: .88rem; margin: .4rem 0 0; }
.lead { font-size: 1.12rem; }
.summary { margin: .5rem 0; padding-left: 1.2rem; max-width: 50rem; }
.summary li { margin: .2rem 0; }
.keys { max-width: 56rem; display: grid; grid-template-columns: repeat(3, 1fr); gap: .75rem; margin: 1.25rem 0;
  padding: 0; }
.key { border: 1px solid var(--grid); border-radius: .5rem; padding: .7rem .85rem; }
.key dt { font-size: .84rem; color: var(--muted); }
.key dd { margin: 0; font-size: 1.45rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.key dd.note { font-size: .8rem; font-weight: 400; color: var(--muted); }
figure { margin: 1rem 0 1.75rem; max-width: 56rem; }
figure svg { display: block; width: 100%; height: auto; }
figure svg text, figure svg tspan { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
figure .narrow { display: none; }
.scroll { overflow-x: auto; margin: 1rem 0 1.5rem; }
table { border-collapse: collapse; min-width: min(100%, 26rem); font-size: .86rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .4rem; }
caption span { position: sticky; left: 0; display: inline-block; max-width: calc(100vw - 2rem); }
th, td { padding: .32rem .75rem .32rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--grid); }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 500; }
.number { text-align: right; white-space: nowrap; }
td.wide { min-width: 13rem; overflow-wrap: anywhere; }
.verdict-keep td:nth-child(2) { color: var(--blue); font-weight: 600; }
.verdict-failed td:nth-child(2), .verdict-repair td:nth-child(2) { color: var(--orange); font-weight: 600; }
.held-out th, .held-out td { font-style: italic; }
.warning, .absent { border-left: 3px solid var(--orange); padding: .35rem .75rem; }
.absent { border-left-color: var(--faint); color: var(--muted); }
article { border-left: 3px solid var(--grid); padding-left: 1rem; margin: 1.5rem 0; }
article h3 { margin-top: 0; }
article p, article ul { margin: .35rem 0; overflow-wrap: anywhere; }
article:target { border-left-color: var(--blue); }
code { font: .88em ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
footer { margin-top: 3rem; padding-bottom: 3rem; font-size: .86rem; }
@media screen and (max-width: 40rem) {
  body { font-size: 15px; }
  main, header, footer { padding: 0 .9rem; }
  header { padding-top: 1.25rem; }
  .keys { grid-template-columns: repeat(2, 1fr); gap: .5rem; }
  figure .wide { display: none; }
  figure .narrow { display: block; }
}
@media print {
  body { font-size: 10.5pt; }
  main, header, footer { max-width: none; padding: 0; }
  nav { display: none; }
  figure, article, tr, .key { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; }
  td.wide { min-width: 8rem; overflow-wrap: normal; }
  .number { white-space: normal; }
}
)css";

}  // namespace windtunnel::report
