import Base
import Glibc
import Lists
import Reports

/// Pages and stylesheets of any bytes: each URL must be in normal form and each line within the text, whatever the limits.
struct PageChecks {
  private static let url = try! BaseURL("https://www.example.com/a/b.html")
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  func runPage() {
    let whole = checkedPage(PageRules())
    var rules = PageRules()
    rules.limits.treeBytes = 1 << 16
    rules.limits.depth = 16
    rules.limits.attributes = 8
    let parts = checkedPage(rules)
    rules.limits.references = 4
    rules.limits.bytes = 4096
    rules.limits.textBytes = 4096
    let few = checkedPage(rules)
    demand(few.images.count <= 4 && few.links.count + few.stylesheets.count <= 4, "more references than the limit")
    if bytes.count < 512, !bytes.contains(UInt8(ascii: "<")) {
      demand(whole.images.isEmpty && parts.images.isEmpty, "images in a text without tags")
    }
  }

  func runStylesheet() {
    let document = PageDocument(stylesheet: bytes, contentType: nil, url: Self.url)
    check(document.images, document.text)
    for sheet in document.stylesheets { check(sheet.url, sheet.parts, sheet.line, document.text) }
  }

  private func checkedPage(_ rules: PageRules) -> PageDocument {
    let page = PageDocument(bytes, contentType: nil, url: Self.url, rules: rules)
    check(page.images, page.text)
    for link in page.links { check(link.url, link.parts, link.line, page.text) }
    for sheet in page.stylesheets { check(sheet.url, sheet.parts, sheet.line, page.text) }
    demand(page.remarks.warnings(of: "page").allSatisfy { $0.hasPrefix("page:") }, "a warning without the page's name")
    return page
  }

  private func check(_ images: [PageImage], _ text: [UInt8]) {
    for image in images where image.problem == nil { check(image.url, image.parts, image.line, text) }
    for image in images where image.problem != nil { demand(image.parts == .empty, "an invalid image with parts") }
  }

  private func check(_ range: Range<Int>, _ parts: URLParts, _ line: UInt64, _ text: [UInt8]) {
    let known = text[range].withRawBytes { URLNormalizer.parts(ofNormalForm: $0) }
    demand(known == parts, "'\(String(decoding: text[range], as: UTF8.self))' isn't in normal form")
    // UTF-16 has fewer line breaks than bytes, too.
    demand(line >= 1 && line <= UInt64(bytes.count) + 1, "line \(line) of \(bytes.count) bytes")
  }
}

extension PageChecks {
  /// Pages with most of the elements and encodings that matter, and attacks on the parser.
  static var pageSeeds: [[UInt8]] {
    let texts = [
      "<base href=/x/><link rel='icon' href=a.ico><link rel=stylesheet href=a.css><meta property=og:image content=b.png>",
      "<picture><source srcset='a.webp 1x, b.webp 2x' media=print><img src=c.jpg srcset='d 640w, e 1280w 720h' sizes=auto></picture>",
      "<script type=application/ld+json>{\"@type\":\"ImageObject\",\"contentUrl\":[\"a\\u002e\",{\"image\":\"b\"}]}</script>",
      "<table background=a><tr><td style='background:url(b)'><video poster=c><svg><image xlink:href=d /><style>e{f:url(g)}</style></svg>",
      "<iframe srcdoc='<img src=&quot;a&quot;>'></iframe><noscript><img data-src=b></noscript><template><img src=c></template>",
      "<meta http-equiv=refresh content='0;url=a'><a rel=nofollow href='\\b\tc'><frameset><frame src=d></frameset>",
      "<meta charset=shift_jis><img src=\u{93}\u{fa}>", "<b><p><i></b></p><a><table><a><b>x</table></a>",
    ]
    return texts.map { Array($0.utf8) } + [
      texts.joined().utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }, Array(texts.joined().utf8),
    ]
  }

  static var stylesheetSeeds: [[UInt8]] {
    let texts = [
      "@charset \"utf-8\"; @import url(a.css) layer(x); @import 'b.css' print; @media x { a:b { c: url( d ) } }",
      "@font-face { src: url(a) } a { b: image-set('c' 1x, url(d) 2dppx type('image/avif')); e: url('\\66\n') } /* f */",
      "a { b: url(c\\)d) ; --x: { y: url(z) } } @namespace url(x); <!-- a { b: url(c d) } --> #url(a) 1e3x",
    ]
    return texts.map { Array($0.utf8) }
  }
}

/// Lists, sitemaps and feeds of any bytes: entries must be the same in small and large portions, and each URL in normal form.
struct ListChecks {
  private struct Read: Equatable {
    struct Entry: Equatable {
      let isFiltered: Bool
      let problem: String?
      let line: UInt64
      let texts: [[UInt8]]
      let id: String?
    }

    var entries: [Entry] = []
    var failure: String?
  }

