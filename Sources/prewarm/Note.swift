import Glibc
import Reports

/// What a person is told beside the data: lines on standard error.
enum Note {
  static func plain(_ text: String) { writeToStandardError("\(escapedForTerminal(text))\n") }

  static func error(_ text: String) { writeToStandardError("prewarm: \(escapedForTerminal(text))\n") }
}

/// Why the command ends early: the exit status and a sentence.
struct CommandFailure: Error, CustomStringConvertible {
  let status: ExitStatus
  let description: String

  init(_ status: ExitStatus, _ description: String) {
    self.status = status
    self.description = description
  }
}

/// Lines written to a descriptor in large pieces.
final class LineOutput {
  private static let bufferBytes = 65_536
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private(set) var hasFailed = false

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  func append(_ line: UnsafeRawBufferPointer) {
    buffer.append(contentsOf: line)
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= Self.bufferBytes { flush() }
  }

  func flush() {
    if !hasFailed, !writeAll(buffer, to: descriptor) { hasFailed = true }
    buffer.removeAll(keepingCapacity: true)
  }
}
