/// How far reading has come, and how many entries that makes likely in all.
struct ReadingProgress {
  private(set) var entries = 0
  /// Bytes of each file; nil for a stream, whose end nobody knows.
  private var sizes: [UInt64?] = []
  private var finishedBytes: UInt64 = 0
  private var totalBytes: UInt64 = 0
  private var unfinishedStreams = 0

  mutating func addFile(bytes: UInt64) {
    sizes.append(bytes)
    totalBytes += bytes
  }

  mutating func addStream() {
    sizes.append(nil)
    unfinishedStreams += 1
  }

  mutating func countEntries(_ count: Int = 1) { entries += count }

  mutating func finishFile(at index: Int) {
    if let size = sizes[index] { finishedBytes += size } else { unfinishedStreams -= 1 }
  }

  /// Entries so far, and as many for each byte that is left; nil where nothing was read yet or a stream has not ended.
  func expectedEntries(consumedInCurrent consumed: UInt64) -> Int? {
    let consumed = finishedBytes + consumed
    guard unfinishedStreams == 0, consumed > 0 else { return nil }
    return entries + Int(Double(entries) * Double(totalBytes - min(consumed, totalBytes)) / Double(consumed))
  }
}
