import Foundation
import TestOrigin
import TestSupport
import Testing

/// The output of `prewarm cache stats --json`.
struct CacheStatistics: Decodable {
  let directory: String
  let namespace: String
  let entries: Int
  let bodyBytes: Int
  let diskBytes: Int
  let maxBytes: Int?
  let freshUntil: String?
  let expiredEntries: Int
  let blacklistEntries: Int
}

/// A row of `prewarm cache list --json`.
struct ListedEntry: Decodable {
  let url: String
  let bytes: Int
  let format: String?
  let width: Int?
  let height: Int?
  let proof: String
  let status: Int
  let contentType: String?

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
  /// The failing paths of ``filled(from:keys:)``.
  static let badPaths = ["/gone.jpg", "/page.jpg"]

  /// A job whose run has left five images in the cache and two URLs on the blacklist.
  static func filled(from origin: Origin, keys: String = "") async throws -> JobFolder {
    origin.set("/page.jpg", .body(Array("<!doctype html>".utf8), type: "text/html"))
    let job = JobFolder(urls: imageURLs(origin, 0..<5) + badPaths.map { origin.url($0) }, keys: keys)
    let run = try await job.runJob()
    try #require(run.totals["downloaded"] == 5 && run.totals["failed"] == 2)
    return job
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
