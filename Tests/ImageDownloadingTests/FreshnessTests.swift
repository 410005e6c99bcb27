import Base
import TestOrigin
import Testing

@testable import ImageDownloading

/// The freshness in a response's headers.
struct FreshnessTests {
  /// Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110's examples.
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let now = Timestamp(milliseconds: 784_111_777_000)

  private func freshness(
    _ cacheControl: String?,
    expires: String? = nil,
    age: String? = nil,
    date: String? = Self.date,
    takes: Duration = .zero,
    after: Duration = .zero
  ) -> Freshness {
    let received = Self.now.advanced(by: after)
    let headers = [("Cache-Control", cacheControl), ("Expires", expires), ("Age", age), ("Date", date)]
    return Freshness(
      headers.compactMap { name, value in value.map { HeaderField(name, $0) } },
      requested: received.advanced(by: .zero - takes),
      received: received
    )
  }

  @Test(
    arguments: [
      ("max-age=60", 60), ("MAX-AGE=60", 60), ("public, max-age=60", 60), ("public,max-age=60,immutable", 60),
      (" , ,max-age = 60 ,", 60), ("\tmax-age=60\t", 60), ("max-age=\"60\"", 60), ("max-age=\" 60 \"", 60), ("max-age=0", 0),
      ("max-age=00060", 60),
      // A value that isn't a number of seconds means stale.
      ("max-age", 0), ("max-age=", 0), ("max-age=abc", 0), ("max-age=-1", 0), ("max-age=60.5", 0), ("max-age=\"60", 0),
      ("max-age=6 0", 0), ("max-age=+60", 0), ("max-age=\"\"", 0),
      // The first of two counts.
      ("max-age=60, max-age=120", 60), ("max-age=x, max-age=120", 0),
      // A private cache ignores these.
      ("s-maxage=10, max-age=60", 60), ("max-age=60, s-maxage=10", 60), ("private, max-age=60", 60),
      ("xmax-age=9, max-age=60", 60),
      // More than 2^31 seconds are clamped and don't overflow.
      ("max-age=2147483648", 2_147_483_648), ("max-age=99999999999999999999999999", 2_147_483_648),
      ("max-age=9223372036854775807", 2_147_483_648),
      // A quoted comma doesn't separate, and an escaped quotation mark doesn't end the quotation.
      ("private=\"set-cookie, max-age=5\", max-age=60", 60), ("x=\"a\\\", max-age=5\", max-age=60", 60),
      ("no-cache=\"a,b\",max-age=60", 60), ("max-age=60, x=\"open, max-age=5", 60),
    ]
  )
  func `Cache-Control sets the lifetime of a response`(header: String, seconds: Int) {
    #expect(freshness(header).lifetime == .seconds(seconds))
  }

