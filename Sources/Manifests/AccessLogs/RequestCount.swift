import Glibc

/// How often one target was asked for.
struct RequestCount {
  var count: UInt64
  /// Where the first request stands.
  var place: LogPlace
  /// Where the target stands among the bytes that it is kept in.
  var offset: Int
  var length: Int

  /// More requests first, then what came first.
  static func isMoreAsked(_ left: RequestCount, _ right: RequestCount) -> Bool {
    left.count != right.count ? left.count > right.count : left.place < right.place
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
