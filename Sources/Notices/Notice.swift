package import Base
package import ImageDownloading
package import Reports

/// A message about a finished run that goes to one target, with its secrets.
package struct Notice: Sendable {
  /// The runs that are worth a message.
  package enum Occasion: String, Sendable, CaseIterable {
    case failed, changed, always
  }

  package enum Target: Sendable {
    /// JSON, signed if there is a key.
    case webhook(BaseURL, key: [UInt8]?)
    case slack(BaseURL)
    case teams(BaseURL)
    case email(Mail)
  }

  /// How errors name it.
  let name: String
  let target: Target
  let occasion: Occasion
  /// Where the reports can be seen, for readers of the message.
  let link: BaseURL?

  package init(name: String, target: Target, occasion: Occasion, link: BaseURL?) {
    (self.name, self.target, self.occasion, self.link) = (name, target, occasion, link)
  }

  /// Whether the run is worth a message; an interrupted one never is, since the same command resumes it.
  func isDue(after report: FinishedReport) -> Bool {
    guard report.end.interruption == nil else { return false }
    return switch occasion {
    case .failed: report.exitStatus != .withinLimits
    case .changed: report.hasChanged
    case .always: true
    }
  }
}

extension [Notice] {
  /// Sends those that are due, at the same time, so that one slow receiver doesn't delay the others.
  ///
  /// - Parameter connection: its proxy and certificates apply.
  /// - Returns: a sentence without secrets for each that wasn't sent.
  package func send(about report: FinishedReport, over connection: DownloadOptions.Connection) -> [String] {
    let due = filter { $0.isDue(after: report) }
    let results = WaitableState([String?](repeating: nil, count: due.count))
    let threads = due.indices.compactMap { index -> WorkerThread? in
      let send: @Sendable () -> Void = {
        let reason = NoticeDelivery(due[index], report, connection).run()
        results.withLock(waking: .nobody) { $0[index] = reason }
      }
      if let thread = try? WorkerThread(name: "notice", body: send) { return thread }
      send()
      return nil
    }
    for thread in threads { thread.join() }
    let reasons = results.withLock(waking: .nobody) { $0 }
    return zip(due, reasons).compactMap { notice, reason in reason.map { "cannot send \(notice.name): \($0)" } }
  }
}
