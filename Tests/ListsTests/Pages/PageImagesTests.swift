import Base
import Lists
import TestSupport
import Testing

@Suite struct PageImagesTests {
  @Test(
    arguments: [
      ("<img src=a.png>", ["img src /news/a.png"]), ("<image src=a.png>", ["img src /news/a.png"]),
      ("<img src=a.png src=b.png SRCSET='c.png 2x'>", ["img src /news/a.png", "img srcset /news/c.png"]),
      ("<img loading=lazy src=/a.png><img>", ["img src /a.png"]),
      (
        "<img src=a.gif data-src=b.png data-srcset='c.png 1x, d.png 2x' data-original=e.png data-other=f.png>",
        [
          "img src /news/a.gif", "img data-src /news/b.png", "img data-original /news/e.png", "img data-srcset /news/c.png",
          "img data-srcset /news/d.png",
        ]
      ),
      (
        "<picture><source srcset='a.avif, b.avif 2x' type=image/avif><source src=no.png><img src=c.jpg></picture>",
        ["source srcset /news/a.avif", "source srcset /news/b.avif", "img src /news/c.jpg"]
      ),
      (
        "<video poster=a.jpg><source src=v.mp4 srcset=no.png></video><audio><source srcset=no.png></audio>",
        ["video poster /news/a.jpg"]
      ),
      ("<input type=IMAGE src=a.png><input src=no.png><input type=text src=no.png>", ["input src /news/a.png"]),
      (
        "<link rel=icon href=/a.ico><link rel='shortcut  ICON' href=/b.ico><link rel=apple-touch-icon href=c.png>"
          + "<link rel=apple-touch-icon-precomposed href=d.png><link rel=mask-icon href=e.svg><link rel=iconic href=no.png>"
          + "<link rel=apple-touch-startup-image media=print href=f.png><link rel=image_src href=g.jpg>",
        [
          "link icon /a.ico", "link icon /b.ico", "link apple-touch-icon /news/c.png",
          "link apple-touch-icon-precomposed /news/d.png", "link mask-icon /news/e.svg",
          "link apple-touch-startup-image /news/f.png", "link image_src /news/g.jpg",
        ]
      ),
      (
        "<meta name=MSApplication-TileImage content=a.png><meta name=msapplication-square70x70logo content=b.png>"
          + "<meta name=msapplication-TileColor content=no><meta name=thumbnail content=c.jpg>",
        [
          "meta msapplication-TileImage /news/a.png", "meta msapplication-square70x70logo /news/b.png",
          "meta thumbnail /news/c.jpg",
        ]
      ),
      (
        "<amp-img src=a.jpg srcset='b.jpg 2x' width=9 height=9><noscript><img src=a.jpg></noscript></amp-img><AMP-ANIM src=c.gif>"
          + "</amp-anim><amp-video src=no.mp4 poster=d.jpg></amp-video><amp-story publisher-logo-src=e.png poster-portrait-src=f.jpg>"
          + "</amp-story><amp-image src=no.png></amp-image><amp-audio artwork=g.jpg></amp-audio>",
        [
          "amp-img src /news/a.jpg", "amp-img srcset /news/b.jpg", "img src /news/a.jpg", "amp-anim src /news/c.gif",
          "amp-video poster /news/d.jpg", "amp-story publisher-logo-src /news/e.png", "amp-story poster-portrait-src /news/f.jpg",
          "amp-audio artwork /news/g.jpg",
        ]
      ),
      (
        "<div data-bg=a.jpg></div><p data-bg='/resize?id=1' style='background:url(b.jpg)'><li data-background-image=\"url('c.jpg')\">"
          + "<x-y data-background='linear-gradient(#fff,#000), URL( d.jpg )'></x-y><a data-src=e.jpg href=f>",
        [
          "div data-bg /news/a.jpg", "style background /news/b.jpg", "p data-bg /resize?id=1",
          "style data-background-image /news/c.jpg", "style data-background /news/d.jpg", "a data-src /news/e.jpg",
        ]
      ),
      (
        "<div data-bg=dark></div><div data-bg='#fff'></div><div data-background='{\"a\":\"/b\"}'></div><div data-bg='rgb(0 0 0 / 1)'>"
          + "</div><img data-bg=dark><iframe data-src=/embed/1></iframe><video data-src=v.mp4 data-bg=none></video><script data-src=/x.js></script>",
        []
      ),
      (
        "<img data-bg='url(e.jpg)' data-background=f.jpg><div data-bgset='a.jpg 400w, b.jpg 800w [--small] | c.jpg'></div><picture><source data-srcset='d.jpg 2x'></picture>",
        [
          "style data-bg /news/e.jpg", "img data-background /news/f.jpg", "div data-bgset /news/a.jpg",
          "div data-bgset /news/b.jpg", "div data-bgset /news/c.jpg", "source data-srcset /news/d.jpg",
        ]
      ),
      (
        "<a href=a.jpg><img src=b.jpg></a><a rel=nofollow href='/c.PNG?x#y'></a><area href=d.webp><a href=/wiki/File:no.jpg></a>"
          + "<a href=no.jpg.html></a><svg><a href=e.svg></a></svg><a href='/x:y/f.gif'></a>",
        [
          "a href /news/a.jpg", "img src /news/b.jpg", "a href /c.PNG?x", "area href /news/d.webp", "a href /news/e.svg",
          "a href /x:y/f.gif",
        ]
      ),
      (
        "<link rel=preload as=image href=a.png imagesrcset='b.png 2x'><link rel=preload as=font href=no.woff>",
        ["link preload /news/a.png", "link imagesrcset /news/b.png"]
      ),
      (
        "<meta property=og:image content=a.png><meta name=OG:image:url content=b.png>"
          + "<meta property=og:image:secure_url content=c.png><meta name=twitter:image content=d.png>"
          + "<meta property=twitter:image:src content=e.png><meta property=og:image:alt content=no>",
        [
          "meta og:image /news/a.png", "meta og:image:url /news/b.png", "meta og:image:secure_url /news/c.png",
          "meta twitter:image /news/d.png", "meta twitter:image:src /news/e.png",
        ]
      ),
      (
        "<div itemscope><meta itemprop='image x' content=a.png><link itemprop=image href=b.png><meta itemprop=name content=no>"
          + "<link itemprop=thumbnailUrl href=c.png><meta itemprop=logo content=d.png>",
        ["meta image /news/a.png", "link image /news/b.png", "link thumbnailUrl /news/c.png", "meta logo /news/d.png"]
      ),
      (
        "<body background=a.png><table background=b.png><tr background=c.png><td background=d.png><th background=e.png></table>"
          + "<div background=no.png>",
        [
          "body background /news/a.png", "table background /news/b.png", "tr background /news/c.png",
          "td background /news/d.png", "th background /news/e.png",
        ]
      ),
      (
        "<object type=image/svg+xml data=a></object><object data=b.svg?x#y></object><object type=text/html data=no.svg></object>"
          + "<object data=no.html></object><embed src=c.PNG><embed type=image/png src=d><embed src=no.swf>",
        ["object data /news/a", "object data /news/b.svg?x", "embed src /news/c.PNG", "embed src /news/d"]
      ),
      (
        "<svg><image href=a.png /><image xlink:href=b.png /><image href=c.png xlink:href=no.png /><feImage xlink:href=d.png />"
          + "<use href='e.svg#f'/><use href='#g'/><img src=f.png></svg>",
        [
          "image href /news/a.png", "image href /news/b.png", "image href /news/c.png", "feimage href /news/d.png",
          "use href /news/e.svg", "img src /news/f.png",
        ]
      ),
      ("<p style='background: url(a.png)'>", ["style background /news/a.png"]),
      (
        "<style>p { list-style: url(a.png) }</style><style type=text/less>p { background: url(no.png) }</style>",
        ["style list-style /news/a.png"]
      ),
      (
        "<head><noscript><link rel=icon href=a.png></noscript><body><noscript><img src=b.png></noscript>",
        ["link icon /news/a.png", "img src /news/b.png"]
      ),
      ("<template><img src=no.png></template><template shadowrootmode=open><img src=a.png></template>", ["img src /news/a.png"]),
      (
        "<!-- <img src=no.png> --><textarea><img src=no.png></textarea><script>'<img src=no.png>'</script><noembed><img src=no></noembed>",
        []
      ),
    ] as [(String, [String])]
  )
  func `each element that names an image has its entry`(markup: String, expected: [String]) {
    #expect(page(markup).sources == expected)
  }

