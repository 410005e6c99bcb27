import CCurl
import Base

enum TransferOutcome {
  /// In a box, since it is handed on several times, and a copy retains each part.
  indirect case response(DownloadResponse)
  /// A redirect with that `Location`.
  case redirect([UInt8], setsCookie: Bool)
  /// HEAD or a probe failed, which a plain GET may not.
  case refused(Refusal)
  /// A probe needs another request.
  case needsMore(BodyContinuation)
  /// The body can't be resumed, or an old connection was lost.
  case startOver
  /// The result of a second request.
  case remoteCache(RemoteCacheResponse)
  case failure(ImageFailure)
}

/// The failure of a request that isn't a plain GET. Some servers reject, cut or misread HEAD and ranges, but deliver the whole.
struct Refusal {
  /// ``DownloadOptions/Method-swift.enum/head`` or ``DownloadOptions/Method-swift.enum/probe``.
  let method: DownloadOptions.Method
  let failure: ImageFailure
  /// Whether the server lacks the method if a plain GET succeeds: the failure wasn't one that passes.
  let isLesson: Bool
}

extension Transfer {
  /// Judges a transfer that libcurl has ended with `code`.
  func outcome(_ code: CURLcode, at time: TimeSource) -> TransferOutcome {
    let outcome = outcomeOfMethod(code, at: time)
    guard request.method == .head || request.isRanged, !request.isSecond, let failure = failureOfMethod(outcome) else {
      return outcome
    }
    let isPassing = failure.isTransient && (failure.status.map { $0 != 500 && $0 != 501 } ?? (body.count > 0))
    return .refused(Refusal(method: request.method, failure: failure, isLesson: !isPassing))
  }

  /// Why HEAD or a probe may fail, or find nothing, though a plain GET wouldn't; nil if it didn't, or if a GET fails as well.
  private func failureOfMethod(_ outcome: TransferOutcome) -> ImageFailure? {
    switch outcome {
    case .response(let found): !found.isNotModified && response.totalBytes == 0 ? truncated : nil
    case .failure(let failure):
      switch failure.kind {
      case .httpStatus: HTTPStatus.dependsOnMethod(failure.status ?? 0) ? failure : nil
      case .reset: failure
      // Another version of the image is no matter of the method.
      case .truncated: response.rejection == nil ? failure : nil
      case .contentType: request.method == .head || response.isCoded ? failure : nil
      default: nil
      }
    default: nil
    }
  }

  /// The outcome of the request itself. An unaccepted status counts, however its body ended.
  private func outcomeOfMethod(_ code: CURLcode, at time: TimeSource) -> TransferOutcome {
    if code == CURLE_OK { decide() }
    if let early = earlyOutcome(at: time) { return early }
    guard code == CURLE_OK || response.disposition == .discarded else {
      return lostOldConnection(code) ? .startOver : .failure(failure(code))
    }
    if isRedirect {
      let setsCookie = responseHead?.headers.value(of: "Set-Cookie") != nil
      return .redirect(Array(fields.bytes(.location) ?? []), setsCookie: setsCookie)
    }
    if request.isConditional, status == 304, response.rejection == nil {
      return .response(result(body: [], time, isNotModified: true))
    }
    guard response.disposition == .kept else {
      let isPermanent = options.purpose.permanentStatuses.contains { $0.contains(status) }
      return .failure(response.rejection ?? .status(status, to: namedRequest, isPermanent: isPermanent))
    }
    if request.method == .head { return .response(result(body: [], time, totalBytes: response.totalBytes, isPrefix: true)) }
    if let declaredBytes = response.declaredBytes, declaredBytes != body.count { return .failure(truncated) }
    if let failure = missingEnd() { return .failure(failure) }
    if request.method == .probe { return endOfProbe(time) }
    if !response.endsWithPart { return .failure(truncated) }
    if body.isStreamed, body.count > 0 { handOver() }
    do throws(ImageFailure) {
      let plain = try options.decrypted(takeBody())
      if let failure = missingEnd(ofDecrypted: plain) { throw failure }
      return .response(result(body: plain, time, totalBytes: body.isStreamed ? body.count : plain.count))
    } catch {
      return .failure(error)
    }
  }