  @Test(
    arguments: [
      nil, "", ",", "public", "s-maxage=60", "private", "must-revalidate", "maxage=60", "max-age-x=60", "no-cache", "no-store",
    ]
  )
  func `a response without freshness fields has an unknown lifetime`(header: String?) {
    #expect(freshness(header).lifetime == nil)
  }

  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sunday, 06-Nov-94 08:50:37 GMT", 60), ("Sun Nov  6 08:50:37 1994", 60),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("0", 0), ("-1", 0), ("", 0), ("never", 0), ("60", 0), ("Sun, 99 Nov 1994 08:50:37 GMT", 0),
    ]
  )
  func `Expires counts from Date, and an invalid date is stale`(header: String, seconds: Int) {
    #expect(freshness(nil, expires: header).lifetime == .seconds(seconds))
    #expect(freshness("public", expires: header).lifetime == .seconds(seconds))
  }

  @Test func `max-age overrides Expires, even if invalid`() {
    let later = "Sun, 06 Nov 1994 09:49:37 GMT"
    #expect(freshness("max-age=60", expires: later).lifetime == .seconds(60))
    #expect(freshness("max-age=x", expires: later).lifetime == .zero)
    #expect(freshness("max-age=60", expires: "0").lifetime == .seconds(60))
  }

  @Test func `without Date, Expires counts from the response time`() {
    let expires = "Sun, 06 Nov 1994 08:50:37 GMT"
    #expect(freshness(nil, expires: expires, date: nil).lifetime == .seconds(60))
    #expect(freshness(nil, expires: expires, date: "yesterday").lifetime == .seconds(60))
    // An offset of the server's clock doesn't matter if it sends its own time.
    #expect(freshness(nil, expires: expires, date: Self.date, after: .seconds(-3600)).lifetime == .seconds(60))
  }

  @Test(
    arguments: [
      ("10", 0, 0, 50), ("10", 5, 0, 45), (nil, 5, 0, 55), (nil, 0, 7, 53), ("10", 0, 30, 30), ("10", 5, 30, 30),
      ("40", 5, 30, 15), ("60", 0, 0, 0), ("500", 0, 0, 0), ("99999999999999999999", 0, 0, 0), (nil, 0, 500, 0),
      // The first of several ages counts; an invalid one is ignored.
      ("10, 20", 0, 0, 50), ("x", 0, 0, 60), ("-10", 0, 0, 60), ("", 0, 0, 60), (" 10 ", 0, 0, 50),
      // A clock behind the server's gives no negative age.
      (nil, 0, -100, 60), ("10", 0, -100, 50),
    ] as [(String?, Int, Int, Int)]
  )
  func `a response's Age is subtracted from its lifetime`(header: String?, takes: Int, after: Int, left: Int) {
    let freshness = freshness("max-age=60", age: header, takes: .seconds(takes), after: .seconds(after))
    #expect(freshness.lifetime == .seconds(left))
  }

  @Test func `a clock set back during the request gives no negative delay`() {
    #expect(freshness("max-age=60", age: "10", takes: .seconds(-100)).lifetime == .seconds(50))
  }

  @Test func `no-store, no-cache and immutable are read in any case and form`() {
    #expect(!freshness("No-Store").isStorable)
    #expect(!freshness("max-age=60, no-store").isStorable)
    #expect(freshness("no-storex, xno-store").isStorable)
    #expect(freshness("no-cache").mustRevalidate)
    #expect(freshness("no-cache=\"set-cookie\"").mustRevalidate)
    #expect(!freshness("max-age=60").mustRevalidate)
    #expect(freshness("max-age=60, immutable").isImmutable)
    #expect(!freshness("x=\"immutable\"").isImmutable)
    #expect(freshness(nil) == Freshness())
  }

  @Test(
    arguments: [
      ("max-age=60, stale-while-revalidate=30", 0, 30), ("max-age=60, stale-while-revalidate=30", 60, 30),
      ("max-age=60, stale-while-revalidate=30", 70, 20), ("max-age=60, stale-while-revalidate=30", 100, 0),
      ("max-age=60, stale-while-revalidate=\"30\"", 0, 30), ("max-age=60, stale-while-revalidate=x", 0, 0),
      ("max-age=60, stale-while-revalidate=30, must-revalidate", 0, 0), ("max-age=60", 0, 0),
    ]
  )
  func `stale-while-revalidate counts from the lifetime's end (RFC 5861)`(header: String, age: Int, seconds: Int) {
    #expect(freshness(header, age: "\(age)").staleWhileRevalidate == .seconds(seconds))
  }

  @Test func `all Cache-Control headers count, and of others the first`() {
    let headers = [
      HeaderField("cache-control", "immutable"), HeaderField("Age", "10"), HeaderField("Cache-Control", "max-age=60"),
      HeaderField("AGE", "20"),
    ]
    let freshness = Freshness(headers, requested: Self.now, received: Self.now)
    #expect(freshness == Freshness(lifetime: .seconds(50), isImmutable: true))
  }

  @Test(
    arguments: [
      "Sun, 06 Nov 292300000 08:49:37 GMT", "Sun, 06 Nov 10000 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 -0100",
      "Sun, 06 Nov 2147485547 08:49:37 GMT", "Sun, 06 Nov 292277026597 08:49:37 GMT",
      "Sun, 06 Nov 9223372036854775807 08:49:37 GMT",
    ]
  )
  func `dates outside the years 1 to 9999 are invalid`(text: String) {
    #expect(HTTPDate.time(Array(text.utf8)[...]) == nil)
    #expect(freshness(nil, expires: text).lifetime == .zero)
    #expect(freshness(nil, expires: Self.date, date: text).lifetime == .zero)
    #expect(freshness("max-age=60", date: text).lifetime == .seconds(60))
    #expect(RetryAfter.wait(Array(text.utf8)[...], date: nil, now: Self.now) == nil)
  }

  @Test func `the last second of the year 9999 is a date`() {
    let text = "Fri, 31 Dec 9999 23:59:59 GMT"
    #expect(HTTPDate.time(Array(text.utf8)[...]) == Timestamp(milliseconds: 253_402_300_799_000))
  }

  @Test func `every day of four centuries is parsed correctly`() throws {
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var days: Int64 = 0
    for year in 1970..<2401 {
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      for (month, length) in zip(names, lengths) {
        for day in 1...(month == "Feb" && isLeap ? 29 : length) {
          let text = "Mon, \(day < 10 ? "0" : "")\(day) \(month) \(year) 00:01:02 GMT"
          let time = HTTPDate.time(Array(text.utf8)[...])
          try #require(time?.milliseconds == (days * 86_400 + 62) * 1000)
          days += 1
        }
      }
    }
  }
}

