import ImagePrimitives

/// What `DetailedRows` tells beyond a row.
extension ReportRow {
  func remarks() throws(JSONError) -> DetailedRows.Remarks {
    var remarks = DetailedRows.Remarks()
    remarks.isLeftOut = try value.boolean("left_out") ?? false
    remarks.joinedBlacklist = try value.boolean("joined_blacklist") ?? false
    remarks.leftBlacklist = try value.boolean("left_blacklist") ?? false
    return remarks
  }

  /// The result as it was on the machine where the row was made.
  func detailedResult() throws(JSONError) -> EntryResult {
    var result = try result()
    result.receivedBytes = try value.count("received_bytes")
    result.waitedNanoseconds = try value.count("waited_ns")
    let prefix = try prefixChecksum()
    guard result.details != nil || prefix != nil else { return result }
    var failure = result.failure
    failure?.isTransient = try value.boolean("transient") ?? false
    result.details = EntryResult.Details(
      failure: failure,
      isBlacklisted: try value.boolean("known_bad") ?? false,
      finalURL: result.details?.finalURL,
      contentType: result.details?.contentType,
      warnings: result.details?.warnings ?? [],
      prefixChecksum: prefix
    )
    return result
  }

  private func prefixChecksum() throws(JSONError) -> Checksum? {
    guard let value = try value.value("prefix_hash") else { return nil }
    guard let checksum = Checksum(hexadecimal: try value.bytes()) else { throw value.problem("is no hash of 32 digits") }
    return checksum
  }
}