  /// Whether a connection that an earlier request had opened ended before any byte of the response. That says nothing of the server (RFC
  /// 9112, section 9.3.1), so it is no attempt: libcurl repeats most of these requests by itself, but not all under load. Each uses an
  /// old connection up, and a new one isn't repeated.
  private func lostOldConnection(_ code: CURLcode) -> Bool {
    [CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR].contains(code) && request.phase == .connected && !request.isSecond
      && response.headerBytes == 0 && body.count == 0 && number(CURLINFO_NUM_CONNECTS) == 0
  }

  /// The request, if the options ask for another than a plain GET.
  private var namedRequest: String? {
    if options.method == .get { return nil }
    return request.method == .head ? "HEAD" : request.isRanged ? "a range request" : "GET"
  }

  /// The outcome that is certain before the response has ended; nil if there is none.
  func earlyOutcome(at time: TimeSource) -> TransferOutcome? {
    if let refusal = response.refusal { return .failure(refusal) }
    if let remoteCache = response.remoteCache { return .remoteCache(remoteCache) }
    if response.mustStartOver { return .startOver }
    return response.hasEnough ? .response(prefix(time)) : nil
  }

  func result(
    body bytes: [UInt8],
    _ time: TimeSource,
    totalBytes: Int? = nil,
    isPrefix: Bool = false,
    isNotModified: Bool = false
  ) -> DownloadResponse {
    var result = DownloadResponse(
      status: request.method == .get ? body.continuation?.status ?? status : status,
      validators: Validators(etag: fields.last(.etag), lastModified: fields.last(.lastModified)),
      body: bytes,
      bodyBytes: body.isStreamed ? body.count : bytes.count
    )
    let received = time.wall()
    let duration = time.monotonic().since(request.started)
    let control = fields.cacheControl
    result.freshness = fields.freshness(control, requested: received.advanced(by: .zero - duration), received: received)
    (result.hasCacheControl, result.hasExpires) = (fields.has(.cacheControl), fields.has(.expires))
    result.isForAnySender = control.isForAnySender
    result.hasUnknownSender = request.hasUnknownSender
    result.contentType = fields.last(.contentType)
    result.vary = fields.joined(.vary)
    result.isNotModified = isNotModified
    result.totalBytes = totalBytes
    result.isPrefix = isPrefix
    result.wasStreamed = body.isStreamed
    result.undecoded = response.undecoded
    result.hasExcess = response.decoder?.hasExcess == true
    if options.purpose.describesDelivery { result.delivery = delivery(isNotModified: isNotModified) }
    return result
  }

  private func delivery(isNotModified: Bool) -> DeliveryFacts {
    var facts = DeliveryFacts()
    facts.cacheControl = fields.joined(.cacheControl)
    facts.hasExpires = fields.has(.expires)
    facts.isNotModified = isNotModified
    // A 304 confirms a validator.
    facts.hasValidator = isNotModified || fields.has(.etag) || fields.has(.lastModified)
    facts.vary = fields.joined(.vary)
    return facts
  }
}

extension DownloadOptions {
  /// Throws if ``acceptContentTypes`` contains neither `declared` nor a wildcard for it.
  func checkContentType(_ declared: @autoclosure () -> String?, status: Int?) throws(ImageFailure) {
    guard let acceptContentTypes else { return }
    guard let declared = declared() else {
      throw ImageFailure(
        .contentType,
        status: status,
        message: "the response has no Content-Type, but only some types are accepted"
      )
    }
    let type = declared.prefix { $0 != ";" && $0 != "," }.filter { $0 != " " && $0 != "\t" }.lowercased()
    guard acceptContentTypes.contains(type) || acceptContentTypes.contains(type.prefix { $0 != "/" } + "/*") else {
      throw ImageFailure(.contentType, status: status, message: "the content type \(type.quotable) isn't accepted")
    }
  }

  func decrypted(_ body: [UInt8]) throws(ImageFailure) -> [UInt8] {
    guard let decryptor else { return body }
    guard let plain = decryptor.hook.call(body) else {
      throw ImageFailure(.contentType, message: "the decryptor \(decryptor.name) can't read the body")
    }
    return plain
  }
}
