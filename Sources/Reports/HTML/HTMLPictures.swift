import Base

extension HTMLPage {
  /// Placeholders, each with its picture, and how many URLs share their bytes with others.
  mutating func writeSameImages(_ report: FinishedReport) {
    let duplicates = report.duplicates.flatMap { $0.bodies > 0 ? $0 : nil }
    guard !report.placeholders.isEmpty || duplicates != nil else { return }
    section("same-images", "Placeholders and duplicates", in: "Placeholders") { page in
      if let duplicates {
        let (bodies, urls) = (counted(duplicates.bodies, "image"), counted(duplicates.urls, "URL"))
        page.element(
          "p",
          ["class": "note"],
          "\(duplicates.isComplete ? "" : "At least ")\(bodies) came from more than one URL (\(urls) in total)"
        )
      }
      guard !report.placeholders.isEmpty else { return }
      let pictures = Dictionary(
        report.thumbnails.compactMap { thumbnail in thumbnail.checksum.map { ($0, thumbnail) } },
        // Of two pictures of the same image, keep the one that could be decoded.
        uniquingKeysWith: { $0.hasPicture ? $0 : $1 }
      )
      let shown = page.list("ul", style: "placeholders", report.placeholders, limit: 50, bytes: 120_000) { page, placeholder in
        page.write(placeholder, picture: pictures[placeholder.checksum])
      }
      page.omission(UInt64(report.placeholders.count - shown), "more placeholder")
    }
  }

  private mutating func write(_ placeholder: Placeholder, picture thumbnail: Thumbnail?) {
    pictureOrNone(thumbnail, description: "the placeholder")
    element("div") { page in
      page.element("p") { page in
        page.element("b", ["class": "host"]) { $0.text(placeholder.host, limit: 120) }
        page.text(" \(placeholder.findingPhrase)")
      }
      page.element("p", ["class": "facts"], placeholder.imagePhrase)
      page.url(placeholder.firstURL)
    }
  }

  /// Small pictures of received images, by the reason for which they are shown.
  mutating func writeContactSheet(_ report: FinishedReport) {
    // Pictures of good images say nothing where all is good.
    guard !report.isAllGood else { return }
    let groups: [(reason: Thumbnail.Reason, title: String)] = [(.failed, "Refused"), (.largest, "Largest"), (.latest, "Latest")]
    guard
      report.thumbnails.contains(where: {
        ![.placeholder, .heavy].contains($0.reason) && ($0.reason != .failed || $0.hasPicture)
      })
    else {
      return
    }
    section("pictures", "Pictures") { page in
      let budget = 400_000 / groups.count
      for group in groups {
        // Failures without a picture are in their list already.
        let thumbnails = report.thumbnails.filter { $0.reason == group.reason && (group.reason != .failed || $0.hasPicture) }
        if thumbnails.isEmpty { continue }
        page.element("h3", group.title)
        let shown = page.list("ul", style: "sheet", thumbnails, limit: 60, bytes: budget) { $0.write($1) }
        page.omission(UInt64(thumbnails.count - shown), "more picture")
      }
    }
  }

  private mutating func write(_ thumbnail: Thumbnail) {
    let name = thumbnail.url.endOfPath
    pictureOrNone(thumbnail, description: name)
    url(thumbnail.url, as: name)
    element("small", thumbnail.imagePhrase)
    if let failure = thumbnail.failure {
      element("small", ["class": "bad"]) {
        $0.text(failure.message.isEmpty ? failure.kind.name : groupingDigits(in: failure.message), limit: 200)
      }
    }
  }

  mutating func pictureOrNone(_ thumbnail: Thumbnail?, description: String) {
    element("div", ["class": "picture"]) { page in
      if let thumbnail, thumbnail.hasPicture {
        page.picture(thumbnail, description: description)
      } else {
        page.element("span", "no picture")
      }
    }
  }
}

extension Thumbnail {
  /// Whether it has a picture that is small enough for a page.
  var hasPicture: Bool { !picture.isEmpty && picture.count <= 16_384 }

  fileprivate var imagePhrase: String { Reports.imagePhrase(format: format, width: width, height: height, bytes: bytes) }
}

extension String {
  /// The last two parts of the path, since many images are called `1.jpg`.
  fileprivate var endOfPath: String {
    let path = prefix { $0 != "?" && $0 != "#" }
    let rest = path.firstRange(of: "://").map { path[$0.upperBound...] } ?? path
    let parts = rest.split(separator: "/")
    return parts.count > 1 ? parts.dropFirst().suffix(2).joined(separator: "/") : String(path)
  }
}
