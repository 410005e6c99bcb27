import Glibc
import ImagePrimitives
import ImageURLs
import Manifests
import Synchronization
import Threads

/// A manifest on its way into a file without a name.
final class SpooledFetch: ManifestFetch, Sendable {
  private struct State {
    var file: SpooledBytes?
    var outcome: ManifestFetchOutcome?
  }

  private let ending: WakeEvent
  private let spoolDirectory: String
  private let onCancel: @Sendable () -> Void
  private let state = Mutex(State())

  /// `onCancel` gives up the transfer. Throws where the system has no descriptor left.
  init(spoolDirectory: String, onCancel: @escaping @Sendable () -> Void) throws(ThreadRefusal) {
    ending = try WakeEvent()
    self.spoolDirectory = spoolDirectory
    self.onCancel = onCancel
  }

  /// Becomes readable when there is an outcome.
  var descriptor: Int32 { ending.descriptor }

  var outcome: ManifestFetchOutcome? { state.withLock { $0.outcome } }

  func cancel() { onCancel() }

  // MARK: What one thread does as bytes come

  /// Writes bytes at the end of the file; where that fails, so does the fetch.
  func append(_ bytes: [UInt8]) {
    let (file, hasEnded) = state.withLock { ($0.file, $0.outcome != nil) }
    if hasEnded { return }
    do throws(SpoolError) {
      let file = if let file { file } else { try SpooledBytes(in: spoolDirectory) }
      state.withLock { $0.file = file }
      try file.append(bytes)
    } catch {
      fail(error.message)
      onCancel()
    }
  }

  /// Forgets all bytes: the transfer begins anew.
  func restart() { state.withLock { $0.file = nil } }

  /// All bytes have come.
  func finish(contentType: String?, finalURL: [UInt8]?) {
    let file = state.withLock { $0.file }
    guard let file else { return }
    file.rewind()
    end(.fetched(FetchedManifest(bytes: file, contentType: contentType, finalURL: finalURL.flatMap(Self.base))))
  }

  /// Nothing more comes, because of that.
  func fail(_ sentence: String) { end(.failed(sentence)) }

  private func end(_ outcome: ManifestFetchOutcome) {
    let isFirst = state.withLock { state in
      state.file = nil
      guard state.outcome == nil else { return false }
      state.outcome = outcome
      return true
    }
    if isFirst { ending.signal() }
  }

  private static func base(_ url: [UInt8]) -> BaseURL? {
    url.withUnsafeBytes { bytes in URLNormalizer.parts(ofNormalForm: bytes).map { BaseURL(normalized: bytes, parts: $0) } }
  }
}

/// A manifest that could not be asked for.
final class RefusedFetch: ManifestFetch {
  let outcome: ManifestFetchOutcome?

  /// A fetch that failed because of that.
  init(_ sentence: String) { outcome = .failed(sentence) }

  /// None, as nobody has to wait.
  var descriptor: Int32 { -1 }

  func cancel() {}
}

/// Why a manifest could not be kept.
private struct SpoolError: Error {
  let message: String
}

/// What was fetched so far.
private final class SpooledBytes: FetchedBytes {
  private let file: UnnamedFile
  var descriptor: Int32 { file.descriptor }

  init(in directory: String) throws(SpoolError) {
    do throws(UnnamedFile.Refusal) {
      file = try UnnamedFile(in: directory)
    } catch {
      throw SpoolError(message: "it cannot be spooled in \(directory): \(error.reason)")
    }
  }

  func append(_ bytes: [UInt8]) throws(SpoolError) {
    do throws(UnnamedFile.Refusal) {
      try file.append(bytes)
    } catch {
      throw SpoolError(message: "its spool cannot be written: \(error.reason)")
    }
  }

  func rewind() { lseek(descriptor, 0, SEEK_SET) }
}
