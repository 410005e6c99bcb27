import Glibc
import Reports

/// Reports that come from anywhere: reading one tells what is wrong with it, and what is read can be rendered, read again and joined.
struct ReportChecks {
  private let bytes: UnsafeRawBufferPointer
  /// A file of this process alone, which is removed with its name at once.
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
        _ = try ReportComparison(from: path, to: path) { demand($0.url.isEmpty, "\($0.change) from itself") }
      }
      _ = try FailureBaseline(path: path)
    } catch {
      demand("\(error)".contains(path), "an error that does not name its file: \(error)")
    }
  }

  /// A report can be rendered and joined with itself, and is the same when its JSON is read back.
  static func check(_ report: FinishedReport) {
    let text = json(report)
    _ = json(FinishedReport(merging: [report, report]))
    let again = Array(text.utf8).withUnsafeBytes { write($0) }
    do {
      demand(json(try ReportInput(path: again).report(words: .plain)) == text, "read back, it is another report")
    } catch {
      fatalError("what was written cannot be read: \(error)")
    }
  }

  /// A report as JSON; as text it is rendered too.
  static func json(_ report: FinishedReport) -> String {
    var output = OutputBuffer()
    TextReport().write(report, to: &output)
    output.removeAll()
    JSONReport().write(report, to: &output)
    return output.text
  }

  /// Writes the file anew and returns its path.
  private static func write(_ bytes: UnsafeRawBufferPointer) -> String {
    ftruncate(file, 0)
    guard pwrite(file, bytes.baseAddress, bytes.count, 0) == bytes.count else { fatalError("the file cannot be written") }
    return "/proc/self/fd/\(file)"
  }
}
