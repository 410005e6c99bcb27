import Foundation
import TestSupport

/// Requests for objects, numbered below `objectCount`, in a shape that real traces have.
struct Trace {
  let name: String
  let objectCount: Int
  let requests: [Int32]

  private init(_ name: String, _ requests: [Int32]) {
    self.name = name
    self.requests = requests
    objectCount = Int(requests.max() ?? -1) + 1
  }

  /// The object of rank r is requested in proportion to 1 / r^alpha, as on the web (Breslau et al. 1999 found 0.64 to 0.83; caches
  /// close to users see steeper distributions).
  static func zipf(_ alpha: Double, objects: Int, requests: Int) -> Trace {
    var popularity = Popularity(alpha, objects: objects)
    return Trace("zipf \(alpha)", (0..<requests).map { _ in popularity.next() })
  }

  /// Every object once.
  static func scan(requests: Int) -> Trace { Trace("scan", (0..<Int32(requests)).map { $0 }) }

  /// `objects` objects repeatedly in the same order.
  static func loop(objects: Int, requests: Int) -> Trace {
    Trace("loop 1.2 x cache", (0..<requests).map { Int32($0 % objects) })
  }

  /// Zipf 0.9; one request in four is for an object that is requested only once.
  static func onceAsked(objects: Int, requests: Int) -> Trace {
    var popularity = Popularity(0.9, objects: objects)
    var fresh = Int32(objects)
    return Trace(
      "zipf 0.9 + one-time",
      (0..<requests).map { index in
        guard index % 4 == 3 else { return popularity.next() }
        defer { fresh += 1 }
        return fresh
      }
    )
  }

  /// Zipf 0.9; after each 10 x `objects` / 5 requests a crawler requests `objects` / 5 others, once each.
  static func scans(objects: Int, requests: Int) -> Trace {
    var popularity = Popularity(0.9, objects: objects)
    var fresh = Int32(objects)
    let scan = objects / 5
    return Trace(
      "zipf 0.9 + scans",
      (0..<requests).map { index in
        guard index % (11 * scan) >= 10 * scan else { return popularity.next() }
        defer { fresh += 1 }
        return fresh
      }
    )
  }

  /// Zipf 0.9 with shifting popularity: after each `objects` / 2 requests, a hundredth of the objects is replaced by new ones,
  /// which become the most popular.
  static func shifting(objects: Int, requests: Int) -> Trace {
    var popularity = Popularity(0.9, objects: objects)
    let steps = requests / (objects / 2)
    return Trace(
      "zipf 0.9, shifting",
      (0..<requests).map { index in
        let step = index / (objects / 2)
        return popularity.next() + Int32((steps - step) * (objects / 100))
      }
    )
  }
}

/// Costs of objects, constant for each object.
enum Costs: String {
  case unit
  /// Bytes of decoded pictures: log-normal with a median of 300,000, a sixth above 1,100,000.
  case images

  func costs(of count: Int) -> [Int] {
    guard self == .images else { return Array(repeating: 1, count: count) }
    var random = SeededRandom(seed: 7)
    return (0..<count).map { _ in
      // The Box-Muller transform yields a normal deviate.
      let radius = (-2 * log(1 - random.nextUnit())).squareRoot()
      let deviate = radius * cos(2 * .pi * random.nextUnit())
      return min(max(Int(300_000 * exp(1.3 * deviate)), 1_024), 64 << 20)
    }
  }
}

/// Draws objects by Zipf's law, object 0 being the most popular.
private struct Popularity {
  private let cumulated: [Double]
  private var random = SeededRandom(seed: 1)

  init(_ alpha: Double, objects: Int) {
    var sum = 0.0
    cumulated = (1...objects).map { rank in
      sum += pow(Double(rank), -alpha)
      return sum
    }
  }

  mutating func next() -> Int32 {
    let drawn = random.nextUnit() * cumulated[cumulated.count - 1]
    var low = 0
    var high = cumulated.count - 1
    while low < high {
      let middle = (low + high) / 2
      if cumulated[middle] > drawn { high = middle } else { low = middle + 1 }
    }
    return Int32(low)
  }
}

extension SeededRandom {
  /// A number from 0 up to but excluding 1.
  fileprivate mutating func nextUnit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
