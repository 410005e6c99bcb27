import Glibc

/// Bytes of a report that are waiting to be written: memory of its own that grows by doubling and is kept when emptied.
///
/// Appending costs a comparison and a copy, no reference counting, since a row of the journal is made of many small pieces.
public struct OutputBuffer: ~Copyable {
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  /// How many bytes it holds.
  public private(set) var count = 0

  /// An empty buffer with room for `capacity` bytes at first.
  public init(capacity: Int = 4096) {
    self.capacity = max(capacity, 64)
    memory = .allocate(byteCount: self.capacity, alignment: 8)
  }

  deinit {
    memory.deallocate()
  }

  /// Appends text as UTF-8.
  public mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends bytes as they are.
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    reserve(bytes.count)
    (memory + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  /// Appends bytes as they are.
  public mutating func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { append($0) }
  }

  /// Appends one byte.
  @inline(__always)
  public mutating func append(_ byte: UInt8) {
    reserve(1)
    memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  /// Appends text that is known when compiling, at the cost of a copy.
  @inline(__always)
  mutating func appendLiteral(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Forgets all bytes and keeps the memory.
  public mutating func removeAll() { count = 0 }

  /// Takes back the last bytes, of which there are so many at least.
  mutating func removeLast(_ byteCount: Int) {
    precondition(byteCount <= count, "the buffer has less")
    count -= byteCount
  }

  /// Makes room for `more` further bytes.
  @inline(__always)
  mutating func reserve(_ more: Int) {
    if capacity - count < more { grow(by: more) }
  }

  @inline(never)
  private mutating func grow(by more: Int) {
    capacity = max(capacity * 2, count + more)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    larger.copyMemory(from: memory, byteCount: count)
    memory.deallocate()
    memory = larger
  }

  /// Calls `body` with `byteCount` bytes of room at the end, all of which it must write.
  @inline(__always)
  mutating func appendUninitialized(_ byteCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Void) {
    reserve(byteCount)
    body((memory + count).assumingMemoryBound(to: UInt8.self))
    count += byteCount
  }

  /// Calls `body` with the bytes, which are valid during the call only.
  public borrowing func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: memory, count: count))
  }

  /// The bytes as text; what is not UTF-8 becomes U+FFFD.
  public var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
