import ImagePrimitives

/// How far a run is at one moment.
public struct ProgressSnapshot: Sendable, Equatable {
  public var name: String
  /// Entries brought to an end.
  public var done: UInt64
  /// All entries of the job; nil as long as the manifests are being read.
  public var total: UInt64?
  /// Cached and fresh.
  public var hits: UInt64
  /// Downloaded, revalidated or checked.
  public var new: UInt64
  public var failed: UInt64
  public var knownBad: UInt64
  /// Entries a second, of late.
  public var urlsPerSecond: Double
  /// Received bytes a second, of late.
  public var bytesPerSecond: Double
  /// How long it may still take; nil if unknown.
  public var remaining: Duration?
  /// What holds it up right now, such as `img.example.com paused 12 s (429)`.
  public var note: String?

  public init(
    name: String,
    totals: Totals,
    total: UInt64?,
    urlsPerSecond: Double,
    bytesPerSecond: Double,
    remaining: Duration? = nil,
    note: String? = nil
  ) {
    self.name = name
    done = totals.done
    self.total = total
    hits = totals.hits
    new = totals.downloaded + totals.revalidated + totals.checked
    failed = totals.failed
    knownBad = totals.blacklisted
    self.urlsPerSecond = urlsPerSecond
    self.bytesPerSecond = bytesPerSecond
    self.remaining = remaining
    self.note = note
  }
}

/// Draws progress: two lines for a terminal, or one for a log. Pure: when and where to draw is the caller's.
public struct ProgressRenderer: Sendable {
  /// Columns of the terminal; the last one stays free, since some terminals break the line there.
  public var width: Int
  /// Whether ANSI colours underline what the words say.
  public var hasColor: Bool

  private static let nameLimit = 24
  private static let minimumBarWidth = 10

  public init(width: Int, hasColor: Bool) {
    self.width = width
    self.hasColor = hasColor
  }

  /// The two lines of the bar, without line ends, neither wider than the terminal.
  public func bar(_ snapshot: ProgressSnapshot) -> [String] {
    let page = TextPage(width: width, hasColor: hasColor)
    let room = max(width - 1, 1)
    let name = escapedForTerminal(snapshot.name).cut(to: min(Self.nameLimit, room))
    let indent = columns(of: name) + 2
    // What matters least goes first where the terminal is narrow.
    var fields = fields(snapshot)
    func barWidth() -> Int { room - indent - columns(of: fields.joined(separator: "  ")) - 1 }
    while fields.count > 1, barWidth() < Self.minimumBarWidth { fields.removeLast() }
    let text = fields.joined(separator: "  ")
    guard barWidth() >= Self.minimumBarWidth else {
      return ["\(name)  \(text)".cut(to: room), counts(snapshot).joined(separator: " ").cut(to: room)]
    }
    return ["\(name)  \(drawn(snapshot, barWidth(), page)) \(text)", countLine(snapshot, indent, room, page)]
  }

  public func line(_ snapshot: ProgressSnapshot) -> String {
    let done =
      snapshot.total.map { "\(grouped(snapshot.done)) of \(grouped($0)) (\(share(snapshot.done, of: $0)) %)" }
      ?? "\(grouped(snapshot.done)) so far"
    let counts = "\(counted(snapshot.hits, "hit")), \(grouped(snapshot.new)) new, \(grouped(snapshot.failed)) failed"
    let note = snapshot.note.map { ", \(escapedForTerminal($0))" } ?? ""
    return "\(escapedForTerminal(snapshot.name)): \(done), \(counts), \(rate(snapshot.urlsPerSecond))\(note)"
  }

  private func fields(_ snapshot: ProgressSnapshot) -> [String] {
    var fields: [String] = []
    if let total = snapshot.total {
      fields.append("\(String(share(snapshot.done, of: total)).rightAligned(to: 2)) %")
      fields.append("\(grouped(snapshot.done)) of \(grouped(total))")
    } else {
      fields.append("\(grouped(snapshot.done)) so far")
    }
    fields.append(rate(snapshot.urlsPerSecond))
    fields.append("\(byteCountWithoutDecimals(snapshot.bytesPerSecond))/s")
    if let remaining = snapshot.remaining { fields.append("\(clock(remaining)) left") }
    return fields
  }

  private func drawn(_ snapshot: ProgressSnapshot, _ width: Int, _ page: TextPage) -> String {
    let total = max(snapshot.total ?? 0, 1)
    let filled = snapshot.total == nil ? 0 : Int(Double(min(snapshot.done, total)) / Double(total) * Double(width))
    let head = filled == 0 || filled == width ? "" : "╸"
    let body = String(repeating: "━", count: filled - head.count)
    return body + head + page.styled(String(repeating: "─", count: width - filled), .detail)
  }

  private func counts(_ snapshot: ProgressSnapshot) -> [String] {
    var counts = [counted(snapshot.hits, "hit"), "\(grouped(snapshot.new)) new"]
    if snapshot.failed > 0 { counts.append("\(grouped(snapshot.failed)) failed") }
    if snapshot.knownBad > 0 { counts.append("\(grouped(snapshot.knownBad)) known bad") }
    return counts
  }

  private func countLine(_ snapshot: ProgressSnapshot, _ indent: Int, _ room: Int, _ page: TextPage) -> String {
    let counts = counts(snapshot)
    let plain = counts.joined(separator: "   ")
    let start = String(repeating: " ", count: indent)
    guard indent + columns(of: plain) <= room else { return (start + plain).cut(to: room) }
    let text = counts.map { page.styled($0, $0.hasSuffix(" failed") ? .failure : .plain) }.joined(separator: "   ")
    let noteRoom = room - indent - columns(of: plain) - 3
    guard let note = snapshot.note, noteRoom > Self.minimumBarWidth else { return start + text }
    let shown = escapedForTerminal(note).cut(to: noteRoom)
    let gap = String(repeating: " ", count: noteRoom - columns(of: shown) + 3)
    return start + text + gap + page.styled(shown, .warning)
  }

  /// Whole percent, rounded down, so that 100 means the end.
  private func share(_ done: UInt64, of total: UInt64) -> UInt64 {
    total == 0 ? 100 : UInt64(Double(min(done, total)) / Double(total) * 100)
  }

  private func byteCountWithoutDecimals(_ value: Double) -> String {
    byteCount(value >= 9.95 ? roundedToWhole(value) : value)
  }

  private func roundedToWhole(_ value: Double) -> Double {
    var unit = 1.0
    while value / unit >= 999.5 { unit *= 1000 }
    return value / unit >= 9.95 ? (value / unit).rounded() * unit : value
  }

  /// `0:01`, `12:05`, `1:02:03`.
  private func clock(_ duration: Duration) -> String {
    let seconds = Int(duration.inSeconds.rounded(.up))
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return seconds < 3600
      ? "\(seconds / 60):\(two(seconds % 60))"
      : "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
  }
}
