import CAVIF

/// The bytes that libavif reads through an `avifIO`, and how far it wanted to read where they are only a prefix.
struct AVIFInput {
  let bytes: UnsafeRawBufferPointer
  let isComplete: Bool
  /// The end of the furthest range that was asked for beyond a prefix; 0: none was.
  private(set) var wantedBytes = 0

  /// What a file of unknown length is taken to have at most: libavif holds sizes in it against that.
  private static let maximumFileBytes: UInt64 = 1 << 30

  init(_ bytes: UnsafeRawBufferPointer, isComplete: Bool) {
    self.bytes = bytes
    self.isComplete = isComplete
  }

  /// An `avifIO` over `input`, which has to outlive it, as do its bytes.
  static func makeIO(over input: UnsafeMutablePointer<AVIFInput>) -> avifIO {
    avifIO(
      destroy: nil,
      read: { io, _, offset, size, out in
        guard let input = io?.pointee.data?.assumingMemoryBound(to: AVIFInput.self), let out else {
          return AVIF_RESULT_INVALID_ARGUMENT
        }
        return input.pointee.read(size, at: offset, into: &out.pointee)
      },
      write: nil,
      sizeHint: input.pointee.isComplete ? UInt64(input.pointee.bytes.count) : maximumFileBytes,
      persistent: avifBool(AVIF_TRUE),
      data: input
    )
  }

  /// What `avifIOReadFunc` asks for: of a whole file, what is there of the range; of a prefix, all of it or a note that more is wanted.
  private mutating func read(_ size: Int, at offset: UInt64, into out: inout avifROData) -> avifResult {
    let (end, overflow) = offset.addingReportingOverflow(UInt64(size))
    if overflow || end > UInt64(bytes.count) {
      guard isComplete else {
        wantedBytes = max(wantedBytes, Int(clamping: overflow ? .max : end))
        return AVIF_RESULT_WAITING_ON_IO
      }
      guard offset <= UInt64(bytes.count) else { return AVIF_RESULT_IO_ERROR }
    }
    let start = Int(offset)
    out.data = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: start)
    out.size = min(size, bytes.count - start)
    return AVIF_RESULT_OK
  }
}
