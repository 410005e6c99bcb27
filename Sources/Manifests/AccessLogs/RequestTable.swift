import Glibc
import ImagePrimitives

/// Counts of targets in memory: a hash table with open addressing over texts that lie side by side.
final class RequestTable {
  private(set) var counts: [RequestCount] = []
  let texts = GrowingBytes()
  /// Of each slot the index of its count, plus one.
  private var slots = ProbedTable<UInt32>(free: 0, slots: 1024)

  /// What it takes, about.
  var memoryBytes: Int { texts.count + counts.count * MemoryLayout<RequestCount>.stride + slots.byteCount }

  func text(of count: RequestCount) -> UnsafeRawBufferPointer { texts[count.offset..<count.offset + count.length] }

  /// Counts a request for the text that was appended to ``texts`` from `start` on; a known one is taken back.
  func add(from start: Int, location: LogLocation) {
    let text = texts[start..<texts.count]
    let slot = slots.index(hash: hash(text)) { self.text(of: counts[Int($0) - 1]).isEqual(to: text) }
    if !slots[slot].isFree {
      counts[Int(slots[slot]) - 1].count += 1
      texts.removeAll(from: start)
      return
    }
    counts.append(RequestCount(count: 1, location: location, offset: start, length: text.count))
    _ = slots.insert(UInt32(counts.count), at: slot) { hash(self.text(of: counts[Int($0) - 1])) }
  }

  /// Adds a text with its count, which no other has, without looking; ``add(from:line:)`` does not know of it.
  func append(count: UInt64, location: LogLocation, _ text: UnsafeRawBufferPointer) {
    counts.append(RequestCount(count: count, location: location, offset: texts.count, length: text.count))
    texts.append(text)
  }

  /// Sorts the counts; nothing can be added after that.
  func sort(by precedes: (RequestCount, RequestCount) -> Bool) {
    slots = ProbedTable(free: 0, slots: 1)
    counts.sort(by: precedes)
  }

  func sortByText() { sort { text(of: $0).isLess(than: text(of: $1)) } }

  // Seeded anew in each process, so that nobody can write a log that makes it slow.
  private func hash(_ text: UnsafeRawBufferPointer) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(bytes: text)
    return UInt64(truncatingIfNeeded: hasher.finalize())
  }
}

/// How often one target was asked for.
struct RequestCount {
  var count: UInt64
  /// Where the first request stands.
  var location: LogLocation
  /// Where the target stands among the bytes that it is kept in.
  var offset: Int
  var length: Int

  /// More requests first, then what came first.
  static func isMoreAsked(_ left: RequestCount, _ right: RequestCount) -> Bool {
    left.count != right.count ? left.count > right.count : left.location < right.location
  }
}

extension UnsafeRawBufferPointer {
  /// By bytes, a beginning before what goes on.
  func isLess(than other: UnsafeRawBufferPointer) -> Bool {
    let order = isEmpty || other.isEmpty ? 0 : memcmp(baseAddress!, other.baseAddress!, Swift.min(count, other.count))
    return order != 0 ? order < 0 : count < other.count
  }

  func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
    count == other.count && (isEmpty || memcmp(baseAddress!, other.baseAddress!, count) == 0)
  }
}

/// Where a request stands, in one word: what comes in an earlier file, or on an earlier line of the same, is less.
struct LogLocation: Comparable {
  private static let lineBits: UInt64 = 40

  private let packed: UInt64

  /// A line, from 1, of a file by its index; of a log longer than 2^40 lines, the last that can be told.
  init(file: Int, line: UInt64) {
    packed = UInt64(file) << Self.lineBits | min(line, 1 << Self.lineBits - 1)
  }

  var file: Int { Int(packed >> Self.lineBits) }

  var line: UInt64 { packed & (1 << Self.lineBits - 1) }

  static func < (left: LogLocation, right: LogLocation) -> Bool { left.packed < right.packed }
}