/// Conditional requests, and the metadata of responses.
struct ConditionalTests {
  private let validators = Validators(etag: "\"v1\"", lastModified: "Sat, 21 Nov 2026 10:00:00 GMT")

  @Test func `validators make a request conditional, and a 304 completes it as not modified`() async throws {
    let headers: HeaderFields = ["ETag": "\"v1\"", "Cache-Control": "max-age=60", "Vary": "Accept", "Date": "then"]
    let origin = try Origin(["/a": .status(304, headers: headers)])
    let end = try await Fetcher().fetch(origin.url("/a"), validators: validators)
    let image = try #require(end.image)
    #expect(end.isNotModified)
    #expect(image.status == 304 && image.body.isEmpty && image.bodyBytes == 0)
    #expect(image.validators == Validators(etag: "\"v1\""))
    #expect(image.freshness.lifetime.map { $0 > .seconds(30) && $0 <= .seconds(60) } == true)
    #expect(image.vary == "Accept")
    #expect(origin.requests[0].headers.all("If-None-Match") == ["\"v1\""])
    #expect(origin.requests[0].headers.all("If-Modified-Since") == ["Sat, 21 Nov 2026 10:00:00 GMT"])
  }

  private static let renewals: [(headers: HeaderFields, freshness: Freshness?)] = [
    ([:], nil), (["ETag": "\"v1\"", "Date": "Sat, 21 Nov 2026 10:00:00 GMT", "Age": "5"], nil),
    (["Cache-Control": "max-age=0, no-cache"], Freshness(lifetime: .zero, mustRevalidate: true)),
    (["Cache-Control": "public"], Freshness()),
    (["Expires": "0"], Freshness(lifetime: .zero, isImmutable: true, staleWhileRevalidate: .seconds(7))),
  ]

  @Test(arguments: renewals) func `a 304 without freshness keeps the stored freshness`(
    headers: HeaderFields,
    expected: Freshness?
  ) async throws {
    let stored = Freshness(lifetime: .seconds(3600), isImmutable: true, staleWhileRevalidate: .seconds(7))
    let origin = try Origin(["/a": .status(304, headers: headers)])
    let image = try #require(try await Fetcher().fetch(origin.url("/a"), validators: validators).image)
    #expect(image.freshness(renewing: stored) == expected ?? stored)
  }

