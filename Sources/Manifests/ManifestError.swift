import Glibc
import ImagePrimitives

/// The reason why a manifest can't be read, or not to its end.
public struct ManifestError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The manifest's name, as in reports.
  public let manifest: String
  /// The line, from 1, if the error is in one.
  public let line: UInt64?
  /// The problem and what to do, as a clause without the location.
  public let message: String

  /// Creates an error of the manifest with that name.
  public init(manifest: String, line: UInt64? = nil, message: String) {
    self.manifest = manifest
    self.line = line
    self.message = message
  }

  /// `manifest:line: message`, or `manifest: message` if there is no line.
  public var description: String { line.map { "\(manifest):\($0): \(message)" } ?? "\(manifest): \(message)" }
}

/// The reason why bytes couldn't be read or written; the caller adds the manifest's name to make a ``ManifestError``.
struct InputError: Error {
  let message: String

  init(_ message: String) { self.message = message }

  /// Creates an error from `errno` after a system call failed.
  init(systemCall: String) {
    self.init("\(systemCall) failed: \(errorSentence())")
  }

  func error(in manifest: String) -> ManifestError { ManifestError(manifest: manifest, message: message) }
}
