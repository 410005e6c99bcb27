import Base

/// Judges whether the `lastmod` values of one sitemap can be the times of changes.
///
/// Some servers make a sitemap for each request and set the current time, and some write times that are yet to come. Such values make
/// every entry look new.
struct LastModifiedCheck {
  /// A value without a zone may be ahead by half a day.
  private static let futureTolerance = Duration.seconds(86_400)
  /// The time within which a sitemap is made and received.
  private static let requestTolerance = Duration.seconds(60)

  private let now: Timestamp
  private var count = 0
  private var future = 0
  /// Values with a time, close to that of reading.
  private var current = 0

  /// `now` is the time of reading.
  init(now: Timestamp) { self.now = now }

  /// Adds a value, by the moments that it may mean.
  mutating func add(_ moments: ClosedRange<Timestamp>) {
    count += 1
    if !isPlausible(moments) { future += 1 }
    let isTime = moments.upperBound.since(moments.lowerBound) <= .seconds(60)
    let request = now.advanced(by: .zero - Self.requestTolerance)...now.advanced(by: Self.requestTolerance)
    if isTime, moments.overlaps(request) { current += 1 }
  }

  /// Whether a value isn't in the future.
  func isPlausible(_ moments: ClosedRange<Timestamp>) -> Bool { moments.lowerBound <= now.advanced(by: Self.futureTolerance) }

  func addRemarks(to remarks: inout ReadingRemarks) {
    remarks.dates += count
    remarks.futureDates += future
    // One entry, or some of them, may have changed just now.
    if count > 1, current == count { remarks.requestDates += count }
  }
}
