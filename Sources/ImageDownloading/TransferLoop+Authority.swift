import ImagePrimitives

/// What an authority grants, and what it is told.
extension TransferLoop {
  /// Asks for what could start but for a grant.
  func requestStarts(of authority: any StartGranting) {
    let demands = queue.takeDemands(startsNew: startsNew)
    guard !demands.isEmpty else { return }
    authority.requestStarts(
      demands.map { demand in
        StartRequest(
          origin: demand.host.map { hosts.origin($0).serialized } ?? "",
          count: demand.count,
          intervalNanoseconds: demand.intervalNanoseconds
        )
      }
    )
  }

  /// Takes what was granted; for hosts that are forgotten it is lost.
  func take(_ grants: [StartGrant]) {
    guard authority != nil else { return }
    for grant in grants {
      if grant.origin.isEmpty {
        queue.grant(grant, to: nil, now: turn.now)
      } else if let origin = URLOrigin(serialized: grant.origin), let host = hosts.number(of: origin) {
        queue.grant(grant, to: host, now: turn.now)
      }
    }
  }

  /// Lets a host rest that has asked another downloader for that. It may be one that nothing was asked of here.
  func rest(_ origin: URLOrigin, for duration: Duration, status: Int) {
    let host = hosts.retain(origin)
    rest(host, until: turn.now.advanced(by: duration), status: status)
    releaseHost(host)
  }
}
