import Glibc
import Base
import Lists

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
    for format in [Manifest.Format.auto, .csv, .tsv, .jsonl, .feed] {
      let whole = read(format, portion: 512)
      demand(whole == read(format, portion: 3), "\(format): other entries in small portions")
    }
  }

  private func read(_ format: Manifest.Format, portion: Int) -> Read {
    var read = Read()
    let file = Self.file
    demand(ftruncate(file, 0) == 0 && pwrite(file, bytes.baseAddress, bytes.count, 0) == bytes.count, "cannot write the list")
    demand(lseek(file, 0, SEEK_SET) == 0, "cannot rewind the list")
    var manifest = Manifest(.standardInput, name: "list")
    (manifest.format, manifest.usesLastModified, manifest.usesSitemapPriority) = (format, true, true)
    manifest.limit = Self.entryLimit
    do throws(ManifestError) {
      let reader = try ManifestReader([manifest], order: .fifo, spoolDirectory: "/tmp", standardInput: file)
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
