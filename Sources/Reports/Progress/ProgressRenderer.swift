import Base

/// The state of a run at one moment.
public struct ProgressSnapshot: Sendable, Equatable {
  public var name: String
  public var done: UInt64
  /// All entries of the job; nil until it is known or estimated.
  public var total: UInt64?
  public var hits: UInt64
  /// Downloaded, revalidated or checked.
  public var new: UInt64
  public var bad: UInt64
  public var urlsPerSecond: Double
  public var bytesPerSecond: Double
  /// The estimated remaining time; nil if unknown.
  public var remaining: Duration?
  /// A current obstacle, such as `img.example.com paused 12 s (429)`.
  public var note: String?
  /// The latest failure, such as `http-status 404 https://img.example.com/old.jpg`; nil if there is none.
  public var lastFailure: String?

  public init(
    name: String,
    totals: OutcomeTotals,
    total: UInt64?,
    urlsPerSecond: Double,
    bytesPerSecond: Double,
    remaining: Duration? = nil,
    note: String? = nil,
    lastFailure: String? = nil
  ) {
    self.name = name
    done = totals.done
    self.total = total
    hits = totals.hits
    new = totals.downloaded + totals.revalidated + totals.checked
    bad = totals.bad
    (self.urlsPerSecond, self.bytesPerSecond, self.remaining) = (urlsPerSecond, bytesPerSecond, remaining)
    (self.note, self.lastFailure) = (note, lastFailure)
  }
}

/// Draws progress for a terminal or a log. Pure: the caller decides when and where to draw.
public struct ProgressRenderer: Sendable {
  /// Columns of the terminal; the last one stays free, since some terminals break the line there.
  public var width: Int
  public var hasColor: Bool

  private static let nameLimit = 24
  private static let minimumBarWidth = 10

  public init(width: Int, hasColor: Bool) { (self.width, self.hasColor) = (width, hasColor) }

  /// The line of the bar, and a second line if there is an obstacle or a failure; without line ends, none wider than the terminal.
  public func bar(_ snapshot: ProgressSnapshot) -> [String] {
    let page = TextPage(TextReport(width: width, hasColor: hasColor))
    let room = max(width - 1, 1)
    let name = escapedForTerminal(snapshot.name).cut(to: min(Self.nameLimit, room))
    var fields = fields(snapshot)
    func barWidth() -> Int { room - columns(of: name) - 3 - columns(of: fields.map(\.text).joined(separator: "  ")) }
    // The fields are in the order of their importance.
    while fields.count > 1, barWidth() < Self.minimumBarWidth { fields.removeLast() }
    let isNarrow = barWidth() < Self.minimumBarWidth
    let text = fields.map { isNarrow ? $0.text : page.styled($0.text, $0.style) }.joined(separator: "  ")
    let first = isNarrow ? "\(name)  \(text)".cut(to: room) : "\(name)  \(drawn(snapshot, barWidth(), page)) \(text)"
    return [first] + remarks(snapshot, room, page)
  }

  public func line(_ snapshot: ProgressSnapshot) -> String {
    let done =
      snapshot.total.map { "\(grouped(snapshot.done)) of \(grouped($0)) (\(share(snapshot.done, of: $0)) %)" }
      ?? "\(grouped(snapshot.done)) so far"
    let counts = "\(counted(snapshot.hits, "hit")), \(grouped(snapshot.new)) new, \(grouped(snapshot.bad)) bad"
    let remaining = snapshot.remaining.map { ", \(rough($0)) left" } ?? ""
    let remarks = remarks(snapshot).map { ", \($0.text)" }.joined()
    return "\(escapedForTerminal(snapshot.name)): \(done), \(counts), \(rate(snapshot.urlsPerSecond))\(remaining)\(remarks)"
  }

  private typealias Field = (text: String, style: TextPage.Style)

  private func fields(_ snapshot: ProgressSnapshot) -> [Field] {
    var fields: [Field] = []
    if let total = snapshot.total {
      fields.append(("\(String(share(snapshot.done, of: total)).rightAligned(to: 2)) %", .plain))
      fields.append(("\(grouped(snapshot.done)) of \(grouped(total))", .plain))
    } else {
      fields.append(("\(grouped(snapshot.done)) so far", .plain))
    }
    if snapshot.bad > 0 { fields.append(("\(grouped(snapshot.bad)) bad", .failure)) }
    if let remaining = snapshot.remaining { fields.append(("\(rough(remaining)) left", .plain)) }
    fields.append((rate(snapshot.urlsPerSecond), .plain))
    fields.append(("\(byteCountWithoutDecimals(snapshot.bytesPerSecond))/s", .plain))
    if snapshot.hits > 0 { fields.append((counted(snapshot.hits, "hit"), .plain)) }
    return fields
  }

  private func drawn(_ snapshot: ProgressSnapshot, _ width: Int, _ page: TextPage) -> String {
    let total = max(snapshot.total ?? 0, 1)
    let filled = snapshot.total == nil ? 0 : Int(Double(min(snapshot.done, total)) / Double(total) * Double(width))
    let head = filled == 0 || filled == width ? "" : "╸"
    let body = String(repeating: "━", count: filled - head.count)
    return body + head + page.styled(String(repeating: "─", count: width - filled), .detail)
  }

  private func remarks(_ snapshot: ProgressSnapshot) -> [Field] {
    let failure = snapshot.lastFailure.map { "last error: \(escapedForTerminal($0))" }
    return [snapshot.note.map { (escapedForTerminal($0), .warning) }, failure.map { ($0, .failure) }].compactMap(\.self)
  }

  /// One line with all remarks; none if there is nothing to say, or no room for it.
  private func remarks(_ snapshot: ProgressSnapshot, _ room: Int, _ page: TextPage) -> [String] {
    var line = ""
    var left = room
    for remark in remarks(snapshot) where left > Self.minimumBarWidth + 2 {
      let text = remark.text.cut(to: left - 2)
      line += "  " + page.styled(text, remark.style)
      left -= 2 + columns(of: text)
    }
    return line.isEmpty ? [] : [line]
  }

  /// Whole percent, rounded down, so that 100 means the end.
  private func share(_ done: UInt64, of total: UInt64) -> UInt64 {
    total == 0 ? 100 : UInt64(Double(min(done, total)) / Double(total) * 100)
  }

  private func byteCountWithoutDecimals(_ value: Double) -> String { byteCount(value >= 9.95 ? roundedToWhole(value) : value) }

  private func roundedToWhole(_ value: Double) -> Double {
    var unit = 1.0
    while value / unit >= 999.5 { unit *= 1000 }
    return value / unit >= 9.95 ? (value / unit).rounded() * unit : value
  }

  /// `8 s`, `2 min 10 s`, `25 min`, `3 h 20 min`: as exact as an estimate.
  private func rough(_ duration: Duration) -> String {
    let seconds = UInt64(min(max(duration.inSeconds, 0), 1e9).rounded(.up))
    if seconds < 60 { return "\(seconds) s" }
    let (minutes, tens) = (seconds / 60, seconds % 60 / 10 * 10)
    if seconds < 600, tens > 0 { return "\(minutes) min \(tens) s" }
    return minutes < 60 ? "\(minutes) min" : "\(grouped(minutes / 60)) h \(minutes % 60) min"
  }
}
