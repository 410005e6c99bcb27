import ImagePrimitives

/// The first bytes of a file that arrives, kept until its header can be read from them.
struct ArrivingHeader {
  private(set) var bytes: [UInt8] = []
  /// So many bytes there have to be before the next look: shorter ones may not even show their format.
  private var nextLook = 12
  private var looks = 0

  /// So many looks at so many bytes cost next to nothing: a small file is looked at as soon as its header may be there.
  private static let freeLooks = 64
  private static let freeBytes = 64 << 10

  /// Takes the next bytes, and has `read` look at all until now; nil where it needs more.
  mutating func append<Header>(
    _ more: UnsafeRawBufferPointer,
    read: (UnsafeRawBufferPointer) throws(ImageError) -> Header
  ) throws(ImageError) -> Header? {
    bytes += more
    guard bytes.count >= nextLook else { return nil }
    looks += 1
    do throws(ImageError) {
      return try bytes.withRawBytes(read)
    } catch {
      guard case .needsMoreBytes(let minimum) = error.kind else { throw error }
      // Later, at least an eighth more than this time, so that all looks together take no longer than nine of the whole.
      let isFree = looks < Self.freeLooks && bytes.count < Self.freeBytes
      nextLook = max(minimum, bytes.count + (isFree ? 1 : bytes.count / 8))
      return nil
    }
  }
}
