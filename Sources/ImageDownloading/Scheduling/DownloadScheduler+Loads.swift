import Base

/// A load by an ``ImageLoader``.
struct Load {
  let slot: Int
  let task: Task<Void, Never>
  let started: MonotonicInstant
  let deadline: MonotonicInstant
}

/// Jobs for loaders instead of libcurl.
extension DownloadScheduler {
  /// The index of the loader of a download: the last that can load it.
  func loader(of download: Download) -> Int? {
    if configuration.loaders.isEmpty { return nil }
    let url = String(decoding: download.requestURL, as: UTF8.self)
    return configuration.loaders.lastIndex { $0.canLoad(url) }
  }

  func startLoad(_ slot: Int, by loader: any ImageLoader, resolves: Bool) {
    // There is no name to resolve and no connection.
    if resolves { queue.resolved() }
    queue.connected(host: pending[slot].host)
    lastLoad += 1
    let number = lastLoad
    pending[slot].begin(.loading(number: number), now: now)
    let download = pending[slot].download
    let request = LoaderRequest(
      url: String(decoding: download.requestURL, as: UTF8.self),
      validators: download.validators,
      options: download.options
    )
    let task = Task { [inbox] in
      let result = await loader.response(to: request)
      inbox.post(.loaded(number: number, result))
    }
    loads[number] = Load(slot: slot, task: task, started: now, deadline: now.advanced(by: pending[slot].remaining))
    notifyStarted(slot)
  }

  /// Handles a loader's result, unless the load was stopped before.
  func concludeLoad(_ number: UInt64, _ result: Result<LoaderResponse, ImageFailure>) {
    guard let load = loads[number] else { return }
    let slot = load.slot
    let outcome = TransferOutcome(result, for: pending[slot].download)
    var bytes = 0
    if case .success(let response) = result {
      bytes = response.body.count
      if !response.isNotModified { for watch in pending[slot].watches { watch.finish(bytes, now: now, head: nil) } }
    }
    if case .failure(let failure) = result, let status = failure.status, HTTPStatus.asksForPause(status) {
      recordBusy(slot, status: status, asked: nil)
    }
    endLoad(number, of: slot, receivedBytes: bytes)
    settle(slot, outcome)
  }

  func checkLoadLimits() {
    for (number, load) in loads where now >= load.deadline {
      let limit = pending[load.slot].download.options.timeout
      endLoad(number, of: load.slot)
      settle(load.slot, .failure(.transient(.timeout, "the loader didn't finish within \(limit.text)")))
    }
  }

  /// Frees the load's slot; an unfinished loader is cancelled, and its result ignored.
  func endLoad(_ number: UInt64, of slot: Int, receivedBytes: Int = 0) {
    guard let load = loads.removeValue(forKey: number) else { return }
    load.task.cancel()
    pending[slot].end(nanoseconds: now.since(load.started).wholeNanoseconds, receivedBytes: UInt64(receivedBytes))
    queue.finished(host: pending[slot].host, tryOfAwaited: pending[slot].tryOfAwaited)
  }
}

extension ImageLoader {
  /// The loader's result, with every error as a failure.
  fileprivate func response(to request: LoaderRequest) async -> Result<LoaderResponse, ImageFailure> {
    do {
      return .success(try await load(request))
    } catch let failure as ImageFailure {
      return .failure(failure)
    } catch {
      return .failure(ImageFailure(.internal, message: "the loader \(type(of: self)) failed: \(error)"))
    }
  }
}

extension TransferOutcome {
  /// Judges a loader's result for `download` by the rules for servers' responses.
  init(_ result: Result<LoaderResponse, ImageFailure>, for download: Download) {
    do throws(ImageFailure) {
      let response = try result.get()
      let options = download.options
      if response.isNotModified, download.validators == nil {
        throw ImageFailure(.internal, message: "the loader returned notModified for an unconditional request")
      }
      if !response.isNotModified {
        try options.checkContentType(response.contentType, status: nil)
        if response.body.count > options.maxBytes { throw .tooLarge(limit: options.maxBytes, status: nil) }
      }
      let body = response.isNotModified ? [] : try options.decrypted(response.body)
      var result = DownloadResponse(
        status: response.isNotModified ? 304 : 200,
        validators: response.validators,
        freshness: response.freshness,
        body: body,
        bodyBytes: body.count
      )
      result.isNotModified = response.isNotModified
      result.contentType = response.contentType
      if !response.isNotModified { result.totalBytes = body.count }
      self = .response(result)
    } catch {
      self = .failure(error)
    }
  }
}
