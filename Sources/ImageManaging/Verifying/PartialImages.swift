import ImageCoding
import Base
import Synchronization

/// The partial images of an arriving body: the store thread adds bytes, one coding thread at a time decodes them.
final class PartialImages: Sendable {
  private struct State {
    /// Bytes that the decoder hasn't got yet.
    var bytes: [UInt8] = []
    var decoder: (any ProgressiveDecoder)?
    /// Whether a coding thread works on this, or is about to.
    var isBusy = false
    /// Whether no more images are needed or possible.
    var hasEnded = false
  }

  private let coders: ImageCoderRegistry
  private let context: LoadContext
  private let limits: DecodingLimits
  private let state = Mutex(State())

  init(_ context: LoadContext, coders: ImageCoderRegistry) {
    self.context = context
    self.coders = context.options.coders ?? coders
    limits = DecodingLimits(maximumPixels: context.verification.maximumPixels)
  }

  /// Adds the next bytes; returns true if a coding thread must call ``next()``.
  func add(_ bytes: [UInt8]) -> Bool {
    state.withLock { state in
      guard !state.hasEnded else { return false }
      state.bytes += bytes
      defer { state.isBusy = true }
      return !state.isBusy
    }
  }

  func end() {
    let decoder = state.withLock { state in
      state.hasEnded = true
      state.bytes = []
      defer { state.decoder = nil }
      return state.decoder
    }
    // Released outside of the lock.
    withExtendedLifetime(decoder) {}
  }

  /// Returns the current image if it shows more than before; to be called until ``isIdle`` is true. An image that can't be
  /// decoded has no partial images; verifying the whole body reports the error.
  func next() -> DecodedImage? {
    let (bytes, known) = state.withLock { state in
      defer { state.bytes = [] }
      return (state.bytes, state.decoder)
    }
    do throws(ImageError) {
      return try bytes.withRawBytes { bytes throws(ImageError) in
        guard let decoder = known ?? makeDecoder(bytes) else { return nil }
        try decoder.append(bytes)
        return try decoder.image()
      }
    } catch {
      end()
      return nil
    }
  }

  /// Whether no bytes were added meanwhile: then the calling thread's work is done.
  var isIdle: Bool {
    state.withLock { state in
      if state.bytes.isEmpty || state.hasEnded { state.isBusy = false }
      return !state.isBusy
    }
  }

  private func makeDecoder(_ bytes: UnsafeRawBufferPointer) -> (any ProgressiveDecoder)? {
    let decoder = ImageFormat(prefix: bytes).flatMap { format in
      coders.progressiveDecoder(for: format, limits: limits)
    }
    guard let decoder else {
      end()
      return nil
    }
    state.withLock { if !$0.hasEnded { $0.decoder = decoder } }
    return decoder
  }
}