  @Test func `srcdoc documents are read after the page, with the line of their element`() {
    let text =
      "<base href=/base/>\n<iframe srcdoc=\"<base href=/own/>\n<img src=a.png><iframe srcdoc='<img src=b.png>'></iframe>\"></iframe>\n"
    let result = page(text + "<iframe srcdoc='<img src=d.png>' src=no.html></iframe><img src=c.png>")
    #expect(result.urls == ["/base/c.png", "/own/a.png", "/base/d.png", "/base/b.png"])
    #expect(result.lines == [4, 2, 4, 2])
    #expect(result.links.isEmpty)
  }

  @Test func `lines are those of the element or declaration`() {
    let text =
      "<!doctype html>\r\n<img\r\n src=1.png>\r<img src=2.png>\n\n<style>\n\na{b:url(3.png);\nc:url(\"4.png\")}</style><i style='\n\nb:url(5.png)'>"
    let result = page(text)
    #expect(result.urls.map { $0.suffix(5) } == ["1.png", "2.png", "3.png", "4.png", "5.png"])
    #expect(result.lines == [2, 4, 8, 9, 9])
  }

  @Test(
    arguments: [
      (" \n a b.png\t", "/news/a%20b.png"), ("a\n\t.png", "/news/a.png"),
      ("//cdn.example.com/a.png", "https://cdn.example.com/a.png"),
      ("\\img\\a.png?b\\c", "/img/a.png?b\\c"), ("https:a.png", "/news/a.png"), ("https:/a.png", "/a.png"),
      ("http:/b.com/a.png", "http://b.com/a.png"), ("https:\\\\b.com\\a.png", "https://b.com/a.png"),
      ("///b.com/a.png", "https://b.com/a.png"), ("?x", "/news/today.html?x"), ("../a.png#b", "/a.png"),
      ("a&amp;b.png?c&copy=1&eacute;", "/news/a&b.png?c&copy=1%C3%A9"), ("HTTPS://WWW.example.com/a.png", "/a.png"),
      ("é.png", "/news/%C3%A9.png"), ("a:b.png", nil), ("data:image/png;base64,AA==", nil), ("blob:x", nil), ("#a", nil),
      ("", nil), ("javascript:a.png", nil), ("about:blank", nil), (" ", nil), ("./a:b.png", "/news/a:b.png"),
    ] as [(String, String?)]
  )
  func `URLs are resolved as browsers do`(written: String, expected: String?) {
    #expect(page("<img src=\"\(written)\">").urls == [expected].compactMap(\.self))
  }

