import Glibc
import ImagePrimitives

/// Why a manifest cannot be read, or not to its end.
public struct ManifestError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The manifest's name, as in reports.
  public let manifest: String
  /// The line, from 1, where one is to blame.
  public let line: UInt64?
  /// What is wrong and what to do, as a clause without the place.
  public let message: String

  /// An error of the manifest of that name.
  public init(manifest: String, line: UInt64? = nil, message: String) {
    self.manifest = manifest
    self.line = line
    self.message = message
  }

  /// `manifest:line: message`, the line only where there is one.
  public var description: String { line.map { "\(manifest):\($0): \(message)" } ?? "\(manifest): \(message)" }
}

/// Why bytes could not be read or written; whoever knows the manifest's name makes a ``ManifestError`` of it.
struct InputError: Error {
  let message: String

  init(_ message: String) { self.message = message }

  /// What the system said of the call that just failed.
  init(systemCall: String) {
    self.init("\(systemCall) failed: \(errorSentence())")
  }

  func error(in manifest: String) -> ManifestError { ManifestError(manifest: manifest, message: message) }
}
