public import ImagePrimitives

extension Freshness {
  /// What an answer's headers say to a private cache (RFC 9111, section 4.2), without any guess where they say nothing.
  ///
  /// `max-age` goes before `Expires`, and `s-maxage` does not count. The answer's age by the time that it was received, by `Age`,
  /// by `Date` and by how long the request took, is taken off. What cannot be read as a number or a date, such as `Expires: 0`,
  /// is stale. With `must-revalidate` nothing may be used stale.
  ///
  /// - Parameters:
  ///   - cacheControl: all `Cache-Control` headers, joined by commas.
  ///   - expires: the first `Expires` header.
  ///   - age: the first `Age` header.
  ///   - date: the first `Date` header.
  ///   - requested: when the request was made.
  ///   - received: when the answer had come.
  public init(
    cacheControl: String?,
    expires: String? = nil,
    age: String? = nil,
    date: String? = nil,
    requested: Timestamp,
    received: Timestamp
  ) {
    var control = CacheControl()
    if let cacheControl { control.add(Array(cacheControl.utf8)[...]) }
    let bytes = { (text: String?) in text.map { Array($0.utf8)[...] } }
    self.init(control, expires: bytes(expires), age: bytes(age), date: bytes(date), requested: requested, received: received)
  }

  /// The same, of all headers of an answer: for an ``ImageLoader`` that speaks HTTP.
  public init(_ headers: [HeaderField], requested: Timestamp, received: Timestamp) {
    let first = { (name: String) in headers.first { $0.name.equalsIgnoringCase(name) }?.value }
    self.init(
      cacheControl: headers.value(of: "Cache-Control"),
      expires: first("Expires"),
      age: first("Age"),
      date: first("Date"),
      requested: requested,
      received: received
    )
  }

  init(
    _ control: CacheControl,
    expires: ArraySlice<UInt8>?,
    age: ArraySlice<UInt8>?,
    date: ArraySlice<UInt8>?,
    requested: Timestamp,
    received: Timestamp
  ) {
    self.init(isStorable: !control.isNoStore, mustRevalidate: control.isNoCache, isImmutable: control.isImmutable)
    let dated = date.flatMap(HTTPDate.time)
    let span: Duration
    if let maxAge = control.maxAge {
      span = .seconds(maxAge)
    } else if let expires {
      // What is no date means the past (RFC 9111, section 5.3).
      span = HTTPDate.time(expires).map { $0.since(dated ?? received) } ?? .zero
    } else {
      return
    }
    // RFC 9111, section 4.2.3: the apparent age, or the one told with what the way back took, whichever is greater.
    let apparentAge = dated.map { max(.zero, received.since($0)) } ?? .zero
    let told = age.map { $0.prefix { $0 != UInt8(ascii: ",") } }.flatMap { CacheControl.seconds(CacheControl.trimmed($0)) } ?? 0
    let left = span - max(apparentAge, .seconds(told) + max(.zero, received.since(requested)))
    lifetime = max(.zero, left)
    if !control.isMustRevalidate, let seconds = control.staleWhileRevalidate {
      staleWhileRevalidate = max(.zero, .seconds(seconds) + min(.zero, left))
    }
  }
}

extension Timestamp {
  fileprivate func since(_ earlier: Timestamp) -> Duration { .milliseconds(milliseconds - earlier.milliseconds) }
}
