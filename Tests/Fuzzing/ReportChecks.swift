import Glibc
import Reports

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
        let replay = RowReplay(version: "", job: JobIdentity(name: "", file: nil), words: .plain)
        try replay.add(input)
        Self.check(try replay.finish())
        _ = try ReportComparison(from: path, to: path) { demand($0.url.isEmpty, "\($0.change) compared with itself") }
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
    TextReport().write(report, to: &output)
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
