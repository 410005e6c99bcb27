import Base

/// Taking what an engine has recorded.
extension TransferLoop {
  /// Takes the records of this thread's engine. Returns whether transfers advanced.
  @discardableResult
  func takeRecords() -> Bool {
    let hasAdvanced = noteAdvances()
    notifyChunks()
    engine.record.takeProgress(notify)
    return hasAdvanced
  }

  /// Takes the records of another thread's engine, and concludes the transfers that have ended there.
  func take(_ report: EngineReport) {
    openedElsewhere[report.engine] = report.openedConnections
    engine.record.cookiesSet += report.cookiesSet
    for advance in report.advanced { note(advance) }
    for streamed in report.streamed { notify(streamed) }
    for progress in report.progress { notify(progress) }
    for (request, outcome) in report.ended where slot(of: request) != nil { conclude(transfers[request.index], outcome) }
  }

  /// Prepares a transfer for `host` on the engine that is to run it.
  func transfer(for host: Int, _ options: PreparedOptions, mayUseHTTP2: Bool) -> Transfer {
    let number = choice.start(host: host, mayUseHTTP2: mayUseHTTP2)
    let index = free[number].popLast() ?? transfers.count
    if index == transfers.count {
      let engine = number == 0 ? engine : others[number - 1].engine
      transfers.append(Transfer(index: index, options: options, engine: engine, shares: shares))
    }
    return transfers[index]
  }

  /// Starts a prepared transfer.
  func start(_ transfer: Transfer) {
    if transfer.engine == 0 { engine.start(transfer) } else { others[transfer.engine - 1].start(transfer) }
  }

  /// Stops a running transfer.
  func stop(_ transfer: Transfer) {
    if transfer.engine == 0 { engine.stop(transfer) } else { others[transfer.engine - 1].stop(transfer) }
  }

  /// Makes the progress of a running transfer be reported, with the response's head.
  func observe(_ transfer: Transfer) {
    let observe = { (_: TransferEngine) in
      transfer.isObserved = true
      transfer.needsHead = true
    }
    if transfer.engine == 0 { observe(engine) } else { others[transfer.engine - 1].whileHalted(observe) }
  }

  /// Delivers streamed chunks.
  func notifyChunks() {
    let record = engine.record
    guard !record.streamed.isEmpty else { return }
    for streamed in record.streamed { notify(streamed) }
    record.streamed.removeAll(keepingCapacity: true)
  }

  /// Notifies all waiters that the chunks so far are void.
  func notifyRestarted(_ slot: Int) {
    pending[slot].hasHandedOver = false
    pending[slot].waiters.forEach { $0.client.notify(.restarted(id: $0.id)) }
  }

  /// The job of a request; nil if the request has ended.
  private func slot(of request: TransferRecord.Request) -> Int? {
    let transfer = transfers[request.index]
    return transfer.run == request.run ? transfer.job : nil
  }

  /// Makes hosts' other transfers start after their first has resolved or connected. Returns whether there was any.
  private func noteAdvances() -> Bool {
    let record = engine.record
    guard !record.advanced.isEmpty else { return false }
    for advance in record.advanced { note(advance) }
    record.advanced.removeAll(keepingCapacity: true)
    return true
  }

  private func note(_ advance: TransferRecord.Advance) {
    guard let slot = slot(of: advance.request) else { return }
    let transfer = transfers[advance.request.index]
    if transfer.isCountedAsResolving, advance.phase != .resolving { countAsResolved(transfer) }
    if advance.phase == .connected { queue.connected(host: pending[slot].host) }
  }

  private func notify(_ streamed: TransferRecord.Streamed) {
    switch streamed {
    case .chunk(let request, let attempt, let bytes):
      guard let slot = slot(of: request) else { return }
      pending[slot].hasHandedOver = true
      pending[slot].waiters.forEach { $0.client.notify(.chunk(id: $0.id, attempt: attempt, bytes: bytes)) }
    case .restart(let request):
      if let slot = slot(of: request) { notifyRestarted(slot) }
    }
  }

  private func notify(_ progress: TransferRecord.Progress) {
    guard let slot = slot(of: progress.request) else { return }
    update(slot) { watch in
      // A watch that was added since then gets the head with the next progress.
      guard watch.hasNotifiedHead || progress.head != nil else { return }
      watch.advance(to: progress.receivedBytes, of: progress.expectedBytes, now: now, head: progress.head)
    }
  }
}
