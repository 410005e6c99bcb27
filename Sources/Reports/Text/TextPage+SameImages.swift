import ImagePrimitives

extension TextPage {
  private static let placeholderLimit = 10

  /// Images that stand for many URLs of a host: how many, what each is, and the first URL that got it.
  mutating func writePlaceholders(_ report: FinishedReport) {
    guard !report.placeholders.isEmpty else { return }
    let shown = report.placeholders.prefix(Self.placeholderLimit)
    let countWidth = max(5, shown.map { grouped($0.urls).count }.max() ?? 0)
    let images = shown.map(\.imagePhrase)
    let imageWidth = images.map { columns(of: $0) }.max() ?? 0
    line()
    line("Placeholders: one image for many URLs of a host")
    for (placeholder, image) in zip(shown, images) {
      let start = "  \(grouped(placeholder.urls).rightAligned(to: countWidth)) x  \(image.padded(to: imageWidth))  "
      let url = escapedForTerminal(placeholder.firstURL).cut(to: 3 * width)
      if columns(of: start + url) <= width {
        line(start + url)
      } else {
        line(start + escapedForTerminal(placeholder.host).cut(to: width - columns(of: start)))
        line("    \(url)")
      }
    }
    let others = report.placeholders.count - shown.count
    if others > 0 { line(styled("  … \(grouped(UInt64(others))) more", .detail)) }
  }

  /// How many URLs gave bytes that another one gave, too.
  mutating func writeDuplicates(_ duplicates: Duplicates?) {
    guard let duplicates, duplicates.bodies > 0 else { return }
    let least = duplicates.isComplete ? "" : "at least "
    paragraph("Duplicates", ["\(least)\(counted(duplicates.bodies, "image")) from \(counted(duplicates.urls, "URL"))"])
  }
}
