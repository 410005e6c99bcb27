import Glibc
import TestOrigin
import TestSupport
import Testing

/// Output on a terminal, and elsewhere.
@Suite struct TerminalTests {
  private let origin = makeImageOrigin()
  private let job = JobFolder("")

  /// A run on a terminal with half of its images done and half waiting at the gate, so that it goes on until that opens.
  private func startHeld(_ terminal: Command.Terminal) throws -> (Command, Gate) {
    let gate = origin.holdAll()
    gate.step(20)
    job.write(urls: imageURLs(origin, 0..<40))
    return (try job.start(["run", "job.yaml"] + JobFolder.patience, terminal: terminal), gate)
  }

  // MARK: The bar

  @Test(arguments: [24, 40, 120]) func `a terminal shows a bar and erases it`(columns: Int) async throws {
    let (command, gate) = try startHeld(Command.Terminal(columns: columns))
    try await command.waitForOutput("50 %")
    let during = Screen(command.outputText)
    #expect(during.lines.contains { $0.hasPrefix("test") && $0.contains("50 %") }, "\(during.text)")
    #expect(during.widest < columns && during.text.contains("━"))
    gate.open()
    let result = try await command.wait()
    #expect(result.status == 0 && origin.requests.count == 40)
    let after = Screen(result.outputText)
    #expect(!after.text.contains("50 %"), "\(after.text)")
    expectGolden(after.text.timeless.split { $0 == " " || $0 == "\n" }.joined(separator: " "))
  }

  @Test func `the bar follows the terminal's width`() async throws {
    let (command, gate) = try startHeld(Command.Terminal(columns: 120))
    try await command.waitForOutput("50 %")
    #expect(Screen(command.outputText).widest > 50)
    command.resizeTerminal(columns: 50, rows: 24)
    // The number of wider ones in transit is unknown. The last one may be incomplete; the one before it is complete.
    try await command.waitForOutput(that: "ends in a narrow frame") { output in
      let frames = output.split(separator: "\u{1B}[J").dropLast()
      return frames.last.map { (1..<50).contains(Screen(String($0)).widest) } ?? false
    }
    gate.open()
    #expect(try await command.wait().status == 0 && origin.requests.count == 40)
  }

  @Test func `the bar goes to standard error and the report to the pipe`() async throws {
    let (command, gate) = try startHeld(Command.Terminal(takesOutput: false))
    try await command.waitForError("20 of 40")
    gate.open()
    let result = try await command.wait()
    #expect(result.status == 0 && origin.requests.count == 40)
    expectGolden(result.outputText.timeless.lines(with: "test  "))
    #expect(!result.outputText.contains("\u{1B}") && !result.outputText.contains("20 of 40"))
    let screen = Screen(result.errorText)
    #expect(!screen.text.contains("test"), "\(screen.text)")
  }

  @Test func `the note about a signal stays above the bar`() async throws {
    let (command, gate) = try startHeld(Command.Terminal(columns: 100))
    try await command.waitForOutput("50 %")
    command.send(SIGINT)
    try await command.waitForOutput("finish")
    // Later frames are drawn below it.
    let frames = command.outputText.split(separator: "of 40", omittingEmptySubsequences: false).count - 1
    try await command.waitForOutput("of 40", times: frames + 2)
    let during = Screen(command.outputText)
    gate.open()
    let after = Screen(try await command.wait().outputText)
    let note = "stopping: transfers have 5 s to finish; a second signal ends at once"
    #expect(during.lines.first == note && during.lines.dropFirst().first?.hasPrefix("test") == true, "\(during.text)")
    #expect(after.lines.first == note && !after.text.contains("20 of 40"), "\(after.text)")
  }

  /// Options, whether they are those of a run on a terminal, and whether it prints anything.
  private static let plain: [(options: String, isTerminal: Bool)] = [
    ("--progress none", true), ("--progress lines", true), ("", false), ("--progress lines", false), ("--quiet", true),
    ("--quiet", false),
  ]

  @Test(arguments: plain)
  func `a run without a bar prints only its report, and a quiet one in which all is well nothing`(
    options: String,
    isTerminal: Bool
  )
    async throws
  {
    let job = JobFolder(urls: imageURLs(origin, 0..<4))
    let terminal = isTerminal ? Command.Terminal() : nil
    let result = try await job.start(["run", "job.yaml"] + JobFolder.words(options), terminal: terminal).wait()
    #expect(result.status == 0 && result.error.isEmpty && origin.requests.count == 4, "\(result.errorText)")
    #expect(!result.outputText.contains("of 4") && !result.outputText.contains("\u{1B}[J"))
    if options == "--quiet" {
      #expect(result.output.isEmpty)
    } else {
      expectGolden(result.outputText.timeless.lines(with: "test  "))
    }
  }

