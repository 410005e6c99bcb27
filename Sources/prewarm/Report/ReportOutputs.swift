import ArgumentParser
import Glibc
import Reports
import Jobs

/// The reports that are written from earlier ones.
struct ReportOutputs: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Write a report, such as junit=r.xml or github=-; repeatable",
      discussion: """
        Formats: \(ReportFormat.allCases.map(\.rawValue).joined(separator: ", ")). A report to '-' replaces the text on standard output.
        """,
      valueName: "format=file"
    ),
    completion: ReportOutputs.completion
  )
  var report: [String] = []

  static let completion = CompletionKind.list(ReportFormat.allCases.map { "\($0.rawValue)=-" })

  struct Target {
    var format: ReportFormat
    var path: String
  }

  /// The reports to write, `usual` ones without options; errors end the command with status 3.
  func targets(usual: [Target] = []) throws -> [Target] {
    var targets = report.isEmpty ? usual : []
    for text in report {
      guard let equals = text.firstIndex(of: "="), equals != text.indices.last else {
        let format = ReportFormat(rawValue: text) ?? .json
        throw CommandError(.misused, "--report \(text) isn't a pair; write --report \(format.rawValue)=FILE")
      }
      let path = String(text[text.index(after: equals)...])
      let format = try Self.format(String(text[..<equals]), path: path)
      guard !Self.isSection(path) else {
        let advice = "only prewarm run and check accept options of a report; write --report \(format.rawValue)=FILE"
        throw CommandError(.misused, "--report \(format.rawValue)=\(named(path)): \(advice)")
      }
      try LocalTarget.check(path, option: "--report \(format.rawValue)=")
      targets.append(Target(format: format, path: path))
    }
    let paths = targets.map(\.path)
    var files: Set<FileIdentity> = []
    for path in paths where path == "-" ? paths.count(where: { $0 == "-" }) > 1 : !files.insert(FileIdentity(path)).inserted {
      throw CommandError(.misused, "--report: two reports have the target \(path); use a different file for each")
    }
    if !paths.contains("-") { targets.insert(Target(format: .text, path: "-"), at: 0) }
    return targets
  }

  /// Whether the target of a report is a section in YAML instead of a path.
  static func isSection(_ target: String) -> Bool { target.hasPrefix("{") && target.hasSuffix("}") }

  /// The format named `word`, for the report at `path`; an unknown one ends the command with status 3.
  static func format(_ word: String, path: String) throws -> ReportFormat {
    if let format = ReportFormat(rawValue: word) { return format }
    let error = ReportFormat.error(named(word), path: named(path)) { "--report \($0.rawValue)=\($1)" }
    throw CommandError(.misused, "--report \(named(word))=\(named(path)): \(error)")
  }

  /// Throws status 3 if a report of `targets` would replace the input file at `path`.
  static func check(_ targets: [Target], against path: String) throws {
    for target in targets where target.path != "-" && FileIdentity(target.path) == Self.identity(ofInput: path) {
      let message = "this would replace the input; use another file"
      throw CommandError(.misused, "--report \(target.format.rawValue)=\(target.path): \(message)")
    }
  }

  /// Throws status 3 if a report of `targets` requires rows that `input` lacks.
  static func check(_ targets: [Target], against input: ReportInput) throws {
    for target in targets where target.format.isMadeOfRows {
      guard input.kind == .rows else {
        let advice = "use the JSON Lines report of that run"
        throw CommandError(.misused, "\(input.path) has no rows, which \(target.format.rawValue) requires; \(advice)")
      }
    }
  }

  /// The identity of an input; `-` is standard input.
  private static func identity(ofInput path: String) -> FileIdentity? {
    if path == "-" { return FileIdentity(descriptor: STDIN_FILENO) }
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return FileIdentity(descriptor: descriptor)
  }

  /// Opens the reports; an error ends the command with status 1.
  static func open(_ targets: [Target], _ text: TextOptions, _ display: Display) throws -> [any ReportWriter] {
    try targets.map { try $0.format.open($0.path, options: display.reportOptions(text)) }
  }

  /// Writes all reports; an error ends the command with status 1 afterwards.
  static func finish(_ writers: [any ReportWriter], _ report: FinishedReport) throws {
    var failure: ReportError?
    for writer in writers {
      do throws(ReportError) {
        try writer.finish(report)
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }
}

extension ReportFormat {
  /// Whether the form lists each entry, which requires the rows of a run.
  fileprivate var isMadeOfRows: Bool {
    switch self {
    case .jsonl, .csv, .junit: true
    case .text, .json, .markdown, .github, .html, .prometheus: false
    }
  }
}
