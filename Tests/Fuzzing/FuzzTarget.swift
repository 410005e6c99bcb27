package import ImageCoding
package import Base

/// The code that is tested with any bytes: a format's coder, the header probe of all formats, the reading of reports, or that of pages,
/// stylesheets and lists.
package enum FuzzTarget {
  case coder(any ImageCoder, ImageFormat)
  case header, report, html, css, list

  /// The targets of scripts/fuzz.
  package static let names = ImageFormat.allCases.map(\.name) + ["header", "report", "html", "css", "list"]

  /// The target of that name.
  package init?(_ name: String) {
    switch name {
    case "header": self = .header
    case "report": self = .report
    case "html": self = .html
    case "css": self = .css
    case "list": self = .list
    default:
      guard let format = ImageFormat(name: name), let coder = ImageCoderRegistry.standard.coder(for: format) else { return nil }
      self = .coder(coder, format)
    }
  }

  package func run(_ bytes: UnsafeRawBufferPointer) {
    switch self {
    case .coder(let coder, let format): CoderChecks(coder, format, bytes).run()
    case .header: HeaderChecks(bytes).run()
    case .report: ReportChecks(bytes).run()
    case .html: PageChecks(bytes).runPage()
    case .css: PageChecks(bytes).runStylesheet()
    case .list: ListChecks(bytes).run()
    }
  }

  /// The initial inputs besides the fixtures, written by prewarm itself.
  package var seeds: [[UInt8]] {
    switch self {
    case .html: PageChecks.pageSeeds
    case .css: PageChecks.stylesheetSeeds
    case .list: ListChecks.seeds
    case .coder, .header, .report: []
    }
  }

  /// Corrects a mutated input. Every fourth stays as it is, so that wrong checksums are tested, too.
  package func mend(_ bytes: UnsafeMutableRawBufferPointer, seed: UInt32) {
    if case .coder(_, let format) = self, !seed.isMultiple(of: 4) { Mending.mend(bytes, as: format) }
  }
}

/// Stops with a message, which libFuzzer reports with the input.
func demand(_ holds: Bool, _ sentence: @autoclosure () -> String) {
  if !holds { fatalError(sentence()) }
}
