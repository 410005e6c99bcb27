import ArgumentParser
import Glibc
import Base
import Reports
import Jobs

/// Messages for people, on standard error.
enum Note {
  static func plain(_ text: String) { writeToStandardError("\(escapedForTerminal(groupingDigits(in: text)))\n") }

  static func error(_ text: String) { writeToStandardError("prewarm: \(escapedForTerminal(groupingDigits(in: text)))\n") }
}

/// An error that ends the command: the exit status and a sentence.
struct CommandError: Error, CustomStringConvertible {
  let status: ExitStatus
  let description: String

  init(_ status: ExitStatus, _ description: String) { (self.status, self.description) = (status, description) }
}

extension CommandError {
  init(_ error: JobError, of job: Job) {
    // Without a job file, the command line names the lists.
    let sentence = job.file == nil ? "\(error)" : "\(job.name): \(error)"
    if case .list = error { self.init(.misused, sentence) } else { self.init(.couldNotFinish, "\(job.name): \(error)") }
  }
}

/// Lines written to a descriptor in large pieces.
final class LineOutput {
  private static let bufferBytes = 65_536
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  /// The error number of the first failed write; nil if there is none.
  private var errorCode: Int32?

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Appends text from outside as ``escapedForTerminal(_:)`` shows it, and the end of a line.
  func append(_ line: UnsafeRawBufferPointer) {
    if line.allSatisfy({ (0x20..<0x7F).contains($0) }) {
      buffer.append(contentsOf: line)
    } else {
      buffer.append(contentsOf: escapedForTerminal(line).utf8)
    }
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= Self.bufferBytes { flush() }
  }

  func flush() {
    if errorCode == nil, !writeAll(buffer, to: descriptor) { errorCode = errno }
    buffer.removeAll(keepingCapacity: true)
  }

  func finish() throws {
    flush()
    if let errorCode { throw outputError(errorCode) }
  }
}

/// Writes data to standard output; false if its reader is gone or the device is full.
@discardableResult
func writeToStandardOutput(_ text: String) -> Bool { writeAll(Array(text.utf8), to: STDOUT_FILENO) }

/// Writes to standard error and ignores failures: there is no other place to report them.
func writeToStandardError(_ text: String) { _ = writeAll(Array(text.utf8), to: STDERR_FILENO) }

/// The target of an option that writes a file.
enum LocalTarget {
  /// Throws status 3 for a URL: prewarm writes files only.
  static func check(_ path: String, option: String) throws {
    guard let sentence = JobPath.remoteTarget(path) else { return }
    throw CommandError(.misused, "\(option)\(named(path)): \(sentence)")
  }
}

/// The width of the terminal behind a descriptor; nil if it isn't a terminal.
func terminalWidth(of descriptor: Int32) -> Int? {
  guard isatty(descriptor) == 1 else { return nil }
  var size = winsize()
  guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
  return Int(size.ws_col)
}

/// The width of a page written to a descriptor: COLUMNS, else the terminal's width, else 80.
func pageWidth(of descriptor: Int32) -> Int {
  if let text = getenv("COLUMNS"), let columns = Int(String(cString: text)), (1...10_000).contains(columns) { return columns }
  return terminalWidth(of: descriptor) ?? TextReport.defaultWidth
}

/// Prints an object as one line of JSON (RFC 8259), with control characters escaped.
func printJSON(_ members: KeyValuePairs<String, (any JSONTreeConvertible)?>) throws { try printJSON(.sorted(members)) }

func printJSON(_ value: JSONTree) throws { try printData(value.line + "\n") }

func printData(_ text: String) throws {
  guard writeToStandardOutput(text) else { throw outputError(errno) }
}

/// The error of a failed write to standard output. If its reader is gone, as in `| head`, it ends the command silently, with the status
/// that shells show for SIGPIPE.
func outputError(_ code: Int32) -> any Error {
  code == EPIPE ? ExitCode(128 + SIGPIPE) : CommandError(.couldNotFinish, "cannot write to standard output")
}

func shown(_ url: String) -> String { maskingCredentials(url) }

/// A name for messages: without credentials, and cut if it is very long.
func named(_ text: String) -> String {
  let limit = 200
  let shown = maskingCredentials(text)
  guard let end = shown.unicodeScalars.index(shown.startIndex, offsetBy: limit, limitedBy: shown.endIndex), end < shown.endIndex
  else {
    return shown
  }
  return shown[..<end] + "…"
}

// Counts of a cache, which are never negative.
func grouped(_ count: Int) -> String { grouped(UInt64(clamping: count)) }

func counted(_ count: Int, _ noun: String, plural: String? = nil) -> String {
  counted(UInt64(clamping: count), noun, plural: plural)
}

func byteCount(_ bytes: Int) -> String { byteCount(Double(bytes)) }
