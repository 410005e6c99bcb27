import Foundation
import TestOrigin
import TestSupport
import Testing

/// The output of `prewarm cache stats --json`.
struct CacheStatistics: Decodable {
  let directory: String
  let entries, bodyBytes, diskBytes, blacklistEntries: Int
}

/// A row of `prewarm cache list --json`.
struct ListedEntry: Decodable {
  let url, proof: String
  let bytes, status: Int
  let format, contentType: String?
  let width, height: Int?

  /// Whether the body has its own file.
  var isBlob: Bool { bytes > 256 << 10 }
}

/// The command didn't print the expected output.
struct NoAnswer: Error, CustomStringConvertible {
  let description: String
}

extension Command.Result {
  /// The objects of standard output, one per line; keys in camel case.
  func rows<Row: Decodable>(_ type: Row.Type = Row.self) throws -> [Row] {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try output.split(separator: UInt8(ascii: "\n")).map { try decoder.decode(Row.self, from: Data($0)) }
  }

  /// The one object of standard output.
  func row<Row: Decodable>(_ type: Row.Type = Row.self) throws -> Row {
    let rows = try rows(type)
    guard rows.count == 1 else { throw NoAnswer(description: "\(rows.count) rows; the command said: \(errorText)") }
    return rows[0]
  }
}

extension JobFolder {
  /// The command's statistics of the cache; `options` select another one.
  func statistics(_ options: String...) async throws -> CacheStatistics {
    try await start(["cache", "stats", "--json"] + options).wait().row()
  }

  /// Expects the totals of the cache to equal a count of its entries, and returns the count.
  @discardableResult
  func expectTrueTotals(_ options: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws -> [ListedEntry] {
    let statistics: CacheStatistics = try await start(["cache", "stats", "--json"] + options).wait().row()
    let result = try await start(["cache", "list", "--json"] + options).wait()
    guard result.status == 0 else { throw NoAnswer(description: result.errorText) }
    let listed: [ListedEntry] = try result.rows()
    #expect(statistics.entries == listed.count, sourceLocation: sourceLocation)
    #expect(statistics.bodyBytes == listed.reduce(0) { $0 + $1.bytes }, sourceLocation: sourceLocation)
    #expect(Set(listed.map(\.url)).count == listed.count, sourceLocation: sourceLocation)
    return listed
  }

  /// The names of the large bodies' files, without incomplete ones.
  func blobFiles() throws -> [String] {
    let blobs = cacheDirectory + "/default/blobs"
    return try FileManager.default.subpathsOfDirectory(atPath: blobs).filter { path in
      var isFolder: ObjCBool = false
      return !path.hasPrefix("tmp") && FileManager.default.fileExists(atPath: "\(blobs)/\(path)", isDirectory: &isFolder)
        && !isFolder.boolValue
    }
  }
}

extension JobFolder {
  /// URLs of images by a host name, so that keys, orders and shards are the same in each run; ``connect(to:)`` makes an origin the proxy.
  static func images(_ range: Range<Int>) -> [String] { range.map { "http://img.test/images/\($0).jpg" } }

  static func connect(to origin: Origin) -> String { "request: {proxy: '\(origin.base)'}\n" }

  /// The URLs of ``filled(from:keys:)``: five images, and two failures.
  static let images = images(0..<5)
  static let bad = ["http://img.test/gone.jpg", "http://img.test/page.jpg"]

  /// A job whose run has left five images in the cache and two URLs on the blacklist.
  static func filled(from origin: Origin, keys: String = "") async throws -> JobFolder {
    origin.set("/page.jpg", .text("<!doctype html>"))
    let job = JobFolder(urls: images + bad, keys: connect(to: origin) + keys)
    let run = try await job.runJob()
    try #require(run.totals["downloaded"] == 5 && run.totals["failed"] == 2, "\(run.result.errorText)")
    return job
  }

  /// Runs these command lines one after another, and expects their output and exit statuses to be those of the golden file, without
  /// times and sizes on disk.
  func expectTranscript(_ lines: String..., for label: String? = nil, sourceLocation: SourceLocation = #_sourceLocation)
    async throws
  {
    var transcript = ""
    for line in lines {
      let result = try await prewarm(line)
      let output = (result.outputText + result.errorText).timeless
        .replacing(#/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z|Z| UTC)/#, with: "TIME")
        .replacing(#/prewarm\/\d+\.\d+\.\d+/#, with: "prewarm/VERSION")
        .replacing(#/("disk_bytes\w*":|on disk +)[\d.]+( [kM]?B)?/#) { "\($0.output.1)SIZE" }
        .replacing(#/[\d.]+ [kM]?B (reclaimed|on disk)/#) { "SIZE \($0.output.1)" }
        // A row of the table of namespaces, and the parts of a file's path that depend on its commit.
        .replacing(#/(?m)^(\S+ +\d+ +[\d.]+ k?B) +[\d.]+ k?B( +\d+)$/#) { "\($0.output.1) SIZE\($0.output.2)" }
        .replacing(#/[0-9a-f]{2}/([0-9a-f]{32})-[0-9a-f]{16}/#) { "FOLDER/\($0.output.1)-NUMBER" }
      transcript += "$ prewarm \(line)\n\(output)"
      if result.status != 0 { transcript += "exit \(result.status.map { "\($0)" } ?? "by a signal")\n" }
    }
    expectGolden(transcript, for: label, sourceLocation: sourceLocation)
  }
}

/// Ways to damage a cache as a failing disk does, without LMDB and the records noticing.
extension JobFolder {
  /// Changes a byte of a small image's body in every copy that the index contains, but not its header.
  func flipByte(of body: [UInt8]) throws {
    var index = Data(try #require(folder.read("cache/default/index.mdb")))
    var isFound = false
    var start = index.startIndex
    while let place = index.range(of: Data(body), in: start..<index.endIndex) {
      index[place.upperBound - 10] ^= 0x55
      isFound = true
      start = place.upperBound
    }
    try #require(isFound, "the index doesn't contain the body")
    folder.write(index, to: "cache/default/index.mdb")
  }

  /// Removes the file of the only large body.
  func removeOnlyBlob() throws {
    let names = try blobFiles()
    try #require(names.count == 1)
    try FileManager.default.removeItem(atPath: "\(cacheDirectory)/default/blobs/\(names[0])")
  }
}
