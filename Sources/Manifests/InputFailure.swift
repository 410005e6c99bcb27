import Glibc

/// Why bytes could not be read or written; whoever knows the manifest's name makes a ``ManifestError`` of it.
struct InputFailure: Error {
  let message: String

  init(_ message: String) { self.message = message }

  /// What the system said of the call that just failed.
  init(systemCall: String) {
    self.init("\(systemCall) failed: \(String(cString: strerror(errno)))")
  }

  func error(in manifest: String) -> ManifestError { ManifestError(manifest: manifest, message: message) }
}
