import Glibc
import Base

/// The reason why a manifest can't be read, or not to its end.
package struct ManifestError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The manifest's name, as in reports.
  package let manifest: String
  /// The line, from 1, if the error is in one.
  package let line: UInt64?
  /// The problem and what to do, as a clause without the location.
  package let message: String

  /// Creates an error of the manifest with that name.
  package init(manifest: String, line: UInt64? = nil, message: String) {
    self.manifest = manifest
    self.line = line
    self.message = message
  }

  /// `manifest:line: message`, or `manifest: message` if there is no line.
  package var description: String { line.map { "\(manifest):\($0): \(message)" } ?? "\(manifest): \(message)" }
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