  @Test func `URLs that aren't fetched are counted, and invalid ones kept with a problem`() {
    let result = page("<img src=data:x><a href='#top'>\n<img src='https://a:b/x.png'><a href='https://a:b/'><img src=''>")
    #expect(result.remarks.otherURLs == 2)
    #expect(result.urls == ["https://a:b/x.png"])
    expectGolden(result.images.first?.problem)
    #expect(result.remarks.links.count == 1 && result.remarks.links.line == 2)
  }

  @Test func `the first base with a URL applies to the whole page`() {
    let text = "<link rel=icon href=a.ico><base target=_top><base href='/base/x'><base href=/other/><img src=b.png><a href=c>"
    #expect(page(text).urls == ["/base/a.ico", "/base/b.png"])
    #expect(page(text).linkURLs == ["/base/c"])
    #expect(page("<base href='data:x'><img src=a.png>").urls == ["/news/a.png"])
  }

  @Test func `claims of the markup are kept`() {
    let text = """
      <picture><source srcset="a.webp 640w, b.webp 1280w 720h" sizes="(max-width: 9em) 50vw" media="print" type="image/webp">
      <img src=c.png width=" 300px" height=50% sizes=auto></picture><link rel=icon sizes=32x32 type=image/png href=d.png>
      """
    let claims = page(text).images.map(\.claims)
    #expect(claims.count == 4)
    #expect(claims[0].sourceWidth == 640 && claims[0].density == nil)
    #expect(claims[1].sourceWidth == 1280)
    #expect(claims[1].hasSizes && claims[1].format == .webp)
    #expect(claims[2].width == 300 && claims[2].height == nil && claims[2].hasSizes)
    #expect(claims[3].format == .png)
  }

