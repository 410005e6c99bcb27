import CXXHash
import Glibc

/// The file of a ``GraceState``: a line with its version, one with the job's name, one an entry with the hash that it is recognised by
/// and its count, ordered by hash, and one at the end with the number of entries and the sum of all lines' hashes, which tells a file
/// that was cut or changed.
enum GraceStateFile {
  private static let version = "prewarm.grace/1"
  private static let advice = "; remove it to begin anew"

  /// What the file holds; an empty table where there is none.
  static func read(_ path: String, job: String) throws(GraceStateError) -> EntryTable<GraceState.Count> {
    var reader = Reader(job: job)
    guard !InputFile.isMissing(path) else { return reader.counts }
    do throws(ReportReadingError) {
      let file = try InputFile(path: path)
      while let line = try file.nextLine(maximum: 4096) {
        let problem = file.withBytes { reader.read(UnsafeRawBufferPointer(rebasing: $0[..<line.length])) }
        if let problem { throw ReportReadingError(path: path, message: problem) }
        file.take(line)
      }
    } catch {
      throw GraceStateError(path: path, message: error.message)
    }
    guard reader.isEnded else { throw GraceStateError(path: path, message: "is cut" + advice) }
    return reader.counts
  }

  /// Writes the entries and puts the file in its place.
  static func write(_ entries: [(key: EntryKey, count: UInt16)], job: String, to file: ReportFile) throws(ReportError) {
    var output = OutputBuffer(capacity: 65_536)
    var sum: UInt64 = 0
    func writeLine(_ line: String) throws(ReportError) {
      sum &+= hash(of: line)
      output.append(line)
      output.append(UInt8(ascii: "\n"))
      guard output.count > 60_000 else { return }
      try output.withUnsafeBytes { bytes throws(ReportError) in try file.write(bytes) }
      output.removeAll()
    }
    try writeLine(version)
    try writeLine("job \(job)")
    for (key, count) in entries.sorted(by: { ($0.key.high, $0.key.low) < ($1.key.high, $1.key.low) }) {
      try writeLine("\(hexadecimal(key.high))\(hexadecimal(key.low)) \(count)")
    }
    output.append("end \(entries.count) \(hexadecimal(sum))\n")
    try output.withUnsafeBytes { bytes throws(ReportError) in try file.write(bytes) }
    try file.commit()
  }

  private static func hash(of line: String) -> UInt64 {
    var line = line
    return line.withUTF8 { XXH3_64bits($0.baseAddress, $0.count) }
  }

  /// Reads line by line.
  private struct Reader {
    let job: String
    var counts = EntryTable(filler: GraceState.Count())
    var isEnded = false
    private var lines: UInt64 = 0
    private var sum: UInt64 = 0

    init(job: String) { self.job = job }

    /// What is wrong with a line; nil where it is right.
    mutating func read(_ line: UnsafeRawBufferPointer) -> String? {
      defer {
        lines += 1
        sum &+= XXH3_64bits(line.baseAddress, line.count)
      }
      switch lines {
      case 0: return versionProblem(String(decoding: line, as: UTF8.self))
      case 1: return jobProblem(String(decoding: line, as: UTF8.self))
      default: break
      }
      guard !isEnded else { return "goes on behind its end" + advice }
      if line.starts(with: "end ".utf8) {
        isEnded = true
        let expected = "end \(counts.count) \(hexadecimal(sum))"
        return line.elementsEqual(expected.utf8) ? nil : "is damaged: its sum is not that of its lines" + advice
      }
      let text = String(decoding: line.dropFirst(33), as: UTF8.self)
      guard line.count > 33, line[32] == UInt8(ascii: " "), let count = UInt16(text), count > 0,
        let key = EntryKey(hexadecimal: UnsafeRawBufferPointer(rebasing: line[..<32]))
      else { return "is damaged in line \(lines + 1)" + advice }
      counts[counts.placeAdding(key).place] = GraceState.Count(before: count, now: count)
      return nil
    }

    private func versionProblem(_ line: String) -> String? {
      if line == version { return nil }
      guard line.hasPrefix("prewarm.grace/") else { return "is no state of prewarm; name another file" }
      return "is of another version, '\(line)', and this one reads \(version)\(advice)"
    }

    private func jobProblem(_ line: String) -> String? {
      guard line.hasPrefix("job ") else { return "is damaged in line 2" + advice }
      return line == "job \(job)" ? nil : "is of the job '\(line.dropFirst(4))'; name a file of this job's own"
    }
  }
}

extension GraceStateError {
  /// The sentence of an error of the file itself, without its word for reports.
  init(path: String, writing error: ReportError) {
    self.init(path: path, message: "cannot be written: \(String(cString: strerror(error.code)))")
  }
}
