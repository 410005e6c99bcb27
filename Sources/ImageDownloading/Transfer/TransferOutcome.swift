import CCurl
import ImagePrimitives

/// What a transfer or a load came to.
enum TransferOutcome {
  case image(DownloadedImage)
  case notModified(DownloadedImage)
  /// To the value of its `Location`.
  case redirect([UInt8])
  /// The server answers no HEAD.
  case headRefused
  /// A probe goes on from there.
  case needsMore(BodyContinuation)
  /// What the request went on from is of no use.
  case startOver
  /// A second request, which was for that alone.
  case remoteCache(RemoteCacheResponse)
  case failure(Failure)
}

extension Transfer {
  /// Judges a transfer that libcurl has ended with `code`. A status that is not accepted stands, however its body ended.
  func outcome(_ code: CURLcode, at time: TimeSource) -> TransferOutcome {
    if code == CURLE_OK { decide() }
    if let early = earlyOutcome(at: time) { return early }
    guard code == CURLE_OK || disposition == .discarded else { return .failure(failure(code)) }
    if isRedirect { return .redirect(Array(fields.bytes(.location) ?? [])) }
    if isConditional, status == 304, rejection == nil { return .notModified(image(body: [], time)) }
    guard disposition == .kept else {
      if method == .head, rejection == nil, HTTPStatus.refusesMethod(status) { return .headRefused }
      return .failure(rejection ?? .status(status))
    }
    if method == .head { return .image(image(body: [], time, totalBytes: totalBytes, isPrefix: true)) }
    if let declaredBytes, declaredBytes != bodyBytes { return .failure(truncated) }
    if method == .probe { return endOfProbe(time) }
    if !endsWithPart { return .failure(truncated) }
    if isStreamed, bodyBytes > 0 { handOver() }
    do throws(Failure) {
      let body = try options.decrypted(takeBody())
      return .image(image(body: body, time, totalBytes: isStreamed ? bodyBytes : body.count))
    } catch {
      return .failure(error)
    }
  }

  /// What stands before the answer has ended, and however it ends; nil where nothing does.
  func earlyOutcome(at time: TimeSource) -> TransferOutcome? {
    if let refusal { return .failure(refusal) }
    if let remoteCache { return .remoteCache(remoteCache) }
    if mustStartOver { return .startOver }
    return hasEnough ? .image(prefix(time)) : nil
  }

  func image(body: [UInt8], _ time: TimeSource, totalBytes: Int? = nil, isPrefix: Bool = false) -> DownloadedImage {
    DownloadedImage(
      status: method == .get ? continuation?.status ?? status : status,
      contentType: fields.last(.contentType),
      etag: fields.last(.etag),
      lastModified: fields.last(.lastModified),
      vary: fields.joined(.vary),
      freshness: fields.freshness(time, taking: time.monotonic().since(started)),
      freshnessHeaders: fields.freshnessHeaders,
      body: body,
      bodyBytes: isStreamed ? bodyBytes : body.count,
      totalBytes: totalBytes,
      isPrefix: isPrefix,
      wasStreamed: isStreamed
    )
  }
}

extension DownloadOptions {
  /// Throws where ``acceptContentTypes`` has neither `declared` nor all types of its kind.
  func checkContentType(_ declared: @autoclosure () -> String?, status: Int?) throws(Failure) {
    guard let acceptContentTypes else { return }
    guard let declared = declared() else {
      throw Failure(.contentType, status: status, message: "the answer has no content type, and only some are accepted")
    }
    let type = declared.prefix { $0 != ";" && $0 != "," }.filter { $0 != " " && $0 != "\t" }.lowercased()
    guard acceptContentTypes.contains(type) || acceptContentTypes.contains(type.prefix { $0 != "/" } + "/*") else {
      throw Failure(.contentType, status: status, message: "the answer's content type is \(type.quotable), which is not accepted")
    }
  }

  /// The image's bytes, from those that came.
  func decrypted(_ body: [UInt8]) throws(Failure) -> [UInt8] {
    guard let decryptor else { return body }
    guard let plain = decryptor.decrypt(body) else {
      throw Failure(.contentType, message: "the decryptor \(decryptor.name) cannot read the body")
    }
    return plain
  }
}
