/// The page's style: one column, light and dark, for wide and narrow screens and for paper.
///
/// No rule loads anything, and no element has a style attribute: the policy forbids both.
enum HTMLStyle {
  /// The hash of ``source`` as the page's policy names it (Base64 of SHA-256); a test prints the right one.
  static let sha256 = "+qqWnk1+pYGeNHnPOTIlC0MLZ+6QA4FjMQ/MXXAC2e8="

  /// The content of the style element, to the byte.
  static let source = """
    /* Colours, light and dark. */
    :root {
      color-scheme: light dark; --page: #fcfcfb; --card: #fff; --soft: #f3f3f1; --ink: #1b1c1e; --dim: #65686e;
      --line: #e4e4e1; --link: #1f5fae; --bad: #c2272d; --warn: #9a5b00; --good: #1c7a48; --on: #fff; --hit: #8ec5a4;
      --disk: #57a878; --revalidated: #9bc9c4; --downloaded: #5b8fca; --checked: #7ba7d8; --skipped: #c9c9c6;
      --cancelled: #dda94a; --blacklisted: #8f2a3a; --failed: #d5454a; --any: #8b95a3;
    }
    @media screen and (prefers-color-scheme: dark) {
      :root {
        --page: #131416; --card: #1a1c1f; --soft: #212327; --ink: #e9e9e7; --dim: #9da0a6; --line: #2e3136;
        --link: #82b4f3; --bad: #ff7d78; --warn: #e6b055; --good: #5cc48d; --on: #131416; --hit: #2f6b48; --disk: #3f8d61;
        --revalidated: #4d8580; --downloaded: #4a7fbd; --checked: #5f8dc2; --skipped: #55585e; --cancelled: #b98632;
        --blacklisted: #a34455; --failed: #e0595c; --any: #737d8c;
      }
    }

    /* The page and its text. */
    * { box-sizing: border-box }
    html { -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
    body {
      margin: 0; background: var(--page); color: var(--ink);
      font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
      font-variant-numeric: tabular-nums;
    }
    main { max-width: 70rem; margin: 0 auto; padding: 1.75rem clamp(1rem, 4vw, 2.5rem) 4rem }
    section { margin-top: 2.75rem }
    p, ul, ol, dl, dd, figure, h1, h2, h3 { margin: 0; padding: 0 }
    ul, ol { list-style: none }
    h2 { font-size: 1.15rem; font-weight: 650; line-height: 1.3; margin-bottom: .75rem }
    h3 { font-size: .95rem; font-weight: 600; margin-bottom: .4rem }
    a { color: var(--link); text-decoration: none }
    a:hover { text-decoration: underline }
    small { font-size: .8125rem; color: var(--dim) }
    code, .url, .place, .host { unicode-bidi: isolate; overflow-wrap: anywhere }
    code, .url, .place {
      font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace;
      font-size: .8125rem;
    }
    :focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
    .over, .note, .more, .facts, .worst, figcaption { color: var(--dim); font-size: .875rem }
    .more, .note { margin: .5rem 0 }
    .bad { color: var(--bad) }

    /* The verdict, the outcomes, the figures. */
    header .about { margin: 0 0 1.2rem; color: var(--dim); overflow-wrap: anywhere }
    header .over { margin-bottom: .4rem; overflow-wrap: anywhere }
    h1 {
      display: flex; gap: .7rem; font-size: 1.5rem; font-weight: 650; line-height: 1.3; letter-spacing: -.01em;
      overflow-wrap: anywhere;
    }
    h1 span { min-width: 0; text-wrap: pretty }
    .mark { flex: none; width: 1.5rem; height: 1.5rem; margin-top: .22rem; fill: var(--good) }
    .bad > h1 .mark { fill: var(--bad) }
    .warn > h1 .mark { fill: var(--warn) }
    header.bad, header.warn { color: inherit }
    .mark path { fill: none; stroke: var(--on); stroke-width: 2.4; stroke-linecap: round; stroke-linejoin: round }
    .bar {
      display: block; width: 100%; height: .8rem; margin: 1.1rem 0 .6rem; border-radius: .4rem; background: var(--soft);
    }
    .legend { display: flex; flex-wrap: wrap; gap: .15rem 1.4rem; font-size: .875rem }
    .legend i {
      display: inline-block; width: .65rem; height: .65rem; margin-right: .35rem; border-radius: .2rem;
      background: currentColor;
    }
    .legend b { font-weight: 600 }
    .legend span { color: var(--dim) }
    rect { fill: currentColor }
    .o-hit { color: var(--hit) }
    .o-disk { color: var(--disk) }
    .o-revalidated { color: var(--revalidated) }
    .o-downloaded { color: var(--downloaded) }
    .o-checked { color: var(--checked) }
    .o-skipped { color: var(--skipped) }
    .o-cancelled { color: var(--cancelled) }
    .o-blacklisted { color: var(--blacklisted) }
    .o-failed { color: var(--failed) }
    .o-any { color: var(--any) }
    .overview { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; margin-top: 1.25rem }
    .figures { flex: 3 1 32rem; display: grid; grid-template-columns: repeat(4, auto); gap: 1rem }
    .figures dt, .beside dt { font-size: .8125rem; color: var(--dim) }
    .figures b { display: block; font-size: 1.6rem; font-weight: 600; line-height: 1.2; letter-spacing: -.015em }
    .figures small { display: block }
    .beside { flex: 2 1 20rem; display: grid; gap: .35rem; align-content: start; font-size: .875rem; line-height: 1.4 }
    .beside > div { display: grid; grid-template-columns: 5.2rem 1fr; gap: .5rem; align-items: baseline }
    .beside dd { overflow-wrap: anywhere }
    .since { margin-top: 1rem; padding: .45rem .8rem; border-radius: .4rem; background: var(--soft); font-size: .9375rem }
    .since b { font-weight: 600 }
    .fixed { margin: .35rem .8rem 0; font-size: .875rem }
    .fixed summary { color: var(--good); cursor: pointer }
    .fixed ul { max-height: 12rem; overflow-y: auto }
    .good { color: var(--good) }
    header.good { color: inherit }
    nav { display: flex; flex-wrap: wrap; gap: .2rem 1.25rem; margin-top: 1.5rem; font-size: .875rem }
    header + section { margin-top: 1.9rem }
    nav + section { margin-top: 1.5rem }

    /* Failures by kind. */
    .new {
      display: inline-block; margin-right: .5rem; padding: 0 .4rem; border-radius: .25rem; background: var(--bad); color: var(--on);
      font-size: .6875rem; font-weight: 650; line-height: 1.5; letter-spacing: .03em; text-transform: uppercase; vertical-align: .08em;
    }
    .known { margin: 1.5rem 0 .4rem; color: var(--dim) }
    .worst { overflow-wrap: anywhere }
    .head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1.25rem; margin-bottom: .5rem }
    .head h2 { margin: 0 }
    .head .button { margin-left: auto }
    .worst b { color: var(--ink) }
    .kind { border-top: 1px solid var(--line) }
    .kind:last-of-type { border-bottom: 1px solid var(--line) }
    .kind > summary {
      display: grid; grid-template-columns: 1rem minmax(8rem, 15.5rem) 3.6rem 7rem minmax(0, 1fr); gap: 0 .75rem; align-items: center;
      padding: .3rem .25rem; cursor: pointer; list-style: none;
    }
    summary::-webkit-details-marker { display: none }
    .kind > summary::before {
      content: ""; width: .4rem; height: .4rem; margin-left: .2rem; border: solid var(--dim);
      border-width: 0 1.5px 1.5px 0; transform: rotate(-45deg);
    }
    .kind[open] > summary::before { transform: rotate(45deg) }
    .kind > summary:hover { background: var(--soft) }
    .kind .title { margin-right: .5rem; font-weight: 550 }
    .kind > summary .message { grid-column: 2/-1; color: var(--dim) }
    .part { margin-left: 2rem }
    .part > summary {
      display: flex; gap: .5rem 1rem; justify-content: space-between; padding: .25rem 0; cursor: pointer; overflow-wrap: anywhere;
    }
    .part > summary .place::before { content: "▸ "; color: var(--dim) }
    .part[open] > summary .place::before { content: "▾ " }
    .part > summary b { font-weight: 600 }
    .kind .part ol { padding-left: 1rem }
    .kind summary b { text-align: right; color: var(--bad); font-weight: 600 }
    .kind summary svg { width: 100%; height: .5rem; color: var(--failed); opacity: .75 }
    .kind .hosts { color: var(--dim); font-size: .875rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
    .kind[open] .hosts { white-space: normal; overflow-wrap: anywhere }
    .kind ol { padding: .1rem 0 .75rem 2rem }
    .kind > .curl, .kind > .message { padding-left: 2rem }
    .kind > .message { color: var(--dim) }
    .kind li {
      padding: .4rem 0; border-top: 1px dashed var(--line); content-visibility: auto; contain-intrinsic-size: auto 3.4rem;
    }
    .kind li:first-child { border-top: 0 }
    .pictured::after { content: ""; display: block; clear: both }
    .kind li img { float: left; max-width: 6rem; max-height: 4.5rem; width: auto; height: auto; margin: .2rem 1rem .3rem 0 }
    button.curl { all: unset; color: var(--link); cursor: pointer }
    button.curl:hover { text-decoration: underline }
    button.curl:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
    .kind .more { margin: 0 0 1rem 2rem }
    .message { font-size: .875rem; overflow-wrap: anywhere }
    .line { display: flex; gap: .5rem; align-items: flex-start; margin: .3rem 0; min-width: 0 }
    .line code {
      flex: 0 1 auto; min-width: 0; padding: .3rem .6rem; border-radius: .35rem; background: var(--soft);
      white-space: pre-wrap; user-select: all;
    }
    .line .button { flex: none }
    img {
      border-radius: .25rem; background: repeating-conic-gradient(var(--line) 0 25%, var(--card) 0 50%) 0 0/12px 12px;
    }

    /* Tables. */
    .frame {
      max-height: 36rem; overflow: auto; border: 1px solid var(--line); border-radius: .5rem; background: var(--card);
    }
    table { border-collapse: collapse; width: 100%; font-size: .875rem }
    th, td { padding: .4rem .75rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line) }
    tbody th { font-weight: 500; overflow-wrap: anywhere; min-width: 11.5rem; unicode-bidi: isolate }
    thead th {
      position: sticky; top: 0; z-index: 1; padding-top: .5rem; padding-bottom: .5rem; background: var(--soft); border: 0;
      font-weight: 600; white-space: nowrap;
    }
    tbody tr:first-child > * { border-top: 0 }
    .no-hits :is(td, th):nth-child(5) { display: none }
    .n { text-align: right; white-space: nowrap }
    td small { display: block }
    th button { all: unset; cursor: pointer }
    th button:focus-visible { outline: 2px solid var(--link) }
    th button::after, .n button::before {
      content: ""; display: inline-block; width: 1em; text-align: center; color: var(--dim);
    }
    .n button::after { display: none }
    [aria-sort=ascending] button::after, .n[aria-sort=ascending] button::before { content: "↑" }
    [aria-sort=descending] button::after, .n[aria-sort=descending] button::before { content: "↓" }
    details.curl summary { display: inline-block; list-style: none; font-size: .8125rem; color: var(--link); cursor: pointer }

    /* Controls, which the script makes. */
    .tools {
      display: flex; flex-wrap: wrap; gap: .35rem .9rem; align-items: center; margin-bottom: .6rem; font-size: .875rem;
      color: var(--dim);
    }
    .tools input {
      flex: 0 1 20rem; min-width: 0; padding: .4rem .65rem; font: inherit; color: var(--ink); background: var(--card);
      border: 1px solid var(--line); border-radius: .4rem;
    }
    .button {
      padding: .1rem .55rem; font: inherit; font-size: .8125rem; color: var(--dim); background: var(--card);
      border: 1px solid var(--line); border-radius: .35rem; cursor: pointer;
    }
    .button:hover { color: var(--ink) }
    .tools output { margin-right: auto }
    .filters { margin-bottom: .9rem; font-size: .875rem }
    .filters summary { color: var(--dim); cursor: pointer }
    .chips > div { display: flex; flex-wrap: wrap; gap: .3rem .4rem; align-items: center; margin-top: .4rem }
    .chips span { flex: 0 0 3rem; color: var(--dim) }
    .chip {
      max-width: 100%; padding: .1rem .65rem; font: inherit; color: var(--ink); background: var(--card);
      border: 1px solid var(--line); border-radius: 1rem; cursor: pointer; overflow-wrap: anywhere;
    }
    .chip:hover { border-color: var(--dim) }
    .chip[aria-pressed=true] { color: var(--page); background: var(--ink); border-color: var(--ink) }
    .chip[aria-pressed=true] small { color: inherit }
    .chip.more { color: var(--dim); border-style: dashed; margin: 0 }
    .aside { position: fixed; left: -99rem }
    [hidden] { display: none !important }

    /* Charts. */
    .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.5rem 2.5rem }
    .charts figure { max-width: 31rem; min-width: 0 }
    .chart { display: block; width: 100%; height: auto }
    .chart text { font-size: 12px; fill: var(--dim) }
    .chart .strong { fill: var(--ink); stroke: var(--page); stroke-width: 4px; paint-order: stroke }
    .chart line { stroke: var(--line) }
    .chart .axis { stroke: var(--dim) }
    .chart .guide { stroke: var(--ink); stroke-dasharray: 2 3 }
    .numbers { max-height: 16rem; overflow: auto; font-size: .8125rem }
    .numbers summary { color: var(--dim); cursor: pointer }
    .numbers table { width: auto; font-size: .8125rem }
    .numbers td, .numbers th { min-width: 0; white-space: nowrap; padding: .1rem .75rem .1rem 0; border: 0; text-align: right }

    .findings { margin-bottom: 1.25rem }
    .findings ul { margin: .2rem 0 0 1.25rem }
    .findings li { padding: .35rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere }

    /* Pictures. */
    .placeholders li { display: flex; gap: 1rem; padding: .6rem 0; border-top: 1px solid var(--line) }
    .placeholders li > div:last-child { min-width: 0 }
    .picture {
      flex: none; display: flex; align-items: center; justify-content: center; width: 100%; height: 7.5rem;
      border-radius: .4rem; background: var(--soft); overflow: hidden;
    }
    .picture img { max-width: 100%; max-height: 100%; width: auto; height: auto; border-radius: 0 }
    .picture span { font-size: .8125rem; color: var(--dim) }
    .placeholders .picture { width: 8rem; height: 6rem }
    .sheet {
      display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 1.1rem 1rem;
      margin-bottom: 1.75rem;
    }
    .sheet li { min-width: 0 }
    .sheet .url { display: block; margin-top: .3rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
    .sheet small { display: block; overflow-wrap: anywhere }
    .sheet small.bad { color: var(--bad) }

    /* Facts. */
    .warnings li {
      padding: .35rem 0 .35rem .9rem; border-left: 3px solid var(--cancelled); margin-bottom: .4rem;
      overflow-wrap: anywhere;
    }
    .details { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: .75rem 2rem }
    .details dt { font-size: .8125rem; color: var(--dim) }
    .details dd { overflow-wrap: anywhere }

    /* On a phone. */
    @media (max-width: 44rem) {
      main { padding-top: 1rem }
      section { margin-top: 2.25rem }
      h1 { font-size: 1.15rem; gap: .55rem }
      .mark { width: 1.2rem; height: 1.2rem; margin-top: .15rem }
      .over { font-size: .8125rem }
      .bar { margin: .8rem 0 .5rem }
      .legend { gap: 0 1rem; font-size: .8125rem }
      .overview { margin-top: .8rem; gap: .8rem }
      .figures { gap: .5rem; flex-basis: 100% }
      .beside { flex-basis: 100%; font-size: .8125rem }
      .figures b { font-size: 1.15rem }
      .figures small { display: none }
      nav { margin-top: 1rem; gap: .2rem 1rem }
      .tools { gap: .35rem .45rem }
      .tools input { flex: 1 0 100% }
      .tools .button { padding: .1rem .4rem }
      header + section, nav + section { margin-top: 1.1rem }
      .head .worst { order: 1; flex-basis: 100% }
      .kind > summary { grid-template-columns: 1rem minmax(0, 1fr) auto; padding: .1rem 0 }
      .filters { margin-bottom: .3rem }
      .kind summary svg, .kind .hosts { display: none }
      .kind[open] .hosts { display: block; grid-column: 2/-1 }
      .kind ol, .kind .more, .kind > .curl, .kind > .message { padding-left: 1.25rem }
      .kind .more { margin-left: 0 }
      .part { margin-left: 1.25rem }
      .kind .part ol { padding-left: .5rem }
      .kind li img { max-width: 4.5rem; height: auto }
      .frame table, .frame thead, .frame tbody { display: block }
      .frame tr { display: flex; flex-wrap: wrap; gap: .1rem .9rem; padding: .5rem .75rem; border-top: 1px solid var(--line) }
      .frame thead tr { gap: .1rem .9rem; background: var(--soft); border: 0 }
      .frame thead:not(:has(button)) { display: none }
      .frame thead th { position: static; padding: .1rem 0; background: none }
      .frame tbody th { flex: 1 0 100%; padding: 0; border: 0; min-width: 0 }
      .frame td { padding: 0; border: 0 }
      .frame td::before { margin-right: .3rem; color: var(--dim); font-weight: 400 }
      .frame td:not([data-v]).n { display: none }
      #hosts td:nth-child(2)::before, #lists td:nth-child(2)::before { content: "URLs" }
      #hosts td:nth-child(3)::before, #lists td:nth-child(3)::before { content: "bad" }
      #hosts td:nth-child(4)::before, #lists td:nth-child(4)::before { content: "share" }
      #hosts td:nth-child(5)::before, #lists td:nth-child(5)::before { content: "hits" }
      .with-304 td:nth-child(5)::before { content: "hits and 304" !important }
      #hosts td:nth-child(6)::before, #lists td:nth-child(6)::before { content: "new" }
      #hosts td:nth-child(7)::before { content: "received" }
      #hosts td:nth-child(8)::before { content: "median" }
      #hosts td:nth-child(9)::before { content: "p99" }
      #remote-caches td:nth-child(2)::before { content: "edge" }
      #remote-caches td:nth-child(3)::before { content: "hit" }
      #remote-caches td:nth-child(4)::before { content: "missed" }
      #remote-caches td:nth-child(5)::before { content: "unknown" }
      #remote-caches td:nth-child(6)::before { content: "hit ratio" }
      .chart text { font-size: 15px }
      .details { grid-template-columns: 1fr; gap: .3rem }
      .details > div { display: grid; grid-template-columns: 8rem 1fr; gap: .5rem; align-items: baseline }
      .sheet { grid-template-columns: repeat(auto-fill, minmax(6.2rem, 1fr)); gap: .9rem .7rem }
      .sheet .picture { height: 5rem }
    }

    /* On paper. */
    @media print {
      html { font-size: 11.5px }
      body { font-size: 1rem; background: #fff }
      thead { display: table-row-group }
      .frame { max-height: none; overflow: visible; border: 0 }
      thead th { position: static }
      .tools, .filters, .button, .numbers, details.curl, nav { display: none }
      main { padding: 0; max-width: none }
      section { margin-top: 1.75rem }
      tbody th { min-width: 0 }
      .line code { white-space: pre-wrap }
      h2, h3 { break-after: avoid }
      tr, li, figure { break-inside: avoid }
      .kind::details-content { content-visibility: visible; height: auto }
      * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
    }
    """
}