  /// The most entries that are compared; a gzip file can have many.
  private static let entryLimit = 4096
  /// A file in memory for each list in turn.
  private static let file: Int32 = {
    var path = Array("/dev/shm/prewarm-fuzz-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    demand(file >= 0 && unlink(path) == 0, "no file in memory")
    return file
  }()

  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  func run() {
    for format in [URLList.Format.auto, .csv, .tsv, .jsonl, .feed] {
      let whole = read(format, portion: 512)
      demand(whole == read(format, portion: 3), "\(format): other entries in small portions")
    }
  }

  private func read(_ format: URLList.Format, portion: Int) -> Read {
    var read = Read()
    let file = Self.file
    demand(ftruncate(file, 0) == 0 && pwrite(file, bytes.baseAddress, bytes.count, 0) == bytes.count, "cannot write the list")
    demand(lseek(file, 0, SEEK_SET) == 0, "cannot rewind the list")
    var list = URLList(.standardInput, name: "list")
    (list.format, list.usesLastModified, list.usesSitemapPriority) = (format, true, true)
    list.limit = Self.entryLimit
    do throws(ListError) {
      let reader = try ListReader([list], order: .fifo, spoolDirectory: "/tmp", standardInput: file)
      var batch = EntryBatch()
      while try reader.next(&batch, maximum: portion) {
        for index in batch.entries.indices { read.entries.append(entry(index, batch)) }
        batch.removeAll()
      }
    } catch {
      read.failure = "\(error)"
    }
    return read
  }

  private func entry(_ index: Int, _ batch: EntryBatch) -> Read.Entry {
    let entry = batch.entries[index]
    let url = Array(batch.bytes[entry.requestRange])
    demand(entry.line >= 1, "an entry without a line")
    var problem: String?
    if case .invalid(let message) = entry.state {
      problem = batch.messages[Int(message)]
    } else {
      demand(url.withRawBytes { URLNormalizer.parts(ofNormalForm: $0) } == entry.parts, "a URL that isn't in normal form")
    }
    let written = Array(batch.bytes[entry.writtenRange])
    return Read.Entry(
      isFiltered: entry.state == .filtered,
      problem: problem,
      line: entry.line,
      texts: [url, written],
      id: batch.note(index)?.id
    )
  }
}

extension ListChecks {
  /// Lists of each format, most of them feeds.
  static var seeds: [[UInt8]] {
    let google = "xmlns:g='http://base.google.com/ns/1.0'"
    let media = "xmlns:media='http://search.yahoo.com/mrss/'"
    let texts = [
      "<rss version='2.0' \(google)><channel><image><url>http://a.com/l.gif</url></image><item><g:id>1</g:id><g:image_link>http://a.com/1.jpg"
        + "</g:image_link><g:additional_image_link><![CDATA[http://a.com/&2.jpg]]></g:additional_image_link></item></channel></rss>",
      "<feed xmlns='http://www.w3.org/2005/Atom' \(media)><logo>http://a.com/l.png</logo><entry><id>i</id><link rel='enclosure' "
        + "type='image/png' href='http://a.com/1'/><media:group><media:content url='http://a.com/2.jpg' medium='image'/></media:group></entry></feed>",
      "<rss \(media)><channel><item><guid>g</guid><enclosure url='http://a.com/1.jpg'/><media:thumbnail url='http://a.com/1.jpg'/></item>",
      "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://a.com/1.jpg</loc><lastmod>2026-11-21</lastmod></url>",
      "id,image link,additional_image_link\r\n1,http://a.com/1.jpg,\"http://a.com/2.jpg,http://a.com/3.jpg\"\n2,\"a\"\"\n",
      "url\twidth\theight\tbytes\tsha256\tid\nhttp://a.com/1.jpg\t1\t2\t3\t\(String(repeating: "a", count: 64))\tx\n\t\n",
      "{\"url\":\"http://a.com/1.jpg\",\"width\":1,\"id\":7,\"sha256\":null}\n\"http://a.com/2\"\n{\"url\":[]}\n",
      "1.2.3.4 - - [21/Nov/2026:09:00:00 +0000] \"GET http://a.com/a.jpg HTTP/1.1\" 200 5 \"-\" \"x\"\nhttp://a.com/\u{fc}.jpg\n",
    ]
    return texts.map { Array($0.utf8) } + [texts[0].utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }]
  }
}

/// Reports from any source: reading must report errors, and valid reports must allow rendering, reading again and merging.
struct ReportChecks {
  private let bytes: UnsafeRawBufferPointer
  /// A temporary file, unlinked at once.
  private static let file: Int32 = {
    var name = Array("/tmp/prewarm-fuzz-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    guard descriptor >= 0 else { fatalError("mkstemp: \(String(cString: strerror(errno)))") }
    unlink(name)
    return descriptor
  }()

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  func run() {
    let path = Self.write(bytes)
    do {
      let input = try ReportInput(path: path)
      switch input.kind {
      case .report: Self.check(try input.report(words: .plain))
      case .rows:
        let job = JobIdentity(name: "", file: nil)
        let replay = RowReplay(into: RunReport(version: "", job: job, words: .plain, startedAt: nil))
        try replay.add(input)
        Self.check(try replay.finish())
        _ = try ReportComparison(from: path, to: path) { demand($0.entry.url.isEmpty, "\($0.change) compared with itself") }
      }
      _ = try FailureBaseline(path: path)
    } catch {
      demand("\(error)".contains(path), "an error without its file's path: \(error)")
    }
  }

  /// Renders a report, merges it with itself, and checks that reading its JSON yields the same report.
  static func check(_ report: FinishedReport) {
    let text = json(report)
    _ = json(FinishedReport(merging: [report, report]))
    let again = Array(text.utf8).withUnsafeBytes { write($0) }
    do {
      demand(json(try ReportInput(path: again).report(words: .plain)) == text, "reading it back changes the report")
    } catch {
      fatalError("a written report can't be read: \(error)")
    }
  }

  /// A report as JSON; it is rendered as text too.
  static func json(_ report: FinishedReport) -> String {
    var output = OutputBuffer()
    ReportOptions().terminal.write(report, to: &output)
    output.removeAll()
    JSONReport().write(report, to: &output)
    return output.text
  }

  /// Overwrites the file and returns its path.
  private static func write(_ bytes: UnsafeRawBufferPointer) -> String {
    ftruncate(file, 0)
    guard pwrite(file, bytes.baseAddress, bytes.count, 0) == bytes.count else { fatalError("cannot write the file") }
    return "/proc/self/fd/\(file)"
  }
}
