import ArgumentParser
import Glibc
import Reports
import WarmJobs

/// Where reports go that are made of earlier ones.
struct ReportOutputs: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A report to write beside the text on standard output, such as html=report.html; may be repeated. One that goes to '-' "
        + "stands in place of the text.",
      valueName: "format=file"
    )
  )
  var report: [String] = []

  /// A report to write.
  struct Target {
    var format: ReportFormat
    var path: String
  }

  /// The reports to write; errors end the command with status 3.
  func targets() throws -> [Target] {
    var targets: [Target] = []
    for text in report {
      guard let equals = text.firstIndex(of: "="), equals != text.indices.last else {
        throw CommandError(.misused, "--report \(text): write it as --report json=report.json")
      }
      let path = String(text[text.index(after: equals)...])
      targets.append(Target(format: try Self.format(String(text[..<equals]), path: path), path: path))
    }
    let paths = targets.map(\.path)
    var files: Set<FileIdentity> = []
    for path in paths where path == "-" ? paths.count(where: { $0 == "-" }) > 1 : !files.insert(FileIdentity(path)).inserted {
      throw CommandError(.misused, "--report: two reports go to \(path); give each a file of its own")
    }
    if !paths.contains("-") { targets.insert(Target(format: .text, path: "-"), at: 0) }
    return targets
  }

  /// The format that an option names for the report at `path`; throws status 3 for any other word.
  static func format(_ word: String, path: String) throws -> ReportFormat {
    if let format = ReportFormat(rawValue: word) { return format }
    let error = ReportFormat.error(named(word), path: named(path)) { "--report \($0.rawValue)=\($1)" }
    throw CommandError(.misused, "--report \(named(word))=\(named(path)): \(error)")
  }

  /// Throws status 3 where a report of `targets` would be written over the file at `path`, which is to be read.
  static func check(_ targets: [Target], against path: String) throws {
    for target in targets where target.path != "-" && FileIdentity(target.path) == Self.identity(ofInput: path) {
      let message = "that is the file that is read; name another one"
      throw CommandError(.misused, "--report \(target.format.rawValue)=\(target.path): \(message)")
    }
  }

  /// Throws status 3 where a report of `targets` is made of rows that `input` does not have.
  static func check(_ targets: [Target], against input: ReportInput) throws {
    for target in targets where target.format.isMadeOfRows {
      guard input.kind == .rows else {
        let advice = "make it of the JSON Lines report of that run"
        throw CommandError(
          .misused,
          "\(input.path) is a JSON report, which has no rows for \(target.format.rawValue); \(advice)"
        )
      }
    }
  }

  /// A terminal may be read and written, and loses nothing by it.
  private static func identity(ofInput path: String) -> FileIdentity? {
    if path == "-" { return FileIdentity(descriptor: STDIN_FILENO) }
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return FileIdentity(descriptor: descriptor)
  }

  /// Opens the reports; one that cannot be opened ends the command with status 1, or 3 while another run writes it.
  static func open(_ targets: [Target], _ text: TextOptions, _ display: DisplayOptions) throws -> [any ReportWriter] {
    try targets.map { target in
      do throws(ReportError) {
        return try target.format.open(target.path, options: display.reportOptions(text))
      } catch {
        throw CommandError(error.exitStatus, "\(error)")
      }
    }
  }

  /// Writes the reports; one that cannot be written ends the command with status 1, after the others are written.
  static func finish(_ writers: [any ReportWriter], _ report: FinishedReport) throws {
    var failure: ReportError?
    for writer in writers {
      do throws(ReportError) {
        try writer.finish(report)
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw CommandError(.couldNotFinish, "\(failure)") }
  }
}

extension ReportFormat {
  /// Whether it lists each entry, which requires the rows of a run.
  fileprivate var isMadeOfRows: Bool {
    switch self {
    case .jsonl, .csv, .junit: true
    case .text, .json, .markdown, .github, .html, .prometheus: false
    }
  }
}

extension RowReplay {
  /// What was counted; journals that could not be written end the command with status 1.
  func finished() throws -> FinishedReport {
    do throws(ReportError) {
      return try finish()
    } catch {
      throw CommandError(.couldNotFinish, "\(error)")
    }
  }
}
