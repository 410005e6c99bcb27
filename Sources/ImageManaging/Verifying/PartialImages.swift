import ImageCoding
import ImagePrimitives
import Synchronization

/// The images that a body gives while it arrives: the store thread adds bytes, one coding thread at a time makes images of them.
final class PartialImages: Sendable {
  private struct State {
    /// Bytes that no decoder has seen yet.
    var bytes: [UInt8] = []
    var decoder: (any ProgressiveDecoder)?
    /// Whether a coding thread has work on this, or is to have.
    var isBusy = false
    /// Whether nothing more is to be had of it.
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

  /// Adds the next bytes; true where a coding thread is to call ``next()``.
  func add(_ bytes: [UInt8]) -> Bool {
    state.withLock { state in
      guard !state.hasEnded else { return false }
      state.bytes += bytes
      defer { state.isBusy = true }
      return !state.isBusy
    }
  }

  /// Makes no more images.
  func end() {
    let decoder = state.withLock { state in
      state.hasEnded = true
      state.bytes = []
      defer { state.decoder = nil }
      return state.decoder
    }
    // Let go under no lock.
    withExtendedLifetime(decoder) {}
  }

  /// What is to be seen now, if it is more than before; to be called until ``isIdle`` is true.
  ///
  /// What cannot be decoded gives no image, and the whole body will tell why.
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

  /// Whether nothing came meanwhile: then the thread that asks is done.
  var isIdle: Bool {
    state.withLock { state in
      if state.bytes.isEmpty || state.hasEnded { state.isBusy = false }
      return !state.isBusy
    }
  }

  private func makeDecoder(_ bytes: UnsafeRawBufferPointer) -> (any ProgressiveDecoder)? {
    let decoder = ImageFormat(prefix: bytes).flatMap { format in
      coders.coder(for: format)?.progressiveDecoder(for: format, limits: limits)
    }
    guard let decoder else {
      end()
      return nil
    }
    state.withLock { if !$0.hasEnded { $0.decoder = decoder } }
    return decoder
  }
}
