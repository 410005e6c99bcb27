import Foundation
import TestSupport
import Testing

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
