package import ImageCoding
package import Base

/// The code that is tested with any bytes: a format's coder, the header probe of all formats, or the reading of reports, pages,
/// stylesheets, lists, responses' heads, jobs, and the messages of decoders.
package enum FuzzTarget {
  case coder(any ImageCoder, ImageFormat)
  case header, report, html, css, list, http, job, worker

  /// The targets of scripts/fuzz.
  package static let names =
    ImageFormat.allCases.map(\.name) + ["header", "report", "html", "css", "list", "http", "job", "worker"]

  /// The target of that name.
  package init?(_ name: String) {
    switch name {
    case "header": self = .header
    case "report": self = .report
    case "html": self = .html
    case "css": self = .css
    case "list": self = .list
    case "http": self = .http
    case "job": self = .job
    case "worker": self = .worker
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
    case .http: ResponseChecks(bytes).run()
    case .job: JobChecks.run(bytes)
    case .worker: WorkerChecks.run(bytes)
    }
  }

  /// The initial inputs besides the fixtures, written by prewarm itself.
  package var seeds: [[UInt8]] {
    switch self {
    case .html: PageChecks.pageSeeds
    case .css: PageChecks.stylesheetSeeds
    case .list: ListChecks.seeds
    case .http: ResponseChecks.seeds
    case .job: JobChecks.seeds
    case .worker: WorkerChecks.seeds
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
