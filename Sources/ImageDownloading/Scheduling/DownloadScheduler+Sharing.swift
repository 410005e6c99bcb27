import Base

extension DownloadScheduler {
  func submit(_ download: Download, of client: ClientState) {
    var download = download
    if let order = configuration.order {
      arrivals += 1
      download.sequence = order.sequence(ofArrival: arrivals)
    }
    let identity = DownloadIdentity(download)
    let current = pending.slot(of: identity)
    if let current {
      if let successor = pending[current].successor { return add(download, of: client, to: successor) }
      if !pending[current].hasHandedOver { return add(download, of: client, to: current) }
    }
    let loader = loader(of: download)
    guard let origin = URLOrigin(download.requestURL) ?? loader.map({ _ in URLOrigin(schemeOf: download.requestURL) }) else {
      let failure = ImageFailure(.invalidURL, message: "the URL isn't a normalised http or https URL")
      return client.notify(.failed(id: download.id, failure, TransferSummary()))
    }
    let host = retainHost(of: origin, download.prepared.options)
    let job = QueuedDownload(download, identity: identity, client: client, host: host, loader: loader)
    let slot = pending.insert(job, isJoinable: current == nil)
    client.add(download.id, slot: slot)
    guard let current else { return enqueue(slot) }
    // It has missed chunks of the current one.
    pending[current].successor = slot
    pending[slot].change(to: .held)
  }

  private func add(_ download: Download, of client: ClientState, to slot: Int) {
    var waiter = WaitingDownload(download, client: client)
    waiter.hasJoined = true
    client.add(download.id, slot: slot)
    pending[slot].waiters.append(waiter)
    if pending[slot].isWaiting { client.waiting += 1 }
    if let watch = waiter.watch {
      switch pending[slot].activity {
      case .transferring(let index):
        watch.start()
        pool.observe(pool[index])
      case .loading: watch.start()
      case .none, .queued, .held, .awaitingRobots: break
      }
    }
    updatePosition(slot)
  }

  /// Makes the waiters of the successor share `slot` after all, since the chunks that they missed are void.
  func absorbSuccessor(of slot: Int) {
    guard let successor = pending[slot].successor else { return }
    pending[slot].successor = nil
    pending[successor].change(to: .none)
    let held = pending.remove(successor)
    releaseHost(held.host)
    held.waiters.forEach { waiter in
      var waiter = waiter
      waiter.hasJoined = true
      waiter.client.move(waiter.id, to: slot)
      pending[slot].waiters.append(waiter)
    }
  }

  // MARK: Leaving

  func cancel(_ id: UInt64, of client: ClientState, includingRunning: Bool) {
    guard let slot = client.slots[id] else { return }
    guard includingRunning || pending[slot].isWaiting else {
      // A running transfer may finish, without a retry.
      return pending[slot].waiters.update(id, of: client) { $0.mayRetry = false }
    }
    if pending[slot].waiters.count == 1 {
      stop(slot)
      let job = finish(slot)
      job.waiters.forEach { $0.client.end(id, .cancelled(id: id, job.summary(for: $0))) }
    } else if let waiter = pending.leave(slot, where: { $0.is(id, of: client) }).first {
      if pending[slot].isWaiting { client.waiting -= 1 }
      client.end(id, .cancelled(id: id, pending[slot].summary(for: waiter)))
      updatePosition(slot)
    }
  }

  func cancelAll(of client: ClientState, includingRunning: Bool) {
    // In the order of their numbers, so that events don't depend on the order of a table.
    for id in client.slots.keys.sorted() { cancel(id, of: client, includingRunning: includingRunning) }
  }

  func close(_ number: Int) {
    guard let client = clients[number] else { return }
    cancelAll(of: client, includingRunning: true)
    client.deliver()
    clients[number] = nil
  }

  private func stop(_ slot: Int) {
    switch pending[slot].activity {
    case .none: break
    case .queued:
      queue.remove(slot: slot, host: pending[slot].host)
      pending[slot].change(to: .none)
    case .held: pending[slot].change(to: .none)
    case .awaitingRobots: leaveRobots(slot)
    case .transferring(let index):
      pool.stop(pool[index])
      release(pool[index], of: slot)
    case .loading(let number): endLoad(number, of: slot)
    }
  }

  // MARK: Positions

  /// Changes the class of a download and, unless nil, the options that say how long it waits for its host.
  func setPriority(_ priority: LoadPriority, patience: PreparedOptions? = nil, of id: UInt64, of client: ClientState) {
    guard let slot = client.slots[id] else { return }
    pending[slot].waiters.update(id, of: client) {
      $0.priority = priority
      if let patience { $0.prepared = patience }
    }
    updatePosition(slot)
  }

  /// Moves a waiting job to the best position of its waiters. One that someone waits for from now on is requested as if it had just come.
  private func updatePosition(_ slot: Int) {
    guard case .queued(let time) = pending[slot].activity else { return }
    let (position, isAwaited) = (pending[slot].waiters.best, pending[slot].isAwaited)
    if pending[slot].isQueuedAsAwaited != isAwaited {
      queue.remove(slot: slot, host: pending[slot].host)
      pending[slot].change(to: .none)
      enqueue(slot, notBefore: isAwaited ? nil : time)
    } else if pending[slot].position != position {
      queue.remove(slot: slot, host: pending[slot].host)
      addToQueue(slot, notBefore: time)
    }
  }

  /// Queues a job for its start, or fails it if its host is down or paused for too long, or makes it wait for the host's `robots.txt`.
  func enqueue(_ slot: Int, notBefore time: MonotonicInstant? = nil) {
    if isRefused(slot) { return }
    var time = time
    if time == nil, !pending[slot].continues, let wait = queue[pending[slot].host].wait(pending[slot].patience.options, now: now)
    {
      time = now.advanced(by: wait)
    }
    if pending[slot].download.prepared.options.respectsRobots, pending[slot].loader == nil, !admitsByRobots(slot) { return }
    addToQueue(slot, notBefore: time)
  }

  func addToQueue(_ slot: Int, notBefore time: MonotonicInstant?) {
    pending[slot].change(to: .queued(notBefore: time))
    let position = pending[slot].waiters.best
    pending[slot].position = position
    let isAwaited = pending[slot].isAwaited
    pending[slot].isQueuedAsAwaited = isAwaited
    queue.insert(
      slot: slot,
      host: pending[slot].host,
      priority: position.priority,
      sequence: position.sequence,
      notBefore: time,
      continues: pending[slot].continues,
      isAwaited: isAwaited,
      patience: pending[slot].patience.options.retryAfterMaximum
    )
  }
}
