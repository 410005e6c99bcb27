import Base
import Lists

enum ManifestBenchmarks {
  static var all: [Benchmark] {
    [
      manifest("manifest-text", "list.txt") { "\($0)\n" },
      manifest("manifest-csv", "list.csv", head: "url,title,priority\n") { "\($0),\"A title, quoted\",high\n" },
      manifest("manifest-jsonl", "list.jsonl") { #"{"url": "\#($0)", "priority": "low", "width": 800}"# + "\n" },
      manifest("manifest-sitemap", "sitemap.xml", head: sitemapHead, end: "</urlset>\n") {
        "  <url>\n    <loc>https://shop.example.com/p</loc>\n    <image:image><image:loc>\($0)</image:loc></image:image>\n  </url>\n"
      },
      manifest("manifest-log", "access.log", requestsOnly: true) {
        #"192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] "GET \#($0) HTTP/1.1" 200 8123 "-" "Mozilla/5.0""# + "\n"
      },
      manifest("manifest-lifo", "lifo.txt", order: .lifo) { "\($0)\n" },
      urls("url-normal", "https://img.example.com/a/product-12/front-800x600.jpg?v=3"),
      urls("url-address", "http://192.0.2.10:8080/a/product-12/front-800x600.jpg"),
      urls("url-other-form", "HTTPS://IMG.Example.com:443/a/./b/../front%2d800 x600.jpg?v=\u{e9}#top"),
    ]
  }

  private static let lines = 10_000

  private static let sitemapHead = """
    <?xml version="1.0" encoding="UTF-8"?>
    <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">

    """

  /// Reads a complete file of `lines` entries.
  private static func manifest(
    _ name: String,
    _ file: String,
    head: String = "",
    end: String = "",
    requestsOnly: Bool = false,
    order: EntryOrder = .fifo,
    line: @escaping (String) -> String
  ) -> Benchmark {
    Benchmark(name: name, operations: lines) { workspace in
      var text = head
      for number in 0..<lines { text += line(ExampleURLs.text(number)) }
      var manifest = URLList(.file(try workspace.write(text + end, to: file)), name: file)
      if requestsOnly {
        manifest.format = .combined
        manifest.include = [try URLPattern("*.jpg")]
      }
      return {
        let reader = try ListReader([manifest], order: order, spoolDirectory: workspace.folder)
        var batch = EntryBatch()
        var good = 0
        while try reader.next(&batch, maximum: 1_024) {
          for entry in batch.entries where entry.state == .good { good += 1 }
          batch.removeAll()
        }
        guard good == lines else { throw BenchmarkError(sentence: "\(name): \(good) entries were good") }
      }
    }
  }

  private static func urls(_ name: String, _ text: String) -> Benchmark {
    Benchmark(name: name, operations: 10_000) { _ in
      let text = Array(text.utf8)
      let normalizer = URLNormalizer()
      var bytes: [UInt8] = []
      return {
        for _ in 0..<10_000 {
          bytes.removeAll(keepingCapacity: true)
          keep(
            try text.withRawBytes { text throws(InvalidURL) in
              try normalizer.normalize(text, relativeTo: nil, into: &bytes)
            }
          )
        }
      }
    }
  }
}
