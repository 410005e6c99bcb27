import TestOrigin
import TestSupport

/// A site of twelve hosts, with one in fifty images broken in twelve alternating ways; one host has half of the broken
/// ones.
struct TwelveWays {
  /// The ways, named by failure kind and HTTP status in reports.
  enum Way: CaseIterable {
    case missing, gone, serverError, page, empty, cut, undecodable, wrongType, tooManyPixels, circle, reset, drawing

    /// The kind of the failure.
    var kind: String {
      switch self {
      case .missing, .gone, .serverError: "http-status"
      case .page: "not-an-image"
      case .empty: "empty"
      case .cut: "truncated"
      case .undecodable: "undecodable"
      case .wrongType: "content-type"
      case .tooManyPixels: "dimensions"
      case .circle: "redirects"
      case .reset: "reset"
      case .drawing: "format"
      }
    }

    /// Its title in the text report.
    var title: String {
      switch self {
      case .missing: "http-status 404"
      case .gone: "http-status 410"
      case .serverError: "http-status 500"
      case .page: "not-an-image"
      case .empty: "empty"
      case .cut: "truncated"
      case .undecodable: "undecodable"
      case .wrongType: "content-type"
      case .tooManyPixels: "dimensions"
      case .circle: "redirects"
      case .reset: "reset"
      case .drawing: "format"
      }
    }

    func answer(to path: String) -> Behaviour {
      switch self {
      case .missing: .status(404)
      case .gone: .status(410)
      case .serverError: .status(500)
      case .page: .body(Array("<!doctype html><title>Sorry</title><p>We have moved.".utf8), type: "image/jpeg")
      case .empty: .body([], type: "image/jpeg")
      case .cut: .cut(afterBytes: 200, declared: SampleImages.baseJPEG.count, of: SampleImages.baseJPEG, type: "image/jpeg")
      case .undecodable: .body(Array(SampleImages.basePNG.prefix(30)), type: "image/png")
      case .wrongType: .body(SampleImages.baseJPEG, type: "text/plain")
      case .tooManyPixels: .body(SampleImages.lyingPNG(width: 60_000, height: 60_000), type: "image/png")
      case .circle: .redirect(to: path)
      case .reset: .reset
      case .drawing: .body(Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), type: "image/svg+xml")
      }
    }
  }

  /// The host with half of the broken images.
  static let worstHost = "legacy.example.com"
  static let hosts = [worstHost] + (1...11).map { "img\($0).example.com" }

  let origin: Origin
  /// All URLs, in the order of the list.
  let urls: [String]
  /// The number of broken images by way.
  let broken: [Way: Int]
  /// The number of broken images by host.
  let brokenAt: [String: Int]

  init(urls count: Int) throws {
    var urls: [String] = []
    var broken: [Way: Int] = [:]
    var brokenAt: [String: Int] = [:]
    for number in 0..<count {
      guard number % 50 == 7 else {
        urls.append("http://\(Self.hosts[number % Self.hosts.count])/catalogue/\(number).jpg")
        continue
      }
      let turn = number / 50
      let way = Way.allCases[turn % Way.allCases.count]
      let host = turn % 2 == turn / 12 % 2 ? Self.worstHost : Self.hosts[1 + turn % 11]
      urls.append("http://\(host)/broken/\(turn % Way.allCases.count)/\(number).jpg")
      broken[way, default: 0] += 1
      brokenAt[host, default: 0] += 1
    }
    self.urls = urls
    self.broken = broken
    self.brokenAt = brokenAt
    origin = try Origin()
    origin.setFallback { request in
      let parts = request.path.split(separator: "/")
      guard parts.count > 1, let number = Int(parts[parts.count - 1].prefix { $0 != "." }) else { return .status(404) }
      if parts[0] == "broken", let way = Int(parts[1]) { return Way.allCases[way].answer(to: request.path) }
      return .body(SampleImages.jpeg(number), type: "image/jpeg")
    }
  }

  /// Options that connect every host to the origin, reject SVG, and don't retry or blacklist failures.
  var options: [String] {
    [
      "--set", "request.connect-to=[\"::127.0.0.1:\(origin.port)\"]", "--set", "verify.formats=[jpeg, png]", "--retries", "0",
      "--concurrency", "64",
    ]
  }
}