  @Test func `--verbose prints opened files and the end of each job`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<4))
    let result = try await job.prewarm("run job.yaml --verbose")
    #expect(result.status == 0)
    #expect(result.errorText.contains(job.cacheDirectory) && result.errorText.contains("urls.txt"), "\(result.errorText)")
    let failing = try await job.prewarm("run job.yaml --cache-mode bypass --verbose --set verify.formats=[png]")
    #expect(failing.status == 2, "\(failing.errorText)")
    expectGolden(failing.errorText.timeless)
  }

  // MARK: Colours

  @Test(
    arguments: [
      ("", nil, true, true), ("", nil, false, false), ("", "1", true, false), ("", "", true, true),
      ("--color always", nil, false, true), ("--color always", "1", false, true), ("--color never", nil, true, false),
      ("--color auto", nil, false, false),
    ] as [(String, String?, Bool, Bool)]
  )
  func `colours appear only if wanted`(options: String, noColor: String?, isTerminal: Bool, isColoured: Bool) async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<4) + [origin.url("/missing.jpg")])
    let arguments = ["run", "job.yaml", "--progress", "none"] + JobFolder.words(options)
    let terminal = isTerminal ? Command.Terminal() : nil
    let result = try await job.start(arguments, environment: ["NO_COLOR": noColor], terminal: terminal).wait()
    #expect(result.status == 2)
    #expect(Screen(result.outputText).attributes.isEmpty == !isColoured, "\(result.outputText)")
  }

  // MARK: Closed standard output

  @Test(arguments: [0, 100])
  func `a closed pipe ends a listing silently; a run whose report it gets ends silently, too, with its own status`(bytes: Int)
    async throws
  {
    let job = JobFolder(urls: imageURLs(origin, 0..<3000))
    let dry = try await job.start(["run", "job.yaml", "--dry-run"], output: .closedAfter(bytes: bytes)).wait()
    #expect(dry.status == 128 + Int(SIGPIPE) && dry.error.isEmpty, "\(dry.errorText)")
    #expect(origin.requests.isEmpty)

    job.write(urls: imageURLs(origin, 0..<500))
    let options = ["--set", "report=[{jsonl: '-'}]"]
    let rows = try await job.start(["run", "job.yaml"] + options, output: .closedAfter(bytes: bytes)).wait()
    #expect(rows.status == 0 && rows.error.isEmpty, "\(rows.errorText)")
    job.write(urls: [origin.url("/missing.jpg")])
    for options in [[], ["--report", "github=-"], ["--report", "junit=-"]] {
      let text = try await job.start(["check", "urls.txt"] + options, output: .closedAfter(bytes: 0)).wait()
      #expect(text.status == 2 && text.error.isEmpty, "\(text.errorText)")
    }
    let list = try await job.start(["cache", "list", "--json"], output: .closedAfter(bytes: bytes)).wait()
    #expect(list.status == 128 + Int(SIGPIPE) && list.error.isEmpty, "\(list.errorText)")
    // Fetched images were stored all the same.
    #expect(try await job.statistics().entries == 500)
  }

  @Test func `output to a full device exits with 1`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<4))
    for line in ["run job.yaml", "cache stats", "schema"] {
      let result = try await job.start(JobFolder.words(line), output: .file("/dev/full")).wait()
      #expect(result.status == 1)
      expectGolden(result.errorText, for: line)
    }
  }
}

/// The screen of a terminal after some output: as much of ECMA-48 as a progress bar needs.
struct Screen {
  /// The lines, without colours and trailing spaces.
  private(set) var lines: [String] = [""]
  /// The width of the widest line so far, in characters.
  private(set) var widest = 0
  /// Colours and other attributes of characters that were set (SGR).
  private(set) var attributes: [String] = []
  private var row = 0
  private var column = 0

  init(_ output: String) {
    var rest = Array(output.unicodeScalars)[...]
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\u{1B}": takeSequence(&rest)
      case "\r": column = 0
      case "\n":
        row += 1
        if row == lines.count { lines.append("") }
      default: put(Character(scalar))
      }
    }
  }

  var text: String { lines.joined(separator: "\n") }

  private mutating func put(_ character: Character) {
    var line = Array(lines[row])
    while line.count <= column { line.append(" ") }
    line[column] = character
    lines[row] = String(line)
    column += 1
    widest = max(widest, column)
  }

  /// A control sequence: `[`, parameters, and a final byte from 0x40 on (ECMA-48, 5.4).
  private mutating func takeSequence(_ rest: inout ArraySlice<Unicode.Scalar>) {
    // The text so far may end within one.
    guard let first = rest.popFirst() else { return }
    guard first == "[" else {
      Issue.record("an escape that isn't a control sequence")
      return
    }
    var parameters = ""
    while let scalar = rest.popFirst() {
      guard scalar.value >= 0x40 else {
        parameters.unicodeScalars.append(scalar)
        continue
      }
      switch scalar {
      case "A": row = max(0, row - (Int(parameters) ?? 1))
      case "J": eraseBelow()
      case "K": lines[row] = String(lines[row].prefix(column))
      case "m": attributes.append(parameters)
      default: Issue.record("an unknown control sequence: \(parameters)\(scalar)")
      }
      return
    }
  }

  private mutating func eraseBelow() {
    lines[row] = String(lines[row].prefix(column))
    lines.removeSubrange((row + 1)...)
  }
}