  @Test(
    arguments: [
      (#"{"@type":"Article","image":"a.png","publisher":{"logo":{"@type":"ImageObject","url":"b.png"}}}"#, ["a.png", "b.png"]),
      (
        #"{"@graph":[{"image":["a.png",{"url":"b.png","@id":"no"}]},{"thumbnailUrl":"c.png","url":"no"}]}"#,
        ["a.png", "b.png", "c.png"]
      ),
      (#"[{"@type":["Thing","ImageObject"],"contentUrl":"a.png"},{"@type":"VideoObject","contentUrl":"no"}]"#, ["a.png"]),
      (#"{"image":{"@type":"ImageObject","contentUrl":"a\u002epng","author":{"url":"no"}}}"#, ["a.png"]),
      (#"{"image":null,"logo":3}"#, []), ("", []), ("{", nil), ("{'image': 'a.png'}", nil),
      (String(repeating: "[", count: 65) + String(repeating: "]", count: 65), nil),
      (String(repeating: "[", count: 64) + #"{"image":"a.png"}"#.replacing("{", with: "").replacing("}", with: ""), nil),
      (String(repeating: "[", count: 63) + #"{"image":"a.png"}"# + String(repeating: "]", count: 63), ["a.png"]),
    ] as [(String, [String]?)]
  )
  func `images of JSON-LD are found at any depth`(json: String, expected: [String]?) {
    let result = page("\n<script type=' Application/LD+json'>\(json) </script>")
    #expect(result.urls.map { String($0.dropFirst(6)) } == expected ?? [])
    #expect(result.lines.allSatisfy { $0 == 2 })
    #expect(result.remarks.json.count == (expected == nil ? 1 : 0))
  }

  @Test func `links to pages are found, with nofollow`() {
    let text = """
      <meta name=ROBOTS content="noindex, NoFollow"><link rel="next nofollow" href=/2><link rel=canonical href=/no>
      <a href=b.html#c rel="noopener nofollow">x</a><map><area href=/area></map><a>no</a><a href="mailto:x@y"><a href="#no">
      <iframe src=frame.html></iframe><meta http-equiv=Refresh content="5; URL='/moved?a=1'"><svg><a xlink:href=/svg></a></svg>
      """
    let result = page(text)
    #expect(result.linkURLs == ["/2", "/news/b.html", "/area", "/news/frame.html", "/moved?a=1", "/svg"])
    #expect(result.links.map(\.isNoFollow) == [true, true, false, false, false, false])
    #expect(result.isNoFollow)
    #expect(!page("<meta name=robots content=index>").isNoFollow)
    #expect(page("<frameset><frame src=a.html></frameset>").linkURLs == ["/news/a.html"])
  }

  @Test(arguments: [
    ("0;url=/a", ["/a"]), ("3 , /a", ["/a"]), ("0; url = \"/a b\" c", ["/a%20b"]), ("1.5 url=/a", ["/a"]), ("5", []),
    ("url=/no", []), ("0;", []), ("0;url='/a", ["/a"]), ("0;urlish", ["/news/urlish"]), ("x;url=/no", []),
  ])
  func `the URL of a refresh is found`(content: String, expected: [String]) {
    let escaped = content.replacing("\"", with: "&quot;")
    #expect(page("<meta http-equiv=refresh content=\"\(escaped)\">").linkURLs == expected)
  }

  @Test func `only stylesheets that browsers load are named`() {
    let text = """
      <link rel=stylesheet href=/a.css><link rel="alternate stylesheet" href=/no.css><LINK REL=StyleSheet disabled href=/no.css>
      <link rel=stylesheet type=text/less href=/no.less><link rel=stylesheet type="text/css" media=print href=/b.css>
      <style>@import "c.css"; p { color: red } @import "no.css";</style>
      """
    #expect(page(text).stylesheetURLs == ["/a.css", "/b.css", "/news/c.css"])
    #expect(page(text).stylesheets.map(\.line) == [1, 2, 3])
  }
}