  @Test func `a loader's freshness replaces the stored one, if it has any`() {
    let stored = Freshness(mustRevalidate: true)
    let silent = DownloadResponse(status: 304, body: [], bodyBytes: 0)
    #expect(silent.freshness(renewing: stored) == stored)
    let said = DownloadResponse(status: 304, freshness: Freshness(lifetime: .seconds(5)), body: [], bodyBytes: 0)
    #expect(said.freshness(renewing: stored) == Freshness(lifetime: .seconds(5)))
  }

  @Test func `a changed image is downloaded whole`() async throws {
    let origin = try Origin(["/a": .body([1, 2], headers: ["ETag": "\"v2\""])])
    let end = try await Fetcher().fetch(origin.url("/a"), validators: validators)
    #expect(!end.isNotModified && end.image?.body == [1, 2] && end.image?.validators.etag == "\"v2\"")
  }

  @Test(arguments: [Validators(etag: "W/\"1\""), Validators(lastModified: "then"), Validators()])
  func `each known validator is sent`(validators: Validators) async throws {
    let origin = try Origin(["/a": .body([1])])
    _ = try await Fetcher().fetch(origin.url("/a"), validators: validators)
    #expect(origin.requests[0].headers["If-None-Match"] == validators.etag)
    #expect(origin.requests[0].headers["If-Modified-Since"] == validators.lastModified)
  }

  @Test(arguments: [nil, Validators(), Validators(etag: "a\r\nX: y")])
  func `an unrequested 304 is a rejected status`(validators: Validators?) async throws {
    let origin = try Origin(["/a": .status(304)])
    let end = try await Fetcher().fetch(origin.url("/a"), validators: validators)
    #expect(end.failure?.kind == .httpStatus && end.failure?.status == 304)
  }

  @Test func `conditions are sent only to the download's own origin, on every hop there`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    origin.set("/a", .redirect(to: "/b"))
    origin.set("/b", .redirect(to: origin.url("/c", host: 1)))
    origin.set("/c", .redirect(to: origin.url("/d", host: 0)))
    origin.set("/d", .status(304))
    let end = try await Fetcher().fetch(origin.url("/a"), validators: validators)
    #expect(end.isNotModified)
    #expect(origin.requests.map { $0.headers["If-None-Match"] } == ["\"v1\"", "\"v1\"", nil, "\"v1\""])

    origin.set("/c", .status(304))
    #expect(try await Fetcher().fetch(origin.url("/a"), validators: validators).failure?.status == 304)
  }

  @Test func `the next request on the same handle is unconditional and keeps its headers`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let fetcher = try Fetcher(concurrency: 1)
    let options = DownloadOptions.forTests(headers: [("X-A", "1")])
    for (id, validators) in [(1, nil), (2, validators), (3, nil), (4, validators)] as [(UInt64, Validators?)] {
      _ = try await fetcher.fetch(origin.url("/\(id)"), id: id, options: options, validators: validators)
    }
    #expect(origin.requests.map { $0.headers["If-None-Match"] } == [nil, "\"v1\"", nil, "\"v1\""])
    #expect(origin.requests.allSatisfy { $0.headers["X-A"] == "1" && $0.headers.all("Accept").count == 1 })
  }

  @Test func `freshness, Vary and validators are the response's, with all Cache-Control headers joined`() async throws {
    let headers: HeaderFields = [
      "Cache-Control": "public, immutable", "Cache-Control": "max-age=3600", "Vary": "Accept", "Vary": "X-A", "Age": "600",
    ]
    let origin = try Origin(["/a": .redirect(to: "/b", status: 301), "/b": .body([1], headers: headers), "/c": .body([1])])
    let image = try #require(try await Fetcher().fetch(origin.url("/a")).image)
    #expect(image.freshness.isImmutable)
    #expect(image.freshness.lifetime.map { $0 > .seconds(2900) && $0 <= .seconds(3000) } == true)
    #expect(image.vary == "Accept, X-A")
    let plain = try #require(try await Fetcher().fetch(origin.url("/c")).image)
    #expect(plain.freshness == Freshness() && plain.vary == nil && plain.validators.isEmpty)
  }
}
